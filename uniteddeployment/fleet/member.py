"""A connected cluster: its client, its watches, its cache, and whether it can be reached.

Every cluster is probed with one cheap request every 15 s, and at once when a watch breaks or a write gets no answer.
The probe asks for the identity of the cluster, so it detects another cluster at the same address (I14). An open
connection alone proves nothing, since a frozen server keeps its connections. Two probes in a row have to fail before
the cluster is Offline, so one slow answer changes nothing (I3, I8).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

import structlog

from uniteddeployment.fleet.cache import AppKey, MemberCache
from uniteddeployment.fleet.capacity.reader import CapacityReader
from uniteddeployment.fleet.capacity.sums import SubsetKey
from uniteddeployment.fleet.health import FAILED_PROBES, NO_READY_NODES, NOT_HEALTHY, Trouble
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.fleet.member_namespaces import MemberNamespaces
from uniteddeployment.fleet.probe import ReplacedError, facts, failing_checks, identify, trouble_of
from uniteddeployment.fleet.status import Facts
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError
from uniteddeployment.kube.errors import KubeError, NotFound
from uniteddeployment.kube.identified import IdentifiedTransport
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.server_clock import ServerClock
from uniteddeployment.kube.transport import Answer
from uniteddeployment.planning.application import Kind
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import MemberView, Pod, Reach, Workload
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

PROBE_INTERVAL = 15.0
"""Seconds between two probes of a cluster that is Ready."""
SECOND_PROBE_PAUSE = 1.0
"""Seconds from a failed probe to the second one. With time-outs of 5 s, a frozen cluster is Offline within 26 s."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""The shortest and the longest pause, in seconds, between two probes of a cluster that is not Ready."""
UNDECIDED_SECONDS = 15.0
"""How long the first lists of a cluster may take before that counts as a failure and is reported."""
WATCH_GRACE_SECONDS = 10.0
"""How long watches of a cluster that answers may fail before its cache counts as outdated."""
CONNECTING, READING = "connecting", "reading its workloads and pods"
REOPENING = "it answers again, and its watches are being reopened"


class Member:
    """One connected cluster. ``run`` keeps its state up to date until cancelled.

    ``on_change`` is called with the application of each change, and ``on_reach_changed`` with the member whenever its
    reach, its detail or its kinds change. ``on_probed`` is called after each probe whose outcome is known, with the
    trouble (None if it was answered well) and the time when the probe was sent. ``on_capacity_changed`` is called when
    the figures of its capacity have changed, and ``on_shown`` when its number of pods of a subset has.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        *,
        on_change: Callable[[AppKey], None],
        on_reach_changed: Callable[["Member"], None],
        on_probed: Callable[["Member", Trouble | None, datetime], None] = lambda _member, _trouble, _began: None,
        namespace: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        last_contact: str | None = None,
        uid: str = "",
        on_namespace_changed: Callable[[str], None] | None = None,
        counts_capacity: bool = False,
        on_capacity_changed: Callable[["Member"], None] = lambda _member: None,
        on_shown: Callable[[SubsetKey, int], None] = lambda _subset, _pods: None,
    ) -> None:
        self.name = name
        self.uid = uid
        """Identifies the cluster; empty for the host, which cannot be replaced."""
        self.client = client
        if uid:
            client.transport = IdentifiedTransport(client.transport, name, self._identify)
        self.cache = MemberCache(on_change, on_contact=self._note_contact)
        self.reach = Reach.PENDING
        self.detail = CONNECTING
        self.facts = Facts()
        self.undecided = True
        """Whether its reach is not known yet: its first lists are not complete, and nothing has failed."""
        self._begun = asyncio.get_running_loop().time()
        self._on_reach_changed = on_reach_changed
        self._on_probed = on_probed
        self._now = now
        self._last_contact = last_contact
        self._seen: datetime | None = None
        self._clock = ServerClock()
        self.unserved: Mapping[str, str] = {}
        """Kinds of workloads that the cluster does not serve -> why."""
        self.unread: Mapping[str, str] = {}
        """Kinds of workloads that could not be read yet -> why."""
        self.failing = asyncio.Event()
        """Set while the last probe failed."""
        self.replaced = asyncio.Event()
        """Set when another cluster answers at the address; its objects are not those of this cluster."""
        self._failures = 0
        """The number of failed probes in a row."""
        self._checks = ""
        """The failing checks that the server named when these probes began to fail."""
        self._probe_now = asyncio.Event()
        self.namespaces = MemberNamespaces(client, on_namespace_changed) if on_namespace_changed is not None else None
        """The namespaces that the controller created; None if nobody asks for them."""
        self.capacity = self._capacity(counts_capacity, lambda: on_capacity_changed(self), on_shown)
        """The sums over its nodes and pods, if they are counted."""
        self._kinds = {kind: self._workloads(kind, namespace) for kind in KINDS}
        pods = self._pods(namespace)
        required = [found for kind, found in self._kinds.items() if not kind.provider]
        self._reflectors: list[Reflector[Workload] | Reflector[Pod]] = [*self._kinds.values(), pods]
        self._required: list[Reflector[Workload] | Reflector[Pod]] = [*required, pods]
        """The reflectors that a cluster needs to be Ready. A failure of a provider's kind concerns that kind only."""

    def _capacity(
        self, enabled: bool, on_change: Callable[[], None], on_shown: Callable[[SubsetKey, int], None]
    ) -> CapacityReader:
        return CapacityReader(
            self.name,
            self.client,
            enabled=enabled,
            on_change=on_change,
            on_shown=on_shown,
            before_list=self._identify,
        )

    def _pods(self, namespace: str | None) -> Reflector[Pod]:
        return Reflector(
            self.client,
            PODS,
            Pod,
            self.cache.pod_cache,
            namespace=namespace,
            label_selector=names.LABEL_NAME,
            on_synced=self.probe_soon,
            on_state=self._connection_changed,
            before_list=self._identify,
        )

    def _workloads(self, kind: Kind, namespace: str | None) -> Reflector[Workload]:
        return Reflector(
            self.client,
            RESOURCES[kind.name],
            Workload,
            self.cache.workload_caches[kind.name],
            namespace=namespace,
            label_selector=names.LABEL_NAME,
            on_synced=self.probe_soon,
            on_state=self._connection_changed,
            before_list=self._identify,
            optional=bool(kind.provider),
        )

    @property
    def last_contact(self) -> str | None:
        """The time (RFC 3339) up to which the cache is known to be current; None if it was never complete.

        It is the last answered probe while every watch was open, or the last change after that.
        """
        return rfc3339(self._seen) if self._seen is not None else self._last_contact

    def view(self, application: AppKey) -> MemberView:
        """The state of an application in this cluster."""
        return MemberView(
            name=self.name,
            reach=self.reach,
            detail=self.detail,
            last_contact=None if self.reach is Reach.READY else self.last_contact,
            workloads=tuple(
                workload for workload in self.cache.workloads(application) if workload.kind not in self.unserved
            ),
            pods=self.cache.pods(application),
            unserved=self.unserved,
            unread=self.unread,
            undecided=self.undecided,
            clock_ahead=self._clock.ahead,
        )

    def probe_soon(self) -> None:
        """Probe now instead of at the next interval, since the state may have changed."""
        self._probe_now.set()

    def disconnect(self, reason: str) -> bool:
        """Note that the cluster is no longer followed. Return whether its caches were complete before."""
        known = self.reach in (Reach.READY, Reach.OFFLINE)
        self.reach, self.detail = Reach.OFFLINE if known else Reach.PENDING, reason
        self.undecided = False
        return known

    async def run(self) -> None:
        """Watch and probe until cancelled. The client stays open, since that of the host has other users."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            if self.namespaces is not None:
                tasks.create_task(self.namespaces.reflector.run())
            tasks.create_task(self.capacity.run())
            tasks.create_task(self._probe_forever())

    def _note_contact(self) -> None:
        self._seen = self._now()

    def _connection_changed(self, connected: bool) -> None:
        if connected != (self.reach is Reach.READY) or self._unavailable_kinds() != (self.unserved, self.unread):
            self.probe_soon()

    def _unavailable_kinds(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The kinds that are not served, and those that could not be read; other kinds are not affected (I10)."""
        unserved, unread = {}, {}
        for kind, reflector in self._kinds.items():
            if isinstance(reflector.refusal, NotFound):
                unserved[kind.name] = f"does not serve {kind.kind} {kind.api_version}: install {kind.provider} there"
            elif not reflector.synced.is_set() or (kind.provider and reflector.failing_for > WATCH_GRACE_SECONDS):
                unread[kind.name] = f"its {kind.plural}.{kind.group} cannot be read: {reflector.trouble or READING}"
        return unserved, unread

    async def _probe_forever(self) -> None:
        """Probe at fixed intervals while the cluster is Ready, and with growing pauses while it is not."""
        clock = asyncio.get_running_loop().time
        pause, state, since = FIRST_PAUSE, (False, False), clock()
        while True:
            due = await self._wait(pause)
            reach, failing = self.reach, self.failing.is_set()
            await self._probe_once()
            if due or (failing and not self.failing.is_set()):
                # Not after each requested probe: a watch that fails immediately would be restarted in an endless loop.
                self._retry_watches()
            if state != (state := (self.reach is Reach.READY, self.failing.is_set())):
                since = clock()
            if state == (True, True):
                # The next probe decides. Writes that fail meanwhile must not bring it forward.
                await asyncio.sleep(SECOND_PROBE_PAUSE)
                pause = 0.0
            elif self.reach is Reach.READY and not self._recovering:
                pause = PROBE_INTERVAL
            else:
                pause = min(max(FIRST_PAUSE, clock() - since), LONGEST_PAUSE)
            if reach is not self.reach:
                _log.info("cluster", cluster=self.name or "host", state=str(self.reach), detail=self.detail)

    async def _wait(self, seconds: float) -> bool:
        """Wait for some seconds, or until a probe is requested; return whether the time is over."""
        due = False
        try:
            async with asyncio.timeout(seconds):
                await self._probe_now.wait()
        except TimeoutError:
            due = True
        self._probe_now.clear()
        return due

    def _retry_watches(self) -> None:
        for reflector in self._required:
            if not reflector.connected:
                reflector.retry_now()
        self.capacity.retry_now()

    async def _probe_once(self) -> None:
        """Probe once, set the reach, and report the outcome."""
        began = self._now()
        trouble = await self._trouble_of_probe()
        synced = all(reflector.settled for reflector in self._reflectors)
        decided = trouble is not None or synced or self._first_lists_failed()
        if trouble is not None:
            self._failures += 1
            self.failing.set()
            if self.reach is not Reach.READY or self._failures >= FAILED_PROBES:
                self._set_state(Reach.OFFLINE if synced else Reach.PENDING, trouble.detail, decided)
            self._on_probed(self, trouble, began)
            return
        self._failures = 0
        self.failing.clear()
        trouble = self._answered(synced, decided)
        # A cluster that is being read, or whose watches are being reopened, is neither well nor in trouble.
        if trouble is not None or self.reach is Reach.READY:
            self._on_probed(self, trouble, began)

    def _answered(self, synced: bool, decided: bool) -> Trouble | None:
        """Set the reach of a cluster that answers the probe; return the trouble of its watches."""
        if not synced:
            trouble = self._trouble(reflector for reflector in self._reflectors if not reflector.settled)
            self._set_state(Reach.PENDING, trouble.detail if trouble else READING, decided)
            return trouble
        if not self._recovering:
            self._note_contact()
            self._set_state(Reach.READY, "", decided)
            return self._emptiness()
        if self.reach is Reach.READY and not self._watches_lost:
            self._set_state(Reach.READY, "", decided)
            return self._emptiness()
        known = self.reach is not Reach.PENDING
        trouble = self._trouble(self._required)
        if trouble is not None:
            trouble = Trouble(trouble.reason, f"it answers, but its objects cannot be watched: {trouble.detail}")
        self._set_state(Reach.OFFLINE if known else Reach.PENDING, trouble.detail if trouble else REOPENING, decided)
        return trouble

    def _emptiness(self) -> Trouble | None:
        """The trouble of a cluster that answers, and has no node that can take pods, as far as its capacity is known.

        A cluster without any node is not in trouble: an autoscaler may add nodes as soon as pods wait.
        """
        nodes = self.capacity.nodes
        if nodes is None or not nodes.total or nodes.usable:
            return None
        return Trouble(NO_READY_NODES, f"it answers, but none of its {nodes.total} nodes is ready and schedulable")

    def _first_lists_failed(self) -> bool:
        """Whether a first list has failed, or has taken too long."""
        if any(reflector.last_error and not reflector.settled for reflector in self._reflectors):
            return True
        return asyncio.get_running_loop().time() - self._begun >= UNDECIDED_SECONDS

    @property
    def _recovering(self) -> bool:
        """Whether a required watch is failing, or was until a moment ago."""
        return not all(reflector.steady for reflector in self._required)

    @property
    def _watches_lost(self) -> bool:
        return any(reflector.failing_for > WATCH_GRACE_SECONDS for reflector in self._required)

    @staticmethod
    def _trouble(reflectors: Iterable[Reflector[Workload] | Reflector[Pod]]) -> Trouble | None:
        error = next((reflector.trouble for reflector in reflectors if reflector.trouble is not None), None)
        return Trouble(trouble_of(error).reason, str(error)) if error is not None else None

    async def _trouble_of_probe(self) -> Trouble | None:
        """Send the requests of a probe; return the trouble. A cluster that is not Ready gets more requests."""
        try:
            await self._identified()
            if self.reach is not Reach.READY:
                self.facts = await facts(self.client)
        except ReplacedError as error:
            self.replaced.set()
            return trouble_of(error)
        except (KubeError, DecodingError) as error:
            trouble = trouble_of(error)
            return await self._with_checks(trouble) if trouble.reason == NOT_HEALTHY else trouble
        return None

    async def _with_checks(self, trouble: Trouble) -> Trouble:
        """Add the failing checks of the server, which are asked for once in a row of failed probes."""
        if not self._failures:
            self._checks = await failing_checks(self.client)
        return Trouble(
            trouble.reason, f"{trouble.detail}; failing checks: {self._checks}" if self._checks else trouble.detail
        )

    async def _identify(self) -> None:
        """Raises UnidentifiedError if another cluster answers, and KubeError if none answers."""
        try:
            await self._identified()
        except ReplacedError:
            self.replaced.set()
            raise

    async def _identified(self) -> None:
        """Find out whether it is the same cluster, and what its clock shows. Raises KubeError."""
        sent = self._now()

        def answered(answer: Answer) -> None:
            if answer.status < 300:
                self._clock.note(answer.headers.get("date"), sent, self._now())

        await identify(self.client, self.uid, answered)

    def _set_state(self, reach: Reach, detail: str, decided: bool) -> None:
        """Set the state, and report it if it has changed. Once decided, a member stays decided."""
        unserved, unread = self._unavailable_kinds() if reach is Reach.READY else (self.unserved, self.unread)
        undecided = self.undecided and not decided
        state = (reach, detail, unserved, unread, undecided)
        if state != (self.reach, self.detail, self.unserved, self.unread, self.undecided):
            self.reach, self.detail, self.unserved, self.unread, self.undecided = state
            self._on_reach_changed(self)
