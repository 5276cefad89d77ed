"""Decides which Cluster object is used for which cluster, and records that in their status (I14).

A Cluster is refused if it has the address of the host, if another Cluster is used for the same cluster, and if another
cluster than before answers at its address: the workloads of the earlier cluster are not there, and must not count as
deleted.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import structlog

from uniteddeployment.fleet import claims
from uniteddeployment.fleet.claims import Claim
from uniteddeployment.fleet.entry import DUPLICATE, IS_HOST, MISSING_RIGHT, REPLACED, Entry, Problem
from uniteddeployment.fleet.identity import MissingRightError, cluster_uid
from uniteddeployment.fleet.member import FIRST_PAUSE, LONGEST_PAUSE
from uniteddeployment.fleet.probe import PROBE_SECONDS, trouble_of
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import KubeError, NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.planning.observed import HOST, Reach

_log = structlog.get_logger(__name__)


class Registrar:
    """Knows the uids of the host and of each cluster that answered.

    ``entries`` is shared with the fleet. ``give_up`` is called with a Cluster that has to give its cluster up.
    """

    def __init__(self, host: Client, entries: Mapping[str, Entry], give_up: Callable[[str], None]) -> None:
        self._host = host
        self._entries = entries
        self._give_up = give_up
        self._host_uid: str | None = None
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """A Cluster was added or removed, or its cluster was identified, or that has failed."""
        self._changed.set()
        for entry in self._entries.values():
            entry.reconsider.set()

    async def identify_host(self) -> None:
        """Find out the uid of the host. Without the right to do so, a Cluster for the host is not detected."""
        pause = FIRST_PAUSE
        while self._host_uid is None:
            try:
                self._host_uid = await cluster_uid(self._host, timeout=PROBE_SECONDS)
            except MissingRightError as error:
                _log.warning("a Cluster object for the host would not be detected", why=str(error))
                self._host_uid = ""
            except KubeError as error:
                _log.warning("the host cannot be identified yet", why=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        self.changed()

    async def admit(self, entry: Entry, client: Client) -> Problem | None:
        """Find out which cluster answers, and why the Cluster is not used for it; None if it is used.

        If it is used, its status records that before anything is applied through it.
        """
        entry.reconsider.clear()
        try:
            uid = await cluster_uid(client, timeout=PROBE_SECONDS)
            if uid != entry.answering_uid:
                entry.answering_uid = uid
                self.changed()
                entry.reconsider.clear()
            await self._decided(entry)
            problem = self.problem(entry)
            if problem is None:
                await self._hold(entry)
        except KubeError as error:
            trouble = trouble_of(error)
            reason = MISSING_RIGHT if isinstance(error, MissingRightError) else ""
            return Problem(Reach.PENDING, trouble.detail, reason, trouble=trouble.reason)
        return problem

    def problem(self, entry: Entry) -> Problem | None:
        """Why the Cluster is not used for the cluster that answered; None if it is used."""
        if entry.held_uid and entry.held_uid != entry.answering_uid:
            detail = (
                "another cluster answers at its address: the uid of its namespace kube-system is "
                f"{entry.answering_uid} and was {entry.held_uid}. Nothing is read or written there. If the cluster was "
                "replaced permanently, delete the Cluster object and create it again"
            )
            return Problem(Reach.PENDING, detail, REPLACED)
        if entry.answering_uid == self._host_uid:
            detail = (
                "it has the address of the host: leave targetCluster out of the subsets that run there, and delete "
                "this Cluster"
            )
            return Problem(Reach.UNKNOWN, detail, IS_HOST, HOST)
        holder = claims.holder(entry.answering_uid, self._claims())
        if holder is None or holder == entry.key:
            return None
        detail = f"the Cluster {holder} is used for the same cluster: delete one of the two"
        return Problem(Reach.UNKNOWN, detail, DUPLICATE, holder)

    async def superseded(self, entry: Entry) -> None:
        """Return when the Cluster must not be used any more."""
        while self.problem(entry) is None:
            entry.reconsider.clear()
            await entry.reconsider.wait()

    async def wait_refused(self, entry: Entry, problem: Problem, seconds: float) -> None:
        """Wait for some seconds after a refusal, or until another Cluster is added or removed.

        A Cluster in a namespace that is being deleted will be deleted soon: it gives its cluster up at once.
        """
        if problem.same_as and await self._is_being_deleted(problem.same_as):
            self._give_up(problem.same_as)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await entry.reconsider.wait()

    def _claims(self) -> list[Claim]:
        return [entry.claim for entry in self._entries.values()]

    async def _decided(self, entry: Entry) -> None:
        """Wait until it is known whether another Cluster has the same cluster."""
        while self._host_uid is None or not claims.decided(entry.answering_uid, entry.key, self._claims()):
            self._changed.clear()
            await self._changed.wait()

    async def _hold(self, entry: Entry) -> None:
        """Record that the Cluster is used for the cluster that answers, and keep it while it is. Raises KubeError."""
        if entry.finalizer is not None:
            await entry.finalizer.add()
        entry.held_uid = entry.answering_uid
        if entry.status is not None:
            await entry.status.note_uid(entry.held_uid)

    async def _is_being_deleted(self, key: str) -> bool:
        try:
            namespace = await self._host.get(NAMESPACES, key.partition("/")[0], PartialObject)
        except NotFound:
            return True
        except KubeError as error:
            _log.warning("namespace not read", cluster=key, why=str(error))
            return False
        return namespace.metadata.deletion_timestamp is not None
