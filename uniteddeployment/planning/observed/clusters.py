"""The state of the fleet, as far as it decides where replicas run.

These facts say whether a cluster is fit to hold replicas. They change slowly: all times are stored in the status of the
Cluster. Whether this process can read and write a cluster now is :class:`~.snapshot.Reach`, which changes at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a cluster, set by a user or automatically."""

    key: str
    value: str = ""
    effect: str = NO_SCHEDULE
    time_added: str | None = None
    """When it was added (RFC 3339); None if that is not stored yet."""

    def __str__(self) -> str:
        """The taint as kubectl writes it: ``key=value:Effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Takers:
    """Subsets whose pods are alike, and how they take the places of a room."""

    subsets: tuple[str, ...]
    places: Fraction = Fraction(1)
    """How many places each of their pods takes."""
    elsewhere: int = 0
    """How many of their pods fit into the cluster beside the room, and take no place in it."""


@dataclass(frozen=True, slots=True)
class SharedRoom:
    """Room in a cluster that pods of several subsets can take: what one gets, the others do not have."""

    places: int
    takers: tuple[Takers, ...]

    def taken(self, pods: Mapping[str, int]) -> Fraction:
        """Return how many places are taken if subsets get so many pods more."""
        return sum(
            (
                takers.places * max(0, sum(pods.get(name, 0) for name in takers.subsets) - takers.elsewhere)
                for takers in self.takers
            ),
            Fraction(0),
        )


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The state of one cluster of the fleet."""

    taints: tuple[Taint, ...] = ()
    """Taints of the spec, and automatic ones."""
    offline_since: str | None = None
    """Since when the phase is Offline; None if it is another phase."""
    recovering: bool = False
    """Whether it is Offline, and answers again without trouble."""
    loss_assumed: bool = False
    """Whether a plan only assumes that it is Offline."""
    rooms: Mapping[str, int] = field(default_factory=dict)
    """Subset -> its pods that fit now, in addition to those that it has there. Subsets without an entry have an unknown
    amount of room."""
    shared: tuple[SharedRoom, ...] = ()
    """Rooms for which subsets compete."""


NO_FACTS = ClusterFacts()
"""Stands for a cluster about which nothing is known, such as the host."""


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """The state of the whole fleet."""

    clusters: int = 0
    """Number of clusters."""
    lost: tuple[str, ...] = ()
    """For each cluster that is Offline, the time since when."""


NO_FLEET = FleetFacts()
