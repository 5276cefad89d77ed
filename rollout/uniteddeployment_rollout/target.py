"""The target of a rollout as its controller sees it: a UnitedDeployment's partitions, revisions and counts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from uniteddeployment_api.int_or_percent import held_back

HOLD_ALL = "100%"
"""The default partition: every new template is held from the write on that brings it."""
UNKNOWN, STALLED, PAUSED = "Unknown", "Stalled", "Paused"
"""States of a subset in the status of a UnitedDeployment that a rollout has to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSubset:
    """One subset: counts of pods as the status of the UnitedDeployment reports them, and its partition in spec."""

    name: str
    cluster: str = ""
    replicas: int
    """How many pods it is to have."""
    observed: int = 0
    """How many pods there are."""
    ready: int = 0
    updated: int = 0
    updated_ready: int = 0
    restarts: int = 0
    """Restarts of containers of updated pods."""
    revision: str = ""
    """Value of the label uniteddeployment.io/revision of updated pods."""
    stable: int = 0
    """Pods at the stable revision, while it is another one than that of updated pods."""
    stable_ready: int = 0
    stable_restarts: int = 0
    stable_revision: str = ""
    state: str = ""
    last_observed: str = ""
    """When it was last seen, if it cannot be seen now."""
    reason: str = ""
    partition: int | str | None = None
    """The entry in ``partitions``; None if there is none, or if partitions are for another revision."""
    default: int | str = 0
    """The default partition, which applies if there is no entry."""
    max_updated: int | None = None
    """The entry in ``maxUpdated``, if it is for the present revision."""
    reverted: bool = False
    """Whether it is to return to the stable revision."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its Cluster object."""
    drift: str = ""
    """The last changes of others in its cluster that the UnitedDeployment controller reverted."""
    drift_time: str = ""

    @property
    def reachable(self) -> bool:
        """Whether the counts are those of now."""
        return self.state != UNKNOWN and not self.last_observed

    @property
    def allowed(self) -> int:
        """How many pods may be updated as ``spec`` is now."""
        if self.reverted:
            return 0
        value = self.default if self.partition is None else self.partition
        allowed = self.replicas - held_back(value, self.replicas)
        return allowed if self.max_updated is None else min(allowed, self.max_updated)

    @property
    def unavailable(self) -> int:
        """Pods that are missing or not ready; all of them where nobody can see."""
        return max(0, self.replicas - self.ready) if self.reachable else self.replicas

    @property
    def pending(self) -> int:
        """Ready pods that may be restarted at any moment, because the partition allows it and they are not updated."""
        old = max(0, self.ready - self.updated_ready)
        return min(old, max(0, self.allowed - self.updated)) if self.reachable else 0

    @property
    def serves_nothing_old(self) -> bool:
        """Whether no pod at an old revision is ready, while all updated pods are: updating the others loses nothing."""
        old = self.observed > self.updated
        return self.reachable and old and self.ready <= self.updated_ready and self.updated_ready == self.updated

    @property
    def staying(self) -> int:
        """Updated pods that are there to stay. A subset that shrinks still shows pods that are about to go."""
        if self.reverted:
            return 0
        staying = min(self.updated, self.replicas)
        return staying if self.observed <= self.replicas else min(staying, self.allowed)

    @property
    def outstanding(self) -> int:
        """Pods that may be updated and are not yet ready at the new revision."""
        return max(0, self.allowed - self.updated_ready)


def _drift_time(subset: TargetSubset) -> str:
    return subset.drift_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A UnitedDeployment. Its status counts only while ``observed``."""

    name: str
    namespace: str = ""
    generation: int = 1
    observed_generation: int = 1
    paused: bool = False
    current_revision: str = ""
    updated_revision: str = ""
    default_partition: int | str = 0
    partitions: Mapping[str, int | str] = field(default_factory=dict)
    partitions_revision: str = ""
    """The revision that the partitions are for. For another one, the default partition applies to all subsets."""
    max_updated: Mapping[str, int] = field(default_factory=dict)
    revert: tuple[str, ...] = ()
    subsets: tuple[TargetSubset, ...] = ()
    cause: str = ""
    """Why its template was changed, as its author says."""
    template_by: str = ""
    """The field manager that wrote the template last."""
    partitions_by: str = ""
    """The field manager that wrote the partitions last."""

    @property
    def observed(self) -> bool:
        """Whether its controller has seen the spec as it is: an older status says nothing about it."""
        return self.observed_generation == self.generation

    @property
    def sizes(self) -> dict[str, int]:
        return {subset.name: subset.replicas for subset in self.subsets}

    @property
    def labels(self) -> dict[str, Mapping[str, str]]:
        return {subset.name: subset.labels for subset in self.subsets}

    @property
    def replicas(self) -> int:
        return sum(subset.replicas for subset in self.subsets)

    @property
    def drifted(self) -> TargetSubset | None:
        """The subset whose workload others have changed last; None if there is none."""
        return max((subset for subset in self.subsets if subset.drift_time), key=_drift_time, default=None)

    @property
    def parked(self) -> bool:
        """Whether nothing but the default partition decides, and it holds everything."""
        return self.default_partition == HOLD_ALL and not self.has_entries

    @property
    def has_entries(self) -> bool:
        """Whether it has anything for single subsets."""
        return bool(self.partitions or self.partitions_revision or self.max_updated or self.revert)
