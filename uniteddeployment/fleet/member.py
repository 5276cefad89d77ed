"""A connected cluster: its client, its watches, its cache, and whether it can be reached.

Nothing is asked of a cluster that is well: open watches with their bookmarks are the sign of life. Only when a watch
breaks or a write gets no answer is the cluster probed, and until it answers it is Offline (I3, I8).
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import structlog

from uniteddeployment.fleet.cache import AppKey, MemberCache
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import ApiError, KubeError, NotFound, Unreachable
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import NODES, PODS
from uniteddeployment.planning.kind import Kind
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import MemberView, Pod, Reach, Workload
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

PROBE_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
UNDECIDED_SECONDS = 15.0
"""How long a cluster may take to show everything before that counts as trouble, and is told."""
CONNECTING, READING = "connecting", "reading what runs there"


class _Version(msgspec.Struct, rename="camel", frozen=True):
    git_version: str = ""


class _Count(msgspec.Struct, rename="camel", frozen=True):
    remaining_item_count: int = 0


class _NodeList(msgspec.Struct, frozen=True):
    metadata: _Count = _Count()
    items: list[msgspec.Raw] = []


@dataclass(slots=True)
class Facts:
    """What a cluster tells about itself when it is asked."""

    version: str = ""
    nodes: int | None = None


class Member:
    """One cluster and what we know of it. ``run`` keeps it up to date until cancelled."""

    def __init__(
        self,
        name: str,
        client: Client,
        *,
        changed: Callable[[AppKey], None],
        turned: Callable[["Member"], None],
        namespace: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self.client = client
        self.cache = MemberCache(changed)
        self.reach = Reach.PENDING
        self.detail = CONNECTING
        self.last_contact: str | None = None
        self.facts = Facts()
        self.undecided = True
        """Whether it is too early to say how it stands: it has not shown everything yet, and nothing has failed."""
        self._begun = asyncio.get_running_loop().time()
        self._turned = turned
        self._now = now
        self.unserved: Mapping[str, str] = {}
        """Kinds of workloads that cannot be had there -> why."""
        self.unread: Mapping[str, str] = {}
        """Kinds of workloads of which nothing could be read yet -> why."""
        self.refused = asyncio.Event()
        """Whether it does not know us any more."""
        self._suspect = asyncio.Event()
        self._kinds = {kind: self._workloads(kind, namespace) for kind in KINDS}
        self._reflectors: list[Reflector[Workload] | Reflector[Pod]] = [
            *self._kinds.values(),
            Reflector(
                client,
                PODS,
                Pod,
                on_change=self.cache.pod_changed,
                namespace=namespace,
                label_selector=names.LABEL_NAME,
                on_synced=self.suspect,
                on_state=self._connection_changed,
            ),
        ]

    def _workloads(self, kind: Kind, namespace: str | None) -> Reflector[Workload]:
        def changed(old: Workload | None, new: Workload | None) -> None:
            self.cache.workload_changed(kind.name, old, new)

        return Reflector(
            self.client,
            RESOURCES[kind.name],
            Workload,
            on_change=changed,
            namespace=namespace,
            label_selector=names.LABEL_NAME,
            on_synced=self.suspect,
            on_state=self._connection_changed,
            optional=bool(kind.provider),
        )

    def view(self, key: AppKey) -> MemberView:
        """What it shows of one application."""
        return MemberView(
            name=self.name,
            reach=self.reach,
            detail=self.detail,
            last_contact=None if self.reach is Reach.READY else self.last_contact,
            workloads=tuple(one for one in self.cache.workloads(key) if one.kind not in self.unserved),
            pods=self.cache.pods(key),
            unserved=self.unserved,
            unread=self.unread,
            undecided=self.undecided,
        )

    def suspect(self) -> None:
        """Something went wrong with it, or changed for the better: look again."""
        self._suspect.set()

    async def run(self) -> None:
        """Watch and probe until cancelled. The client stays open: the host's has other users."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            tasks.create_task(self._judge())

    def _connection_changed(self, connected: bool) -> None:
        if connected != (self.reach is Reach.READY) or self._closed() != (self.unserved, self.unread):
            self.suspect()

    def _closed(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The kinds that cannot be had, and those that could not be read: applications of other kinds go on (I10)."""
        unserved, unread = {}, {}
        for kind, reflector in self._kinds.items():
            if isinstance(reflector.refusal, NotFound):
                unserved[kind.name] = f"does not serve {kind.kind} {kind.api_version}: install {kind.provider} there"
            elif not reflector.synced.is_set():
                unread[kind.name] = f"its {kind.plural}.{kind.group} cannot be read: {reflector.last_error or READING}"
        return unserved, unread

    async def _judge(self) -> None:
        """Probe whenever there is doubt; go on probing as long as the cluster is not well."""
        pause = FIRST_PAUSE
        while True:
            await self._wait(None if self.reach is Reach.READY else pause)
            was = self.reach
            await self._look()
            if self.reach is Reach.READY:
                pause = FIRST_PAUSE
                if not all(reflector.connected for reflector in self._reflectors):
                    self._retry_soon()
            else:
                pause = min(pause * 2, LONGEST_PAUSE)
            if was is not self.reach:
                _log.info("cluster", cluster=self.name or "host", state=str(self.reach), detail=self.detail)

    async def _wait(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._suspect.wait()
        self._suspect.clear()

    def _retry_soon(self) -> None:
        for reflector in self._reflectors:
            if not reflector.connected:
                reflector.retry_now()

    async def _look(self) -> None:
        problem = await self._probe()
        synced = all(reflector.settled for reflector in self._reflectors)
        decided = problem is not None or synced or self._in_trouble()
        if problem is None:
            self.refused.clear()
            self.last_contact = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
            if synced:
                self._turn(Reach.READY, "", decided)
            else:
                errors = [reflector.last_error for reflector in self._reflectors if reflector.last_error]
                self._turn(Reach.PENDING, errors[0] if errors else READING, decided)
        else:
            self._turn(Reach.OFFLINE if synced else Reach.PENDING, problem, decided)

    def _in_trouble(self) -> bool:
        """Whether a watch without which nothing is known has failed, or has taken too long to show everything."""
        if any(reflector.last_error and not reflector.settled for reflector in self._reflectors):
            return True
        return asyncio.get_running_loop().time() - self._begun >= UNDECIDED_SECONDS

    async def _probe(self) -> str | None:
        """None if it answers and knows us, else what is wrong."""
        try:
            answer = await self.client.send(Request("GET", "/version", verb="probe"), timeout=PROBE_SECONDS)
            self.facts.version = msgspec.json.decode(answer.body, type=_Version).git_version
            listed = await self.client.send(
                Request("GET", NODES.path(), (("limit", "1"),), verb="probe"), timeout=PROBE_SECONDS
            )
            nodes = msgspec.json.decode(listed.body, type=_NodeList)
            self.facts.nodes = len(nodes.items) + nodes.metadata.remaining_item_count
        except Unreachable as error:
            return error.why
        except ApiError as error:
            return self._refusal(error)
        except (KubeError, msgspec.MsgspecError) as error:
            return f"it does not answer like a Kubernetes API server: {error}"
        return None

    def _refusal(self, error: ApiError) -> str | None:
        if error.status == 401:
            self.refused.set()
            return "it refuses our credentials (401 Unauthorized)"
        if error.status == 403:
            self.facts.nodes = None  # counting nodes is a courtesy; a credential may well not have the right
            return None
        return f"it answers {error.status} {error.reason}"

    def _turn(self, reach: Reach, detail: str, decided: bool) -> None:
        """Notes how it stands. What is decided once stays so, whatever it then is."""
        unserved, unread = self._closed() if reach is Reach.READY else (self.unserved, self.unread)
        undecided = self.undecided and not decided
        state = (reach, detail, unserved, unread, undecided)
        if state != (self.reach, self.detail, self.unserved, self.unread, self.undecided):
            self.reach, self.detail, self.unserved, self.unread, self.undecided = state
            self._turned(self)
