"""Changes of a rollout's status, its times, and the events that come with them. Pure."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from uniteddeployment_api.v1alpha1.rollout import RolloutFailure, UnitedRolloutStatus
from uniteddeployment_rollout.gates.probe import GateInputs, Probe, ProbeId

_LONGEST = 1024
EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a person wants to know of."""

    reason: str
    message: str
    type: EventType = "Normal"


@dataclass(slots=True)
class Draft:
    """The status that a decision is working on, and what comes with the changes so far."""

    status: UnitedRolloutStatus
    now: datetime
    inputs: GateInputs = field(default_factory=GateInputs)
    """Templates and results of gates."""
    events: list[Event] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    """Measurements of gates that are due."""
    recorded: list[ProbeId] = field(default_factory=list)
    """Results of gates that the status has now."""

    def set(self, **changes: Any) -> None:
        """Change fields of the status by their Python names. Raises TypeError for a name that is none."""
        unknown = changes.keys() - UnitedRolloutStatus.model_fields.keys()
        if unknown:
            raise TypeError(f"no fields of a rollout's status: {sorted(unknown)}")
        self.status = self.status.model_copy(update=changes)

    def event(self, reason: str, message: str, type_: EventType = "Normal") -> None:
        """Note an event."""
        self.events.append(Event(reason, message, type_))

    @property
    def time(self) -> str:
        """Now, as it is stored."""
        return to_text(self.now)

    def since(self, moment: str) -> float:
        """Seconds since a stored time."""
        return (self.now - from_text(moment)).total_seconds()

    def failure(self, reason: str, message: str, by: str = "") -> RolloutFailure:
        """Something that stops a run, noticed now."""
        return RolloutFailure(reason=reason, message=shortened(message), by=shortened(by), time=self.time)


def shortened(text: str, length: int = _LONGEST) -> str:
    """Return the text, cut to the length that the schema accepts: a status with a longer one is rejected as a whole."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def to_text(moment: datetime) -> str:
    """A time as Kubernetes writes it, to the microsecond: a pause of one second is one second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_text(text: str) -> datetime:
    """A stored time."""
    return datetime.fromisoformat(text)
