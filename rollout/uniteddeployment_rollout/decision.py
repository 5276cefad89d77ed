"""The result of a decision: the status to store, and what to write to the target."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout.gates.probe import Probe, ProbeId
from uniteddeployment_rollout.status import Event
from uniteddeployment_rollout.target import HOLD_ALL, Target


@dataclass(frozen=True, slots=True)
class TargetWrite:
    """What the target is to have. All partitions are written at once, so that none falls back to the default."""

    partitions: Mapping[str, int]
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why, by subset."""
    default: int | str = HOLD_ALL
    revision: str = ""
    """The revision that the partitions are for: another template is held by the default partition."""
    max_updated: Mapping[str, int] = field(default_factory=dict)
    """The most updated pods of each subset, also if it grows."""
    revert: tuple[str, ...] = ()
    """Subsets that return to the stable revision."""
    restore: str = ""
    """The revision whose template is to be written with them; empty to leave the template alone."""

    def differs(self, target: Target) -> bool:
        """Whether the target has something else. A template to restore is not compared."""
        present = (
            target.default_partition,
            dict(target.partitions),
            target.partitions_revision,
            dict(target.max_updated),
            set(target.revert),
        )
        wanted = (self.default, dict(self.partitions), self.revision, dict(self.max_updated), set(self.revert))
        return present != wanted


@dataclass(frozen=True, slots=True)
class Decision:
    """The status to store first, then what to write to the target, if anything."""

    status: UnitedRolloutStatus
    write: TargetWrite | None = None
    events: tuple[Event, ...] = ()
    probes: tuple[Probe, ...] = ()
    """Measurements that are due. Each may be asked for again until its result is among the inputs."""
    recorded: tuple[ProbeId, ...] = ()
    """Results among the inputs that the status has now."""
    requeue_after: float | None = None
    """Seconds until time alone changes the decision; None if only a change of the objects does."""
