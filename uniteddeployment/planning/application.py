"""A UnitedDeployment as the planner reads it: parsed once per generation, with what can be worked out from it alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from uniteddeployment.planning import overrides, revision
from uniteddeployment.planning.kind import Kind
from uniteddeployment.planning.observed import RevisionData
from uniteddeployment.planning.reserved import ReservedOrdinals, reserved_ordinals
from uniteddeployment_api import Subset, UnitedDeployment, names

HOST = ""
"""The cluster name of the host itself."""


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
    def reserved_ordinals(self) -> ReservedOrdinals:
        """The ordinals that the pods of an Advanced StatefulSet leave out."""
        entries = self.workload_template["spec"].get("reserveOrdinals")
        return reserved_ordinals(entries if isinstance(entries, list) else ())

    @cached_property
    def subsets(self) -> Mapping[str, Subset]:
        return {subset.name: subset for subset in self.model.spec.topology.subsets}

    @cached_property
    def patches(self) -> Mapping[str, Mapping[str, Any]]:
        """Subset -> what its patch changes in the pod template."""
        found = {name: overrides.template_patch(subset.patch) for name, subset in self.subsets.items() if subset.patch}
        return {name: patch for name, patch in found.items() if patch}

    @cached_property
    def operations(self) -> Mapping[str, overrides.Operations]:
        """Subset -> its overrides, as RFC 6902 writes them."""
        return {
            name: tuple(override.operation() for override in subset.overrides)
            for name, subset in self.subsets.items()
            if subset.overrides
        }

    @cached_property
    def overrides(self) -> Mapping[str, overrides.Operations]:
        """Subset -> what its overrides change in the pod template."""
        found = {name: overrides.template_operations(operations) for name, operations in self.operations.items()}
        return {name: operations for name, operations in found.items() if operations}

    @cached_property
    def hash(self) -> str:
        """Revision of the application."""
        return revision.application_hash(self.pod_template, self.patches, self.overrides)

    @cached_property
    def template_hash(self) -> str:
        return revision.digest({"template": self.pod_template})

    @cached_property
    def patched(self) -> Mapping[str, str]:
        """Subset -> revision, for the subsets that change something in the pod template."""
        return {
            name: revision.subset_hash(self.pod_template, self.patches.get(name), self.overrides.get(name, ()))
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
