"""Decides which Cluster object is used for which cluster, and keeps that in their status (I14).

A Cluster is refused when it names the host, when another one stands for the same cluster, and when another cluster than
before answers under its address: what was applied to the earlier one is not there, and must not be taken for deleted.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import structlog

from uniteddeployment.fleet import claims
from uniteddeployment.fleet.claims import Claim
from uniteddeployment.fleet.entry import DUPLICATE, IS_HOST, MISSING_RIGHT, REPLACED, Entry, Problem
from uniteddeployment.fleet.identity import MissingRightError, cluster_uid
from uniteddeployment.fleet.member import FIRST_PAUSE, LONGEST_PAUSE, PROBE_SECONDS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import KubeError, NotFound, Unreachable
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.planning.observed import HOST, Reach

_log = structlog.get_logger(__name__)


class Registrar:
    """Knows the uid of the host and of each cluster that answered. ``entries`` is shared with the fleet."""

    def __init__(self, host: Client, entries: Mapping[str, Entry], leave: Callable[[str], None]) -> None:
        self._host = host
        self._entries = entries
        self._leave = leave
        self._host_uid: str | None = None
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """A Cluster came or went, or it is known by now which cluster it stands for, or that it cannot be known."""
        self._changed.set()
        for entry in self._entries.values():
            entry.look_again.set()

    async def identify_host(self) -> None:
        """Find out the uid of the host. Without the right to do so, a Cluster for the host is not noticed."""
        pause = FIRST_PAUSE
        while self._host_uid is None:
            try:
                self._host_uid = await cluster_uid(self._host, timeout=PROBE_SECONDS)
            except MissingRightError as error:
                _log.warning("a Cluster object for the host would not be noticed", why=str(error))
                self._host_uid = ""
            except KubeError as error:
                _log.warning("the host cannot be identified yet", why=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        self.changed()

    async def admit(self, entry: Entry, client: Client) -> Problem | None:
        """Find out which cluster answers, and why the Cluster is not used for it; None if it is.

        Then its status says so, before anything is applied through it.
        """
        entry.look_again.clear()
        try:
            found = await cluster_uid(client, timeout=PROBE_SECONDS)
            if found != entry.found:
                entry.found = found
                self.changed()
                entry.look_again.clear()
            await self._decided(entry)
            problem = self.problem(entry)
            if problem is None:
                await self._hold(entry)
        except KubeError as error:
            detail = error.why if isinstance(error, Unreachable) else str(error)
            return Problem(Reach.PENDING, detail, MISSING_RIGHT if isinstance(error, MissingRightError) else "")
        return problem

    def problem(self, entry: Entry) -> Problem | None:
        """Why the Cluster is not used for the cluster that answered; None if it is."""
        if entry.held and entry.held != entry.found:
            detail = (
                f"another cluster answers under its address: the uid of its namespace kube-system is {entry.found} and "
                f"was {entry.held}. Nothing is read or written there. If the cluster was replaced for good, delete the "
                "Cluster object and create it again"
            )
            return Problem(Reach.PENDING, detail, REPLACED)
        if entry.found == self._host_uid:
            detail = (
                "it names the cluster that holds the UnitedDeployments: leave targetCluster out of the subsets that "
                "run there, and delete this Cluster"
            )
            return Problem(Reach.UNKNOWN, detail, IS_HOST, HOST)
        holder = claims.holder(entry.found, self._claims())
        if holder is None or holder == entry.key:
            return None
        detail = f"it names the same cluster as the Cluster {holder}, which is used: delete one of the two"
        return Problem(Reach.UNKNOWN, detail, DUPLICATE, holder)

    async def superseded(self, entry: Entry) -> None:
        """Returns when the Cluster is not to be used any more."""
        while self.problem(entry) is None:
            entry.look_again.clear()
            await entry.look_again.wait()

    async def wait_refused(self, entry: Entry, problem: Problem, seconds: float) -> None:
        """Wait for a time after a refusal, or until another Cluster came or went.

        A Cluster in a namespace that is being deleted will be gone soon: it gives up its place at once.
        """
        if problem.same_as and await self._is_leaving(problem.same_as):
            self._leave(problem.same_as)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await entry.look_again.wait()

    def _claims(self) -> list[Claim]:
        return [entry.claim for entry in self._entries.values()]

    async def _decided(self, entry: Entry) -> None:
        """Wait until it is known whether another Cluster stands for the same cluster."""
        while self._host_uid is None or not claims.decided(entry.found, entry.key, self._claims()):
            self._changed.clear()
            await self._changed.wait()

    async def _hold(self, entry: Entry) -> None:
        """Raises KubeError."""
        entry.held = entry.found
        if entry.status is not None:
            await entry.status.note_uid(entry.held)

    async def _is_leaving(self, key: str) -> bool:
        try:
            namespace = await self._host.get(NAMESPACES, key.partition("/")[0], PartialObject)
        except NotFound:
            return True
        except KubeError as error:
            _log.warning("namespace not read", cluster=key, why=str(error))
            return False
        return namespace.metadata.deletion_timestamp is not None
