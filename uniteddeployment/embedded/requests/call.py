"""A write request: its options, and the checks that a user's write must pass."""

from dataclasses import dataclass, field
from typing import Protocol

from uniteddeployment.embedded.apimachinery.resources import Obj


class Gate(Protocol):
    """The checks of a user's write besides the authorization of its request. Each raises StatusError."""

    def creating(self, key: str, obj: Obj) -> None: ...

    def changing(self, key: str, new: Obj, old: Obj) -> None: ...

    def creating_by_update(self) -> None:
        """Check that a PUT or an apply may create a missing object."""


@dataclass(slots=True)
class Call:
    """The options of a write, and the warnings that it collects."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    """Handling of unknown fields: Strict, Warn or Ignore."""
    force: bool = False
    """Whether an apply takes fields over from their owners."""
    warnings: list[str] = field(default_factory=list)
    gate: Gate | None = None
    """None for members of ``system:masters`` and for controllers of the cluster."""
