"""A connected cluster: its client, its watches, its cache, and whether it can be reached.

Every cluster is probed with one cheap request in 15 s, and at once when a watch breaks or a write gets no answer. The
probe asks for what tells clusters apart, so that it is noticed when another one answers under the address (I14). An
open connection alone proves nothing: a frozen server keeps its connections. Two probes in a row have to fail before
the cluster is Offline, so one slow answer changes nothing (I3, I8).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import structlog

from uniteddeployment.fleet.cache import AppKey, MemberCache
from uniteddeployment.fleet.identity import MissingRightError, UnidentifiedError, cluster_uid
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.errors import ApiError, Forbidden, KubeError, NotFound, Unreachable
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import NODES, PODS
from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import MemberView, Pod, Reach, Workload
from uniteddeployment.text import shortened
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

PROBE_INTERVAL = 15.0
"""Seconds between two probes of a cluster that is well."""
PROBE_SECONDS = 5.0
"""How long a probe waits for its answer."""
FAILED_PROBES = 2
"""How many probes in a row have to fail before a cluster counts as Offline."""
SECOND_PROBE_PAUSE = 1.0
"""Seconds until the second probe, after one that failed. With the above, a frozen cluster is Offline within 26 s."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds between two probes of a cluster that is not well: the pause doubles from the first to the longest."""
UNDECIDED_SECONDS = 15.0
"""How long a cluster may take to show everything before that counts as trouble, and is told."""
WATCH_GRACE_SECONDS = 10.0
"""How long watches may fail, in a cluster that answers otherwise, before what it shows counts as out of date."""
LONGEST_VERSION = 64
"""Characters of the version of an API server."""
MOST_NODES = 1_000_000
CONNECTING, READING = "connecting", "reading what runs there"
REOPENING = "it answers again, and its watches are being opened"


_VERSION = Request("GET", "/version", verb="probe", resource="version")
_COUNT = Request("GET", NODES.path(), (("limit", "1"),), verb="probe", resource=NODES.plural)


class _Version(msgspec.Struct, rename="camel", frozen=True):
    git_version: str = ""


class _Count(msgspec.Struct, rename="camel", frozen=True):
    remaining_item_count: Annotated[int, msgspec.Meta(ge=0, le=MOST_NODES)] = 0


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
        last_contact: str | None = None,
        uid: str = "",
    ) -> None:
        self.name = name
        self.uid = uid
        """By which the cluster is known; empty for the host, which cannot be replaced."""
        self.client = client
        self.cache = MemberCache(changed, touched=self._heard)
        self.reach = Reach.PENDING
        self.detail = CONNECTING
        self.facts = Facts()
        self.undecided = True
        """Whether it is too early to say how it stands: it has not shown everything yet, and nothing has failed."""
        self._begun = asyncio.get_running_loop().time()
        self._turned = turned
        self._now = now
        self._last_contact = last_contact
        self._seen: datetime | None = None
        self.unserved: Mapping[str, str] = {}
        """Kinds of workloads that cannot be had there -> why."""
        self.unread: Mapping[str, str] = {}
        """Kinds of workloads of which nothing could be read yet -> why."""
        self.failing = asyncio.Event()
        """Whether the last probe failed."""
        self.replaced = asyncio.Event()
        """Whether another cluster answers: what it shows says nothing about this one."""
        self._failures = 0
        """Probes that failed in a row."""
        self._suspect = asyncio.Event()
        self._kinds = {kind: self._workloads(kind, namespace) for kind in KINDS}
        pods = Reflector(
            client,
            PODS,
            Pod,
            self.cache.pod_cache,
            namespace=namespace,
            label_selector=names.LABEL_NAME,
            on_synced=self.suspect,
            on_state=self._connection_changed,
            before_list=self._identify,
        )
        self._reflectors: list[Reflector[Workload] | Reflector[Pod]] = [*self._kinds.values(), pods]
        self._required: list[Reflector[Workload] | Reflector[Pod]] = [
            *(found for kind, found in self._kinds.items() if not kind.provider),
            pods,
        ]
        """Those without which what the cluster shows is not known; kinds of a provider stand for themselves."""

    def _workloads(self, kind: Kind, namespace: str | None) -> Reflector[Workload]:
        return Reflector(
            self.client,
            RESOURCES[kind.name],
            Workload,
            self.cache.workload_caches[kind.name],
            namespace=namespace,
            label_selector=names.LABEL_NAME,
            on_synced=self.suspect,
            on_state=self._connection_changed,
            before_list=self._identify,
            optional=bool(kind.provider),
        )

    @property
    def last_contact(self) -> str | None:
        """The time (RFC 3339) that what the cache holds is from; None if nothing was ever seen in full.

        The last probe that was answered while every watch was open, or the last change that came in after it.
        """
        return self._seen.strftime("%Y-%m-%dT%H:%M:%SZ") if self._seen is not None else self._last_contact

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

    def lost(self, reason: str) -> bool:
        """Notes that nothing follows the cluster any more; says whether its caches were complete before that."""
        known = self.reach in (Reach.READY, Reach.OFFLINE)
        self.reach, self.detail = Reach.OFFLINE if known else Reach.PENDING, reason
        self.undecided = False
        return known

    async def run(self) -> None:
        """Watch and probe until cancelled. The client stays open: the host's has other users."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            tasks.create_task(self._probe_forever())

    def _heard(self) -> None:
        self._seen = self._now()

    def _connection_changed(self, connected: bool) -> None:
        if connected != (self.reach is Reach.READY) or self._closed() != (self.unserved, self.unread):
            self.suspect()

    def _closed(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The kinds that cannot be had, and those that could not be read: applications of other kinds go on (I10)."""
        unserved, unread = {}, {}
        for kind, reflector in self._kinds.items():
            if isinstance(reflector.refusal, NotFound):
                unserved[kind.name] = f"does not serve {kind.kind} {kind.api_version}: install {kind.provider} there"
            elif not reflector.synced.is_set() or (kind.provider and reflector.failing_for > WATCH_GRACE_SECONDS):
                unread[kind.name] = f"its {kind.plural}.{kind.group} cannot be read: {reflector.trouble or READING}"
        return unserved, unread

    async def _probe_forever(self) -> None:
        """Probe at fixed intervals while the cluster is well, and with growing pauses while it is not."""
        clock = asyncio.get_running_loop().time
        pause, state, since = FIRST_PAUSE, (False, False), clock()
        while True:
            due = await self._wait(pause)
            reach, failing = self.reach, self.failing.is_set()
            await self._look()
            if due or (failing and not self.failing.is_set()):
                # Not after each doubt: a watch that fails at once would be opened again at once, for ever.
                self._retry_watches()
            if state != (state := (self.reach is Reach.READY, self.failing.is_set())):
                since = clock()
            if state == (True, True):
                # The next probe decides. It is not to come sooner because writes fail meanwhile.
                await asyncio.sleep(SECOND_PROBE_PAUSE)
                pause = 0.0
            elif self.reach is Reach.READY and not self._recovering:
                pause = PROBE_INTERVAL
            else:
                pause = min(max(FIRST_PAUSE, clock() - since), LONGEST_PAUSE)
            if reach is not self.reach:
                _log.info("cluster", cluster=self.name or "host", state=str(self.reach), detail=self.detail)

    async def _wait(self, seconds: float) -> bool:
        """Waits for a doubt, for so many seconds at most; says whether there was none."""
        due = False
        try:
            async with asyncio.timeout(seconds):
                await self._suspect.wait()
        except TimeoutError:
            due = True
        self._suspect.clear()
        return due

    def _retry_watches(self) -> None:
        for reflector in self._required:
            if not reflector.connected:
                reflector.retry_now()

    async def _look(self) -> None:
        """Probe once, and draw the conclusions."""
        problem = await self._probe()
        synced = all(reflector.settled for reflector in self._reflectors)
        decided = problem is not None or synced or self._in_trouble()
        if problem is not None:
            self._failures += 1
            self.failing.set()
            if self.reach is not Reach.READY or self._failures >= FAILED_PROBES:
                self._turn(Reach.OFFLINE if synced else Reach.PENDING, problem, decided)
            return
        self._failures = 0
        self.failing.clear()
        if not synced:
            self._turn(Reach.PENDING, self._trouble(self._reflectors) or READING, decided)
        elif not self._recovering:
            self._heard()
            self._turn(Reach.READY, "", decided)
        elif self.reach is Reach.READY and not self._watches_lost:
            self._turn(Reach.READY, "", decided)
        else:
            known = self.reach is not Reach.PENDING
            trouble = self._trouble(self._required)
            why = f"it answers, but its objects cannot be watched: {trouble}" if trouble else REOPENING
            self._turn(Reach.OFFLINE if known else Reach.PENDING, why, decided)

    def _in_trouble(self) -> bool:
        """Whether a watch without which nothing is known has failed, or has taken too long to show everything."""
        if any(reflector.last_error and not reflector.settled for reflector in self._reflectors):
            return True
        return asyncio.get_running_loop().time() - self._begun >= UNDECIDED_SECONDS

    @property
    def _recovering(self) -> bool:
        """Whether a watch that has to be there is failing, or was until a moment ago."""
        return not all(reflector.steady for reflector in self._required)

    @property
    def _watches_lost(self) -> bool:
        return any(reflector.failing_for > WATCH_GRACE_SECONDS for reflector in self._required)

    @staticmethod
    def _trouble(reflectors: Iterable[Reflector[Workload] | Reflector[Pod]]) -> str:
        return next((reflector.trouble for reflector in reflectors if reflector.trouble), "")

    async def _probe(self) -> str | None:
        """None if it answers and knows us, else what is wrong. Of a cluster that is not well more is asked."""
        try:
            await self._identify()
            if self.reach is not Reach.READY:
                await self._ask_for_facts()
        except Unreachable as error:
            return error.why
        except UnidentifiedError as error:
            return str(error)
        except ApiError as error:
            return f"it answers {error.status} {error.reason}"
        except (KubeError, DecodingError) as error:
            return f"it does not answer like a Kubernetes API server: {error}"
        return None

    async def _identify(self) -> None:
        """Raises UnidentifiedError if another cluster answers, and KubeError if none does."""
        try:
            found = await cluster_uid(self.client, timeout=PROBE_SECONDS)
        except MissingRightError:
            return  # it knows us; that it is the right one was found out when it was connected
        if self.uid and found != self.uid:
            self.replaced.set()
            raise UnidentifiedError("another cluster answers under its address")

    async def _ask_for_facts(self) -> None:
        """The number of nodes is a courtesy: a credential may well not have the right to count them."""
        answer = await self.client.probe(_VERSION, timeout=PROBE_SECONDS)
        self.facts.version = shortened(decode(answer.body, _Version).git_version, LONGEST_VERSION)
        try:
            listed = await self.client.probe(_COUNT, timeout=PROBE_SECONDS)
        except Forbidden:
            self.facts.nodes = None
        else:
            nodes = decode(listed.body, _NodeList)
            self.facts.nodes = len(nodes.items) + nodes.metadata.remaining_item_count

    def _turn(self, reach: Reach, detail: str, decided: bool) -> None:
        """Notes how it stands. What is decided once stays so, whatever it then is."""
        unserved, unread = self._closed() if reach is Reach.READY else (self.unserved, self.unread)
        undecided = self.undecided and not decided
        state = (reach, detail, unserved, unread, undecided)
        if state != (self.reach, self.detail, self.unserved, self.unread, self.undecided):
            self.reach, self.detail, self.unserved, self.unread, self.undecided = state
            self._turned(self)
