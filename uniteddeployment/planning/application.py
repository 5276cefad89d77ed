"""A UnitedDeployment as the planner reads it: its spec, parsed once per generation, its metadata and its status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from uniteddeployment.planning import templates
from uniteddeployment.planning.observed import HOST, RevisionData
from uniteddeployment.planning.ownership import Owner
from uniteddeployment.planning.stored import NO_STATUS, StoredStatus
from uniteddeployment_api import Subset, UnitedDeployment, names, revisions
from uniteddeployment_api.errors import FieldError


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of workload."""

    name: str
    """What we call it. Unique, which the ``kind`` of its objects need not be."""
    template: str
    """The field of ``spec.template`` that asks for it."""
    group: str
    version: str
    plural: str
    kind: str
    """The ``kind`` of its objects."""
    per_revision: bool = False
    """Whether a subset has one object for each revision; otherwise it has one that knows revisions itself."""
    partition: tuple[str, ...] = ()
    """Where in ``spec.updateStrategy`` its partition is: how many pods stay at the old revision."""
    update_type: str = ""
    """``spec.updateStrategy.type`` when the template gives none."""
    prioritised: bool = False
    """Whether ``spec.updateStrategy.priorityStrategy`` says which of the old pods are updated first."""
    suffix: str = ""
    """Ends the names of its objects, where they would meet those of another kind in the names of their pods."""
    provider: str = ""
    """What has to be installed in a cluster for it to be served there; empty for what every cluster serves."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


@dataclass(frozen=True)
class Application:
    """One UnitedDeployment at one generation. Everything derived is worked out at most once."""

    namespace: str
    name: str
    uid: str
    generation: int
    model: UnitedDeployment
    workload_kind: Kind
    """What is declared of the kind of its workloads."""
    rendered: dict[tuple[object, ...], Any] = field(default_factory=dict, compare=False, repr=False)
    """Memo of ``workload.render``: (subset, revision, …) -> body; lives and dies with the generation."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def owner(self) -> Owner:
        """The application, as its workloads name it."""
        former = self.model.spec.topology.adopt
        return Owner(self.key, self.uid, former.owner_uid if former else "")

    @cached_property
    def label(self) -> str:
        """The value of the label that every object of the application carries."""
        return names.label_value(self.name)

    @property
    def kind(self) -> str:
        """What we call the kind of its workloads."""
        return self.workload_kind.name

    def workload_name(self, subset: str, revision: str) -> str:
        """The name of a subset's workload, or of the one of a revision where there is one for each."""
        kind = self.workload_kind
        if kind.per_revision:
            return names.workload_name(self.name, subset, revision)
        return names.workload_name(self.name, f"{subset}-{kind.suffix}" if kind.suffix else subset)

    @cached_property
    def workload_template(self) -> Mapping[str, Any]:
        """``{metadata, spec}`` of the workload as the user wrote it."""
        chosen = self.model.spec.template.given[self.workload_kind.template]
        return chosen.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)

    @cached_property
    def pod_template(self) -> Mapping[str, Any]:
        template: Mapping[str, Any] = self.workload_template["spec"]["template"]
        return template

    @cached_property
    def subsets(self) -> Mapping[str, Subset]:
        return {subset.name: subset for subset in self.model.spec.topology.subsets}

    @cached_property
    def patches(self) -> Mapping[str, Mapping[str, Any]]:
        """Subset -> what its patch changes in the pod template."""
        found = {name: templates.template_patch(subset.patch) for name, subset in self.subsets.items() if subset.patch}
        return {name: patch for name, patch in found.items() if patch}

    @cached_property
    def operations(self) -> Mapping[str, revisions.Operations]:
        """Subset -> its overrides, as RFC 6902 writes them."""
        return {
            name: tuple(override.operation() for override in subset.overrides)
            for name, subset in self.subsets.items()
            if subset.overrides
        }

    @cached_property
    def overrides(self) -> Mapping[str, revisions.Operations]:
        """Subset -> what its overrides change in the pod template."""
        found = {name: revisions.template_operations(operations) for name, operations in self.operations.items()}
        return {name: operations for name, operations in found.items() if operations}

    @cached_property
    def hash(self) -> str:
        """Revision of the application."""
        return templates.application_hash(self.pod_template, self.patches, self.overrides)

    @cached_property
    def template_hash(self) -> str:
        return templates.digest({"template": self.pod_template})

    @cached_property
    def patched(self) -> Mapping[str, str]:
        """Subset -> revision, for the subsets that change something in the pod template."""
        return {
            name: templates.subset_hash(self.pod_template, self.patches.get(name), self.overrides.get(name, ()))
            for name in self.subsets
            if name in self.patches or name in self.overrides
        }

    @cached_property
    def revision_name(self) -> str:
        return names.revision_name(self.name, self.hash)

    @property
    def revision_data(self) -> RevisionData:
        return RevisionData(self.pod_template, self.patches, self.overrides, frozenset(self.subsets))

    def revision_of(self, subset: str) -> str:
        return self.patched.get(subset, self.template_hash)

    def cluster_of(self, subset: Subset) -> str:
        """``namespace/name`` of the Cluster that a subset targets; the host itself is ``""``."""
        target = subset.target_cluster
        return f"{target.namespace or self.namespace}/{target.name}" if target else HOST


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
    status: StoredStatus = NO_STATUS
    """What its status says."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The same as JSON, whatever is in it: only to find out whether a status differs from it."""

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

    @property
    def owner(self) -> Owner:
        """The UnitedDeployment, as its workloads name it. While its spec cannot be read, only its own uid counts."""
        return self.app.owner if self.app is not None else Owner(self.key, self.uid)
