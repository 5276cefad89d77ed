"""Words for the steps of a plan."""

from typing import Final

from uniteddeployment.planning.steps import (
    AddFinalizer,
    Apply,
    CheckOrphaning,
    CreateRevision,
    Delete,
    DeletePod,
    DeleteRevision,
    HostStep,
    MemberStep,
    NoteCause,
    NoteOrphaning,
    OwnRevision,
    Reclaim,
    Release,
    RemoveFinalizer,
    RenumberRevision,
    Scale,
)

_VERBS: Final[dict[type, str]] = {
    Apply: "update",
    Scale: "scale",
    Delete: "delete",
    DeletePod: "delete",
    Release: "release",
    Reclaim: "reclaim",
    AddFinalizer: "add finalizer",
    NoteOrphaning: "note orphaning",
    CheckOrphaning: "check orphaning",
    RemoveFinalizer: "remove finalizer",
    CreateRevision: "create revision",
    RenumberRevision: "renumber revision",
    OwnRevision: "own revision",
    NoteCause: "note change cause",
    DeleteRevision: "delete revision",
}


def verb(step: MemberStep | HostStep) -> str:
    """The action of a step, in one or two words. They are part of the JSON output and must not change."""
    if isinstance(step, Apply):
        return "adopt" if step.adopt else "create" if step.create else "update"
    return _VERBS[type(step)]


def title(step: MemberStep | HostStep) -> str:
    """The action of a step and its object."""
    target = [part for part in (getattr(step, "kind", ""), getattr(step, "name", "")) if part]
    return " ".join([verb(step), *target])
