"""The UnitedDeployment that is planned for: its live metadata and status, and its spec if that could be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from uniteddeployment.planning.application import Application
from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError


@dataclass(frozen=True, slots=True)
class Subject:
    """What the host's API server shows of one UnitedDeployment."""

    namespace: str
    name: str
    uid: str
    generation: int
    app: Application | None
    """None when the spec cannot be read; ``errors`` then says why."""
    errors: tuple[FieldError, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    orphan: bool = False
    """Whether its deletion asks for its workloads to stay."""
    keeps_workloads: bool = False
    """Whether its spec asks for the same (spec.deletionPolicy)."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)
    """As it is stored."""

    @property
    def guarded(self) -> bool:
        """Whether our finalizer is on it."""
        return names.FINALIZER in self.finalizers

    @property
    def noted_orphan(self) -> bool:
        """Whether the object itself says that its workloads are to stay, now and after a restart."""
        return self.keeps_workloads or names.ANNOTATION_ORPHAN in self.annotations

    @property
    def ignored(self) -> tuple[str, ...]:
        """Dotted paths of workloads that are left to others."""
        listed = self.annotations.get(names.ANNOTATION_IGNORE_DIFFERENCES, "")
        return tuple(path.strip() for path in listed.split(",") if path.strip())

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def leftover_statuses(self) -> Sequence[Mapping[str, Any]]:
        """What status has of workloads that are left over from an earlier topology."""
        return self.status.get("leftovers") or ()

    def subset_statuses(self) -> Mapping[str, Mapping[str, Any]]:
        entries: Sequence[Mapping[str, Any]] = self.status.get("subsetStatuses") or ()
        return {entry["name"]: entry for entry in entries}
