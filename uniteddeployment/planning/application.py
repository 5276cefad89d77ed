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
    """Static description of a workload kind."""

    name: str
    """Our name for it. It is unique, while several kinds of objects may have the same ``kind``."""
    template: str
    """The field of ``spec.template`` that asks for it."""
    group: str
    version: str
    plural: str
    kind: str
    """The ``kind`` of its objects."""
    per_revision: bool = False
    """Whether a subset has one object for each revision. Otherwise one object manages revisions itself."""
    partition: tuple[str, ...] = ()
    """The path in ``spec.updateStrategy`` of the partition: how many pods stay at the old revision."""
    update_type: str = ""
    """``spec.updateStrategy.type`` if the template has none."""
    prioritised: bool = False
    """Whether ``spec.updateStrategy.priorityStrategy`` can decide which old pods are updated first."""
    suffix: str = ""
    """The end of the names of its objects, where their pods would have the same names as those of another kind."""
    provider: str = ""
    """The project that has to be installed in a cluster to serve it; empty if every cluster serves it."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


@dataclass(frozen=True)
class Application:
    """The spec of a UnitedDeployment at one generation. Everything derived from it is computed at most once."""

    namespace: str
    name: str
    uid: str
    generation: int
    model: UnitedDeployment
    workload_kind: Kind
    """The kind of its workloads."""
    rendered: dict[tuple[object, ...], Any] = field(default_factory=dict, compare=False, repr=False)
    """Memo for the kinds: (subset, revision, ...) -> rendered workload. It is dropped with the generation."""

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
        """The name of the kind of its workloads."""
        return self.workload_kind.name

    def workload_name(self, subset: str, revision: str) -> str:
        """The name of a subset's workload; if each revision has its own workload, of that of a revision."""
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
        """Subset -> the part of its patch that changes the pod template."""
        parts = {name: templates.template_patch(subset.patch) for name, subset in self.subsets.items() if subset.patch}
        return {name: patch for name, patch in parts.items() if patch}

    @cached_property
    def operations(self) -> Mapping[str, revisions.Operations]:
        """Subset -> its overrides, as operations of RFC 6902."""
        return {
            name: tuple(override.operation() for override in subset.overrides)
            for name, subset in self.subsets.items()
            if subset.overrides
        }

    @cached_property
    def overrides(self) -> Mapping[str, revisions.Operations]:
        """Subset -> those of its overrides that change the pod template."""
        parts = {name: revisions.template_operations(operations) for name, operations in self.operations.items()}
        return {name: operations for name, operations in parts.items() if operations}

    @cached_property
    def hash(self) -> str:
        """The revision of the application."""
        return templates.application_hash(self.pod_template, self.patches, self.overrides)

    @cached_property
    def template_hash(self) -> str:
        return templates.digest({"template": self.pod_template})

    @cached_property
    def patched(self) -> Mapping[str, str]:
        """Subset -> revision, for the subsets that change the pod template."""
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
        """The Cluster that a subset targets (``namespace/name``; ``""`` for the host)."""
        target = subset.target_cluster
        return f"{target.namespace or self.namespace}/{target.name}" if target else HOST


@dataclass(frozen=True, slots=True)
class Subject:
    """A UnitedDeployment as the host's API server shows it."""

    namespace: str
    name: str
    uid: str
    generation: int
    app: Application | None
    """None if the spec cannot be read; ``errors`` has the reasons then."""
    errors: tuple[FieldError, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    orphan: bool = False
    """Whether its deletion keeps its workloads."""
    keeps_workloads: bool = False
    """Whether its spec asks for that (spec.deletionPolicy)."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    status: StoredStatus = NO_STATUS
    """Its status, decoded."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """Its status as JSON, with everything in it. Only used to find out whether a new status differs."""

    @property
    def guarded(self) -> bool:
        """Whether it has our finalizer."""
        return names.FINALIZER in self.finalizers

    @property
    def noted_orphan(self) -> bool:
        """Whether the object itself says that its workloads stay, so that a restart does not lose it."""
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
