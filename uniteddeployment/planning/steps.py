"""The steps of a plan: data that says what is to be written where, and why. Somebody else carries them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from uniteddeployment.planning.observed import RevisionData, WorkloadRef


@dataclass(frozen=True, slots=True)
class _WorkloadStep:
    """A step that concerns one workload."""

    ref: WorkloadRef

    @property
    def cluster(self) -> str:
        """The cluster that it is carried out in."""
        return self.ref.cluster

    @property
    def subset(self) -> str:
        """The subset that it belongs to."""
        return self.ref.subset

    @property
    def kind(self) -> str:
        """The kind of the object that it changes."""
        return self.ref.kind

    @property
    def name(self) -> str:
        """The name of the object that it changes."""
        return self.ref.name


@dataclass(frozen=True, slots=True)
class Apply(_WorkloadStep):
    """Create or correct a workload by server-side apply.

    A creation changes nothing that exists under that name: what is not ours must not be taken over (I13).
    """

    body: Mapping[str, Any]
    why: str
    create: bool
    drift: bool = False
    """Somebody else seems to have changed it: look what, say who, and write only if one of our fields is not as it
    should be."""
    keep: tuple[str, ...] = ()
    """Dotted paths that are left as the cluster has them."""
    adopt: bool = False
    """It takes over what is there under that name and is not ours yet: only if that fits, and only if it is there."""


@dataclass(frozen=True, slots=True)
class Scale(_WorkloadStep):
    """Change only the replicas of a workload, by its scale subresource."""

    replicas: int
    generation: int
    """The generation before this write; a scale raises it by one."""
    why: str


@dataclass(frozen=True, slots=True)
class Delete(_WorkloadStep):
    """Delete a workload with its pods, if it is still the object with this uid."""

    uid: str
    why: str
    orphan: bool = False
    """Leave its pods, for what takes its place."""
    successor: Mapping[str, Any] | None = None
    """What is to take its place: it is deleted only if the API server would accept that."""


@dataclass(frozen=True, slots=True)
class DeletePod(_WorkloadStep):
    """Delete one pod of a workload, so that its controller creates it again."""

    pod: str
    uid: str
    why: str

    @property
    def kind(self) -> str:
        return "Pod"

    @property
    def name(self) -> str:
        return self.pod


@dataclass(frozen=True, slots=True)
class Release(_WorkloadStep):
    """Take our marks off a workload and leave it: it is nobody's from then on."""

    uid: str
    why: str


@dataclass(frozen=True, slots=True)
class Reclaim(_WorkloadStep):
    """Write our uid into a workload of the UnitedDeployment that was lost with its host. Its spec is not touched."""

    uid: str
    why: str


MemberStep = Apply | Scale | Delete | DeletePod | Release | Reclaim


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Before anything is made in a member: what is made there must be found again when the application is deleted."""

    why: str = "clean up the members when the application is deleted"


@dataclass(frozen=True, slots=True)
class NoteOrphaning:
    """Write on the object that its workloads are to stay. Kubernetes removes its own mark within milliseconds."""

    why: str = "it is deleted with --cascade=orphan: its workloads are to stay"


@dataclass(frozen=True, slots=True)
class CheckOrphaning:
    """Read the revisions from the API server before anything is deleted: those in the cache may be older than the
    deletion, and would still have the owner that ``--cascade=orphan`` takes from them."""

    why: str = "make sure that its deletion does not ask for its workloads to stay"


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
    cause: str = ""
    """Why the template was changed, in the words of who did it."""


@dataclass(frozen=True, slots=True)
class RenumberRevision:
    """An old template is wanted again: its revision becomes the newest."""

    name: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class OwnRevision:
    """Give a revision the owner reference to its UnitedDeployment that it has lost."""

    name: str
    why: str = "a revision without owner is what --cascade=orphan leaves behind"


@dataclass(frozen=True, slots=True)
class NoteCause:
    """Somebody said afterwards why the template was changed."""

    name: str
    cause: str
    why: str = "keep with the revision why the template was changed"


@dataclass(frozen=True, slots=True)
class DeleteRevision:
    """Forget a template that nothing runs and history has no room for."""

    name: str
    why: str


HostStep = (
    AddFinalizer
    | NoteOrphaning
    | CheckOrphaning
    | RemoveFinalizer
    | CreateRevision
    | RenumberRevision
    | OwnRevision
    | NoteCause
    | DeleteRevision
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a person would want to know, for ``kubectl describe``."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
