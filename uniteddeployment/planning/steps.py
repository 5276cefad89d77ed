"""The steps of a plan: data that says what is to be written where, and why. Somebody else carries them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from uniteddeployment.planning.observed import RevisionData


@dataclass(frozen=True, slots=True)
class Apply:
    """Create or correct a workload by server-side apply.

    A creation does not force: what exists under that name and is not ours must not be taken over (I13).
    """

    cluster: str
    subset: str
    kind: str
    name: str
    body: Mapping[str, Any]
    why: str
    create: bool


@dataclass(frozen=True, slots=True)
class Scale:
    """Change only the replicas of a workload, by its scale subresource."""

    cluster: str
    subset: str
    kind: str
    name: str
    replicas: int
    generation: int
    """The generation before this write; a scale raises it by one."""
    why: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a workload with its pods, if it is still the object with this uid."""

    cluster: str
    subset: str
    kind: str
    name: str
    uid: str
    why: str


MemberStep = Apply | Scale | Delete


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Before anything is made in a member: what is made there must be found again when the application is deleted."""

    why: str = "clean up the members when the application is deleted"


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let the UnitedDeployment go."""

    why: str = "nothing of it is left in any member"


@dataclass(frozen=True, slots=True)
class CreateRevision:
    """Keep a pod template as a ControllerRevision on the host."""

    name: str
    number: int
    hash: str
    template_hash: str
    patched: Mapping[str, str]
    data: RevisionData
    why: str


@dataclass(frozen=True, slots=True)
class RenumberRevision:
    """An old template is wanted again: its revision becomes the newest."""

    name: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class DeleteRevision:
    """Forget a template that nothing runs and history has no room for."""

    name: str
    why: str


HostStep = AddFinalizer | RemoveFinalizer | CreateRevision | RenumberRevision | DeleteRevision


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a person would want to know, for ``kubectl describe``."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
