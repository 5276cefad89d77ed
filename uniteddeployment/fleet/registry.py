"""The fleet: every Cluster object with its state, and the member of each cluster that is connected.

When a Cluster is created or its spec changes, it is connected. When it is suspended, its watches stop, and the
workloads there are left alone. When it is deleted, it leaves once its workloads are gone.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog
from cachetools import LRUCache

from uniteddeployment.fleet import standing
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.capacity.sums import SubsetKey
from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import CLUSTERS, ClusterObject
from uniteddeployment.fleet.connector import Connect, Connector, unexpected
from uniteddeployment.fleet.departure import Departures, Occupancy
from uniteddeployment.fleet.entry import Entry
from uniteddeployment.fleet.events import record_phase
from uniteddeployment.fleet.finalizer import Finalizer
from uniteddeployment.fleet.health import Record, Trouble
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registrar import Registrar
from uniteddeployment.fleet.tokens import Tokens, TokenTrouble
from uniteddeployment.fleet.tracker import Tracker
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.planning.observed import HOST, ClusterFacts, FleetFacts, MemberView, Reach
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

MOST_LAST_CONTACTS = 1024
"""For how many clusters that are not connected the time of the last contact is kept."""


class Fleet:
    """All clusters that an application can target. The host has the name ``""``.

    ``on_change(cluster, application)`` is called when something of an application changes in a cluster, and
    ``on_reach_changed(cluster)`` when a cluster is added or removed, or when its reach, its labels or its allowed
    namespaces change. ``on_namespace_changed(cluster, namespace)`` is called for the namespaces in members that the
    controller created; without it, they are not watched. Without ``occupancy``, Clusters that are being deleted stay.
    ``on_capacity_changed(cluster)`` is called when figures of a cluster have changed by more than 1 %, and
    ``on_shown(cluster, subset, pods)`` when its number of pods of a subset has changed. With ``read_only``, nothing is
    written, not even the status of Clusters, and no capacity is counted.
    """

    def __init__(
        self,
        host: Client,
        connect: Connect,
        *,
        on_change: Callable[[str, AppKey], None],
        on_reach_changed: Callable[[str], None],
        on_namespace_changed: Callable[[str, str], None] | None = None,
        namespace: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        occupancy: Occupancy | None = None,
        recorder: Recorder | None = None,
        read_only: bool = False,
        on_capacity_changed: Callable[[str], None] = lambda _cluster: None,
        on_shown: Callable[[str, SubsetKey, int], None] = lambda _cluster, _subset, _pods: None,
    ) -> None:
        self._host = host
        self._read_only = read_only
        self._recorder = recorder
        self._on_change = on_change
        self._on_reach_changed = on_reach_changed
        self._on_namespace_changed = on_namespace_changed
        self._on_capacity_changed = on_capacity_changed
        self._on_shown = on_shown
        self._namespace = namespace
        self._now = now
        self._entries: dict[str, Entry] = {}
        self._tracker = Tracker(now, changed=self._report, fit_changed=self._fit_changed)
        self._registrar = Registrar(host, self._entries, self._give_up)
        self._connector = Connector(
            host,
            connect,
            self._registrar,
            new_member=lambda entry, client: self._new_member(
                entry.key,
                client,
                entry.answering_uid,
                counts_capacity=entry.cluster.spec.counts_capacity and not read_only,
            ),
            set_state=self._set_state,
            reach_changed=self._member_reach_changed,
            refused=self._tracker.refused,
            disconnected=self._note_last_contact,
            tokens=None if read_only else Tokens(host, connect, now),
            token_changed=self._token_changed,
        )
        self._departures = (
            Departures(self.entries, occupancy, changed=self._leaving, let_go=self._let_go)
            if occupancy is not None and not read_only
            else None
        )
        self._given_up: set[str] = set()
        """The uids of Clusters that have left, or gave their cluster up because their namespace is being deleted."""
        self._last_contacts: LRUCache[str, str | None] = LRUCache(MOST_LAST_CONTACTS)
        """Cluster -> the time of the last contact, for clusters that are not connected any more."""
        self._tasks: asyncio.TaskGroup | None = None
        self._state_changed = asyncio.Event()
        self._local = self._new_member(HOST, host)
        self._cache: Cache[ClusterObject] = Cache(self._cluster_changed)
        self._clusters = Reflector(host, CLUSTERS, ClusterObject, self._cache, on_synced=self._state_changed.set)

    @property
    def synced(self) -> bool:
        """Whether the Cluster objects and the host's own workloads have been read."""
        return self._clusters.synced.is_set() and self._local.reach is Reach.READY

    @property
    def settled(self) -> bool:
        """Whether it is known of each member if it can be reached."""
        return self.synced and not any(entry.undecided for entry in self._entries.values())

    async def wait_synced(self) -> None:
        """Wait until the fleet is synced."""
        while not self.synced:
            self._state_changed.clear()
            await self._state_changed.wait()

    async def wait_settled(self, seconds: float) -> None:
        """Wait until the fleet is settled, but not longer than so many seconds (I10)."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.settled:
                    self._state_changed.clear()
                    await self._state_changed.wait()

    def entries(self) -> Iterable[Entry]:
        """The entries of all Cluster objects."""
        return self._entries.values()

    def clusters(self) -> tuple[str, ...]:
        """The names of all clusters, including those that cannot be reached."""
        return HOST, *self._entries

    def members(self) -> Iterable[Member]:
        """The host and every connected member."""
        yield self._local
        for entry in self._entries.values():
            if entry.member is not None:
                yield entry.member

    def member(self, cluster: str) -> Member | None:
        """The member of a cluster; None if it is not connected."""
        if cluster == HOST:
            return self._local
        entry = self._entries.get(cluster)
        return entry.member if entry else None

    def cluster(self, cluster: str) -> ClusterObject | None:
        """The Cluster object of a cluster."""
        entry = self._entries.get(cluster)
        return entry.cluster if entry else None

    def facts(self, cluster: str) -> ClusterFacts | None:
        """The facts about a cluster that decide whether it is fit to hold replicas; None without a Cluster object."""
        entry = self._entries.get(cluster)
        return standing.facts(entry) if entry is not None else None

    def fleet_facts(self) -> FleetFacts:
        """How many clusters there are, apart from those that were never used, and which of them are Offline."""
        return standing.fleet_facts(self._entries.values())

    def view(self, cluster: str, application: AppKey) -> MemberView:
        """The state of an application in a cluster, which need not exist."""
        entry = self._entries.get(cluster)
        last_contact = self._last_contacts.get(cluster)
        if entry is not None and entry.closing:
            return MemberView(cluster, Reach.UNKNOWN, "the Cluster is being deleted", last_contact)
        member = self.member(cluster)
        if member is not None:
            return member.view(application)
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
                self._tasks = None  # members that are still ending must not start tasks in a group that is ending

    def _new_member(self, name: str, client: Client, uid: str = "", *, counts_capacity: bool = False) -> Member:
        return Member(
            name,
            client,
            on_change=lambda application: self._on_change(name, application),
            on_reach_changed=self._member_reach_changed,
            on_probed=self._probed,
            namespace=self._namespace,
            now=self._now,
            last_contact=self._last_contacts.get(name),
            uid=uid,
            on_namespace_changed=partial(self._on_namespace_changed, name)
            if self._on_namespace_changed is not None and name != HOST
            else None,
            counts_capacity=counts_capacity,
            on_capacity_changed=self._capacity_changed,
            on_shown=partial(self._on_shown, name),
        )

    async def _keep_local(self) -> None:
        """Follow the host's own workloads."""
        backoff = Backoff()
        while True:
            try:
                await self._local.run()
            except Exception as error:  # noqa: BLE001  # logged, reported in status, and tried again
                self._local.disconnect(unexpected("host", error))
                self._member_reach_changed(self._local)
            await asyncio.sleep(backoff.pause())

    def _cluster_changed(self, old: ClusterObject | None, new: ClusterObject | None) -> None:
        cluster = new or old
        if cluster is None or self._tasks is None:
            return
        known = self._entries.get(cluster.key)
        if known is not None and known.member is not None:
            self._note_last_contact(known.member)
        if new is None:
            self._given_up.discard(cluster.metadata.uid)
            self._remove(cluster.key)
            return
        held = names.CLUSTER_FINALIZER in new.metadata.finalizers
        if new.metadata.uid in self._given_up:
            if new.metadata.deletion_timestamp is not None and held:
                self._tasks.create_task(self._new_finalizer(new).remove())
            return
        if new.metadata.deletion_timestamp is not None and not held:
            self._remove(new.key)
            return
        same = known is not None and known.cluster.metadata.uid == new.metadata.uid
        if known is not None and same and new.spec.connects_like(known.cluster.spec):
            self._status_changed(known, new)
            self._tracker.refresh(known)
            if known.member is not None and not self._read_only:
                known.member.capacity.enable(new.spec.counts_capacity)
            if old is None or (old.metadata.labels, old.spec) != (new.metadata.labels, new.spec):
                self._on_reach_changed(new.key)
            self._begin_departure(known)
            return
        entry = Entry(new, new.recorded_uid)
        if known is not None:
            known.stop()
        if known is not None and same:
            entry.held_uid, entry.status = known.held_uid, known.status
        elif not self._read_only:
            entry.status = self._new_status(new)
        if not self._read_only:
            entry.finalizer = self._new_finalizer(new)
        self._entries[new.key] = entry
        self._tracker.begin(entry, known if same else None)
        entry.task = self._tasks.create_task(self._connector.run(entry))
        self._begin_departure(entry)
        self._registrar.changed()

    def _status_changed(self, entry: Entry, new: ClusterObject) -> None:
        """The status may have the decision of another process about the cluster for which the Cluster is used."""
        entry.cluster = new
        self._report(entry)
        if new.recorded_uid and new.recorded_uid != entry.held_uid:
            entry.held_uid = new.recorded_uid
            self._registrar.changed()

    def _remove(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.stop()
            _log.info("cluster", cluster=key, state="removed")
            self._registrar.changed()
            self._on_reach_changed(key)

    def _begin_departure(self, entry: Entry) -> None:
        """If the Cluster is being deleted, it leaves when nothing is left in it."""
        if entry.cluster.metadata.deletion_timestamp is None or entry.departure is not None:
            return
        self._tracker.deleted(entry)
        if self._departures is not None and self._tasks is not None:
            entry.departure = self._tasks.create_task(self._departures.follow(entry))

    def _leaving(self, entry: Entry) -> None:
        self._on_reach_changed(entry.key)
        self._report(entry)

    def _let_go(self, entry: Entry) -> None:
        """Nothing is left in a Cluster that is being deleted, or it was abandoned."""
        self._give_up(entry.key)
        if self._tasks is not None:
            self._tasks.create_task(self._new_finalizer(entry.cluster).remove())

    def _give_up(self, key: str) -> None:
        """A Cluster that leaves, or is about to be deleted, gives its cluster up to another one."""
        entry = self._entries.get(key)
        if entry is not None:
            self._given_up.add(entry.cluster.metadata.uid)
            self._remove(key)

    def _note_last_contact(self, member: Member) -> None:
        self._last_contacts[member.name] = member.last_contact

    def _member_reach_changed(self, member: Member) -> None:
        entry = self._entries.get(member.name)
        if member is not self._local and (entry is None or entry.member is not member):
            return  # a member of an earlier connection, which is ending
        if entry is not None:
            entry.reach, entry.detail, entry.undecided = member.reach, member.detail, member.undecided
        self._state_changed.set()
        self._on_reach_changed(member.name)
        if entry is not None:
            self._report(entry)

    def _probed(self, member: Member, trouble: Trouble | None, began: datetime) -> None:
        entry = self._entries.get(member.name)
        if entry is None or entry.member is not member:
            return
        if trouble is None:
            self._tracker.answered(entry)
        else:
            self._tracker.failed(entry, trouble, began)

    def _capacity_changed(self, member: Member) -> None:
        entry = self._entries.get(member.name)
        if entry is not None and entry.member is member:
            self._on_capacity_changed(member.name)
            self._report(entry)

    def _fit_changed(self, entry: Entry, old: Record) -> None:
        """The phase or the taints have changed, so applications may have to move."""
        if old.phase is not entry.record.phase:
            _log.info("cluster", cluster=entry.key, phase=str(entry.record.phase), reason=entry.record.reason)
            if self._recorder is not None:
                record_phase(self._recorder, entry, old)
        self._on_reach_changed(entry.key)

    def _set_state(self, entry: Entry, reach: Reach, detail: str) -> None:
        was_undecided = entry.undecided
        entry.reach, entry.detail, entry.undecided = reach, detail, False
        if was_undecided:
            self._registrar.changed()
        self._state_changed.set()
        self._on_reach_changed(entry.key)
        if reach is Reach.SUSPENDED:
            self._tracker.suspended(entry)
        self._report(entry)

    def _token_changed(self, entry: Entry, trouble: TokenTrouble | None) -> None:
        if entry.token_trouble != trouble:
            entry.token_trouble = trouble
            self._report(entry)

    def _new_status(self, cluster: ClusterObject) -> ClusterStatus:
        cached = self._cache
        return ClusterStatus(
            self._host,
            cluster,
            stored=lambda: cached.get((cluster.metadata.namespace, cluster.metadata.name)),
            answered=self._status_answered,
            wanted=partial(self._wanted_status, cluster.key, cluster.metadata.uid),
        )

    def _new_finalizer(self, cluster: ClusterObject) -> Finalizer:
        key = (cluster.metadata.namespace, cluster.metadata.name)
        return Finalizer(self._host, cluster, stored=lambda: self._cache.get(key), answered=self._status_answered)

    def _status_answered(self, answer: ClusterObject) -> None:
        """The answer to a write of a status may also show changes by others. Its watch event shows nothing new."""
        old = self._cache.get((answer.metadata.namespace, answer.metadata.name))
        if self._cache.merge(answer):
            self._cluster_changed(old, answer)

    def _report(self, entry: Entry) -> None:
        """Write the Cluster's status in the background."""
        if entry.status is not None and self._tasks is not None:
            self._tasks.create_task(self._write_status(entry.key, entry.status))

    async def _write_status(self, key: str, status: ClusterStatus) -> None:
        try:
            await status.write()
        except Exception as error:  # noqa: BLE001  # the status of one Cluster must not end the work on the others
            unexpected(key, error)

    def _wanted_status(self, key: str, uid: str, stored: Mapping[str, Any]) -> dict[str, Any] | None:
        """The status that a Cluster should have; None if it is not known yet, or if the Cluster was replaced."""
        entry = self._entries.get(key)
        if entry is None or entry.cluster.metadata.uid != uid:
            return None
        return standing.wanted_status(entry, stored, self._last_contacts.get(key), self._now())


def selected(cluster: ClusterObject, labels: dict[str, str]) -> bool:
    """Whether a cluster has all these labels."""
    have = cluster.metadata.labels
    return all(have.get(key) == value for key, value in labels.items())
