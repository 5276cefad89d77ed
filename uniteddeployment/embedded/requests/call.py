"""A write as it is asked for: its options, and the checks that a user's write must pass."""

from dataclasses import dataclass, field
from typing import Protocol

from uniteddeployment.embedded.apimachinery.resources import Obj


class Gate(Protocol):
    """What a write of a user must pass besides the authorization of its request. Each raises StatusError."""

    def creating(self, key: str, obj: Obj) -> None: ...

    def changing(self, key: str, new: Obj, old: Obj) -> None: ...

    def creating_by_update(self) -> None:
        """A PUT or an apply is about to create what was not there."""


@dataclass(slots=True)
class Call:
    """How a write is asked for, and what the server wants to say besides its answer."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    """What becomes of unknown fields: Strict, Warn or Ignore."""
    force: bool = False
    """Whether an apply takes fields from their owners."""
    warnings: list[str] = field(default_factory=list)
    gate: Gate | None = None
    """None for who may do everything, and for controllers of the cluster."""
