"""The fleet's entry for a Cluster object, and the reasons why a Cluster is not used."""

import asyncio
from dataclasses import dataclass, field

from uniteddeployment.fleet.claims import Claim
from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.finalizer import Finalizer
from uniteddeployment.fleet.health import Probes, Record, Sign
from uniteddeployment.fleet.member import CONNECTING, Member
from uniteddeployment.fleet.tokens import TokenTrouble
from uniteddeployment.planning.observed import Reach, Taint

DUPLICATE, IS_HOST, REPLACED, MISSING_RIGHT = "DuplicateCluster", "IsHost", "ClusterReplaced", "MissingRight"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a Cluster is not used."""

    reach: Reach
    detail: str
    reason: str = ""
    """One of the constants above; empty if the cluster is only not connected."""
    same_as: str | None = None
    """The Cluster that is used instead; the host is ``""``."""
    trouble: str = ""
    """Why no connection could be made, as a reason of ``health``; empty if ``reason`` says more."""


@dataclass(slots=True)
class Entry:
    """A Cluster object with its state and the task that keeps it connected."""

    cluster: ClusterObject
    held_uid: str = ""
    """The uid of the cluster for which the Cluster is used; empty if that was never decided."""
    answering_uid: str = ""
    """The uid of the cluster that answers at its address; empty if that is not known yet."""
    task: asyncio.Task[None] | None = None
    """Keeps it connected."""
    member: Member | None = None
    """The connected member, once it is decided that the Cluster is used."""
    reach: Reach = Reach.PENDING
    detail: str = CONNECTING
    undecided: bool = True
    """Whether the reach is not known yet."""
    problem: Problem | None = None
    record: Record = field(default_factory=Record)
    """Its health."""
    probes: Probes = field(default_factory=Probes)
    """Its probes by this process."""
    sign: Sign | None = None
    """The latest fact about it; None until there is one."""
    judgement: asyncio.TimerHandle | None = None
    """When its health is judged again."""
    taints: tuple[Taint, ...] = ()
    """The taints in effect."""
    token_trouble: TokenTrouble | None = None
    """Why its token is not replaced, or that it has expired."""
    status: ClusterStatus | None = None
    """Writes its status; None if the fleet is read-only."""
    finalizer: Finalizer | None = None
    """Its finalizer; None if the fleet is read-only."""
    departure: asyncio.Task[None] | None = None
    """Follows its departure while it is being deleted."""
    leaving: str = ""
    """What its departure waits for, for messages."""
    closing: bool = False
    """Whether nothing is written to it any more, since it is about to leave."""
    reconsider: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another Cluster was added or removed, or when its cluster was identified."""

    @property
    def key(self) -> str:
        return self.cluster.key

    @property
    def claim(self) -> Claim:
        meta = self.cluster.metadata
        connecting = self.undecided and not self.answering_uid and not self.cluster.spec.suspended
        return Claim(self.key, meta.creation_timestamp or "", self.held_uid, self.answering_uid, connecting)

    def stop(self) -> None:
        """Cancel its tasks, and the next judgement."""
        for task in (self.task, self.departure):
            if task is not None:
                task.cancel()
        if self.judgement is not None:
            self.judgement.cancel()
