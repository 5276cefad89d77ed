"""A Cluster object as the fleet keeps it, and why it may not be used."""

import asyncio
from dataclasses import dataclass, field

from uniteddeployment.fleet.claims import Claim
from uniteddeployment.fleet.cluster_status import ClusterStatus
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.member import CONNECTING, Member
from uniteddeployment.planning.observed import Reach

DUPLICATE, IS_HOST, REPLACED, MISSING_RIGHT = "DuplicateCluster", "IsHost", "ClusterReplaced", "MissingRight"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a Cluster is not used."""

    reach: Reach
    detail: str
    reason: str = ""
    """One of the above; empty if it is just not connected."""
    same_as: str | None = None
    """The Cluster that is used in its place; the host is ``""``."""


@dataclass(slots=True)
class Entry:
    """A Cluster object with the task that keeps it connected."""

    cluster: ClusterObject
    task: asyncio.Task[None]
    held: str = ""
    """The uid of the cluster that it stands for; empty if that was never decided."""
    found: str = ""
    """The uid of the cluster that answers under its address; empty if that is not known yet."""
    member: Member | None = None
    """The connection, once it is decided that the Cluster is used."""
    reach: Reach = Reach.PENDING
    detail: str = CONNECTING
    undecided: bool = True
    """Whether it is too early to say how it stands."""
    problem: Problem | None = None
    status: ClusterStatus | None = None
    """Writes its status; None for those who only look."""
    look_again: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another Cluster came or went, or shows which cluster it stands for."""

    @property
    def key(self) -> str:
        return self.cluster.key

    @property
    def claim(self) -> Claim:
        meta = self.cluster.metadata
        connecting = self.undecided and not self.found and not self.cluster.spec.suspended
        return Claim(self.key, meta.creation_timestamp or "", self.held, self.found, connecting)
