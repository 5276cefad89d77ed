"""The fleet: every Cluster object is a member that is being connected, is connected, or says why not.

A Cluster appears: its Secret is read, it is found out which cluster answers, and its watches start. It changes: it is
connected again. It is suspended or deleted: its watches stop, and what runs there is left alone.
"""

import asyncio
import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog
from cachetools import LRUCache

from uniteddeployment.fleet import cluster_status, clusters
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.entry import Entry, Problem
from uniteddeployment.fleet.member import FIRST_PAUSE, LONGEST_PAUSE, Member
from uniteddeployment.fleet.registrar import Registrar
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import KubeError
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.planning.observed import HOST, MemberView, Reach

_log = structlog.get_logger(__name__)

Connect = Callable[[Connection], Client]
"""Makes the client of a member; simulations give one that stays in the process."""

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 15.0, 60.0
"""How often the Secret of a cluster that cannot be reached is read again."""
CHECKING = "it is being found out which cluster answers"
_REMEMBERED = 1024


class Fleet:
    """All clusters that an application can target, the host among them under the name ``""``.

    ``changed(cluster, application)`` is called when something of an application changed in a cluster;
    ``turned(cluster)`` when a cluster came, went, or can or cannot be reached. ``read_only`` is for those who only
    look: nothing is written, not even the status of Clusters.
    """

    def __init__(
        self,
        host: Client,
        connect: Connect,
        *,
        changed: Callable[[str, AppKey], None],
        turned: Callable[[str], None],
        namespace: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        read_only: bool = False,
    ) -> None:
        self._host = host
        self._read_only = read_only
        self._connect = connect
        self._changed = changed
        self._turned = turned
        self._namespace = namespace
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._registrar = Registrar(host, self._entries, self._leave)
        self._left: set[str] = set()
        """The uids of Clusters that gave up their place because their namespace is being deleted."""
        self._last_contacts: LRUCache[str, str | None] = LRUCache(_REMEMBERED)
        """When clusters that are not connected any more were last heard of."""
        self._tasks: asyncio.TaskGroup | None = None
        self._stirred = asyncio.Event()
        self._local = self._member(HOST, host)
        self._cluster_cache: Cache[ClusterObject] = Cache(self._cluster_changed)
        self._clusters = Reflector(host, CLUSTERS, ClusterObject, self._cluster_cache, on_synced=self._stirred.set)

    @property
    def synced(self) -> bool:
        """Whether the Cluster objects and the host's own workloads have been read."""
        return self._clusters.synced.is_set() and self._local.reach is Reach.READY

    @property
    def settled(self) -> bool:
        """Whether each member has been reached or found out of reach."""
        return self.synced and not any(entry.undecided for entry in self._entries.values())

    async def wait_synced(self) -> None:
        while not self.synced:
            self._stirred.clear()
            await self._stirred.wait()

    async def wait_settled(self, seconds: float) -> None:
        """Give members the time to be reached; a start does not wait for the dead any longer than that (I10)."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.settled:
                    self._stirred.clear()
                    await self._stirred.wait()

    def clusters(self) -> tuple[str, ...]:
        """The names of all clusters, including those that cannot be reached."""
        return HOST, *self._entries

    def members(self) -> Iterable[Member]:
        """Every cluster that there is a client for."""
        yield self._local
        for entry in self._entries.values():
            if entry.member is not None:
                yield entry.member

    def member(self, cluster: str) -> Member | None:
        if cluster == HOST:
            return self._local
        entry = self._entries.get(cluster)
        return entry.member if entry else None

    def cluster(self, cluster: str) -> ClusterObject | None:
        entry = self._entries.get(cluster)
        return entry.cluster if entry else None

    def view(self, cluster: str, key: AppKey) -> MemberView:
        """What a cluster shows of an application, whether or not there is such a cluster."""
        member = self.member(cluster)
        if member is not None:
            return member.view(key)
        entry = self._entries.get(cluster)
        last_contact = self._last_contacts.get(cluster)
        if entry is None:
            return MemberView(cluster, Reach.UNKNOWN, "there is no Cluster object of this name", last_contact)
        same_as = entry.problem.same_as if entry.problem is not None else None
        return MemberView(cluster, entry.reach, entry.detail, last_contact, same_as=same_as, undecided=entry.undecided)

    async def run(self) -> None:
        """Keep all members connected until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._registrar.identify_host())
            tasks.create_task(self._keep_local())
            try:
                await self._clusters.run()
            finally:
                self._tasks = None  # members that are still ending must not start anything in a group that is ending

    def _member(self, name: str, client: Client, uid: str = "") -> Member:
        return Member(
            name,
            client,
            changed=lambda key: self._changed(name, key),
            turned=self._member_turned,
            namespace=self._namespace,
            now=self._now,
            last_contact=self._last_contacts.get(name),
            uid=uid,
        )

    def _cluster_changed(self, old: ClusterObject | None, new: ClusterObject | None) -> None:
        cluster = new or old
        if cluster is None or self._tasks is None:
            return
        known = self._entries.get(cluster.key)
        if known is not None and known.member is not None:
            self._last_contacts[cluster.key] = known.member.last_contact
        if new is None or new.metadata.deletion_timestamp is not None:
            self._left.discard(cluster.metadata.uid)
            self._drop(cluster.key)
            return
        if new.metadata.uid in self._left:
            return
        same = known is not None and known.cluster.metadata.uid == new.metadata.uid
        if known is not None and same and known.cluster.spec == new.spec:
            self._status_changed(known, new)
            if old is None or old.metadata.labels != new.metadata.labels:
                self._turned(new.key)
            return
        entry = Entry(new, self._tasks.create_task(self._supervise(new.key)), new.uid)
        if known is not None:
            known.task.cancel()
        if known is not None and same:
            entry.held, entry.status = known.held, known.status
        elif not self._read_only:
            entry.status = self._status_of(new)
        self._entries[new.key] = entry
        self._registrar.changed()

    def _status_changed(self, entry: Entry, new: ClusterObject) -> None:
        """Another process may have decided for which cluster a Cluster is used."""
        entry.cluster = new
        self._report(entry)
        if new.uid and new.uid != entry.held:
            entry.held = new.uid
            self._registrar.changed()

    def _status_of(self, cluster: ClusterObject) -> ClusterStatus:
        cached = self._cluster_cache
        return ClusterStatus(
            self._host,
            cluster,
            stored=lambda: cached.get((cluster.metadata.namespace, cluster.metadata.name)),
            answered=self._status_answered,
            wanted=partial(self._status, cluster.key, cluster.metadata.uid),
        )

    def _status_answered(self, answer: ClusterObject) -> None:
        """The answer may show changes by others as well, and its watch event will show nothing new."""
        old = self._cluster_cache.get((answer.metadata.namespace, answer.metadata.name))
        if self._cluster_cache.merge(answer):
            self._cluster_changed(old, answer)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.task.cancel()
            _log.info("cluster", cluster=key, state="gone")
            self._registrar.changed()
            self._turned(key)

    def _leave(self, key: str) -> None:
        """A Cluster gives up its place before it is gone."""
        entry = self._entries.get(key)
        if entry is not None:
            self._left.add(entry.cluster.metadata.uid)
            self._drop(key)

    async def _supervise(self, key: str) -> None:
        """Keep one cluster connected. Whatever fails there, also what nobody foresaw, stays there (I10, I16)."""
        entry = self._entries[key]
        backoff = Backoff()
        while True:
            try:
                await self._keep_connected(key)
            except Exception as error:  # noqa: BLE001  # logged, told in status, and tried again
                reason = _unforeseen(key, error)
            else:
                return
            self._refuse(entry, Problem(Reach.PENDING, reason))
            await asyncio.sleep(backoff.pause())

    async def _keep_local(self) -> None:
        """The same for the host's own workloads."""
        backoff = Backoff()
        while True:
            try:
                await self._local.run()
            except Exception as error:  # noqa: BLE001  # as above
                self._local.lost(_unforeseen("host", error))
                self._member_turned(self._local)
            await asyncio.sleep(backoff.pause())

    async def _keep_connected(self, key: str) -> None:
        """Connect one cluster, and again when its credentials cannot be had yet."""
        entry = self._entries[key]
        if entry.cluster.spec.suspended:
            self._say(entry, Reach.SUSPENDED, "spec.suspended is set")
            return
        pause = FIRST_PAUSE
        while True:
            try:
                connection = await clusters.connection(entry.cluster, self._host)
                client = self._connect(connection)
            except (CredentialsError, KubeError) as error:
                self._refuse(entry, Problem(Reach.PENDING, str(error)))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            try:
                problem = await self._registrar.admit(entry, client)
                if problem is None:
                    pause = FIRST_PAUSE
                    entry.problem = None
                    await self._follow(entry, client, connection)
                    continue
            finally:
                await client.close()
            self._refuse(entry, problem)
            await self._registrar.wait_refused(entry, problem, RETRY_SECONDS if problem.reason else pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _follow(self, entry: Entry, client: Client, connection: Connection) -> None:
        """Watch a cluster until its Secret has other credentials, or the Cluster is not to be used for it any more."""
        member = entry.member = self._member(entry.key, client, entry.found)
        try:
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(member.run())
                ends = (
                    tasks.create_task(self._replaced(entry, member, connection)),
                    tasks.create_task(self._registrar.superseded(entry)),
                    tasks.create_task(member.replaced.wait()),
                )
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for task in (following, *ends):
                    task.cancel()
        finally:
            self._last_contacts[entry.key] = member.last_contact
        if member.replaced.is_set() or self._registrar.problem(entry) is not None:
            entry.member = None
            self._refuse(entry, Problem(Reach.PENDING, CHECKING))

    def _refuse(self, entry: Entry, problem: Problem) -> None:
        """Say why a Cluster is not used. What was seen through it stays known, unless it may be another cluster's."""
        if problem == entry.problem and not entry.undecided:
            return
        entry.problem = problem
        if problem.reason:
            entry.member = None
        if entry.member is not None and entry.member.lost(problem.detail):
            self._member_turned(entry.member)
        else:
            self._say(entry, problem.reach, problem.detail)

    async def _replaced(self, entry: Entry, member: Member, connection: Connection) -> None:
        """Returns when the cluster cannot be reached and its Secret says something else by now.

        A refused token is not the only sign of credentials that were replaced: with another certificate authority
        the connection fails before any answer.
        """
        pause = RETRY_SECONDS
        while True:
            if not member.failing.is_set():
                pause = RETRY_SECONDS
                await member.failing.wait()
            await asyncio.sleep(pause)
            if not member.failing.is_set():
                continue
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)
            try:
                fresh = await clusters.connection(entry.cluster, self._host)
            except (CredentialsError, KubeError) as error:
                _log.warning("credentials not read", cluster=member.name, error=str(error))
                continue
            if member.failing.is_set() and fresh != connection:
                _log.info("new credentials", cluster=member.name)
                return

    def _member_turned(self, member: Member) -> None:
        entry = self._entries.get(member.name)
        if entry is not None:
            entry.reach, entry.detail, entry.undecided = member.reach, member.detail, member.undecided
        self._stirred.set()
        self._turned(member.name)
        if entry is not None:
            self._report(entry)

    def _say(self, entry: Entry, reach: Reach, detail: str) -> None:
        was_undecided = entry.undecided
        entry.reach, entry.detail, entry.undecided = reach, detail, False
        if was_undecided:
            self._registrar.changed()
        self._stirred.set()
        self._turned(entry.cluster.key)
        self._report(entry)

    def _report(self, entry: Entry) -> None:
        """Have the Cluster's status written; nobody waits for that."""
        if entry.status is not None and self._tasks is not None:
            self._tasks.create_task(self._write(entry.cluster.key, entry.status))

    async def _write(self, key: str, status: ClusterStatus) -> None:
        try:
            await status.write()
        except Exception as error:  # noqa: BLE001  # the status of one Cluster must not end the work on the others
            _unforeseen(key, error)

    def _status(self, key: str, uid: str, stored: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the status of a Cluster should be; None while that is not known, or when it is another one's."""
        entry = self._entries.get(key)
        if entry is None or entry.cluster.metadata.uid != uid or (entry.undecided and stored):
            return None
        return cluster_status.build(
            entry.cluster,
            stored,
            entry.reach,
            detail=entry.detail,
            facts=entry.member.facts if entry.member is not None else None,
            now=self._now(),
            uid=entry.held,
            reason=entry.problem.reason if entry.problem is not None else "",
        )


def _unforeseen(cluster: str, error: Exception) -> str:
    """Logs an error that nobody foresaw, and gives the reason for status.

    Neither has the text of the error: it may quote what was read from a Secret (I12).
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        where = "".join(traceback.format_tb(leaf.__traceback__))
        _log.error("connection failed", cluster=cluster, error=type(leaf).__name__, where=where)
    return f"internal error: {type(leaves[0]).__name__}; the controller's log says where"


def _leaves(error: Exception) -> Iterator[Exception]:
    """The errors in a group of errors, or the error itself."""
    if not isinstance(error, ExceptionGroup):
        yield error
        return
    for one in error.exceptions:
        yield from _leaves(one)


def selected(cluster: ClusterObject, labels: dict[str, str]) -> bool:
    """Whether a cluster has all these labels."""
    have = cluster.metadata.labels
    return all(have.get(key) == value for key, value in labels.items())
