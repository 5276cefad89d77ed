"""The steps of a plan: data that describes each write and its reason. The controller carries them out."""

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

    A creation changes nothing that exists under that name: workloads of others must not be taken over (I13).
    """

    body: Mapping[str, Any]
    why: str
    create: bool
    drift: bool = False
    """Somebody else seems to have changed it: find out what and who, and write only if one of our fields differs."""
    keep: tuple[str, ...] = ()
    """Dotted paths that are left as the cluster has them."""
    adopt: bool = False
    """Take over an existing workload of that name that is not ours yet, if it is what the subset wants."""


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
    """Leave its pods alone, for its successor."""
    successor: Mapping[str, Any] | None = None
    """The body of the workload that takes its place. It is deleted only if the API server would accept that one."""


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
    """Remove our labels and annotations from a workload, and leave it: it belongs to nobody from then on."""

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
    """Add our finalizer before anything is created in a member, so that a deletion finds what was created."""

    why: str = "clean up the members when the application is deleted"


@dataclass(frozen=True, slots=True)
class NoteOrphaning:
    """Note on the object that its workloads stay. Kubernetes removes its own mark within milliseconds."""

    why: str = "it is deleted with --cascade=orphan: its workloads stay"


@dataclass(frozen=True, slots=True)
class CheckOrphaning:
    """Read the revisions from the API server before anything is deleted.

    Those in the cache may be older than the deletion, and still have the owner that ``--cascade=orphan`` removes.
    """

    why: str = "find out whether its workloads stay"


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove our finalizer, so that the UnitedDeployment can be removed."""

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
    """Why the template was changed, in the user's words."""


@dataclass(frozen=True, slots=True)
class RenumberRevision:
    """Make the revision of an old template the newest one, because it is used again."""

    name: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class OwnRevision:
    """Restore the owner reference of a revision to its UnitedDeployment."""

    name: str
    why: str = "a revision without owner is what --cascade=orphan leaves behind"


@dataclass(frozen=True, slots=True)
class NoteCause:
    """Note in a revision why the template was changed, as a user has written later."""

    name: str
    cause: str
    why: str = "keep with the revision why the template was changed"


@dataclass(frozen=True, slots=True)
class DeleteRevision:
    """Delete a template that nothing runs and that exceeds the history limit."""

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
    """An Event about the UnitedDeployment, for ``kubectl describe``."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
