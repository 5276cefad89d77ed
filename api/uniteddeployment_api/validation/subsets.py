"""Checks of single subsets: names, nodes and adoption."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.selectors import requirement_values_fit
from uniteddeployment_api.v1alpha1.meta import NodeSelectorRequirement, Toleration
from uniteddeployment_api.v1alpha1.template import DEPLOYMENT_TEMPLATE
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset
from uniteddeployment_api.validation.candidate import SUBSETS, Candidate, Check, violation


def _subset_names(candidate: Candidate) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, subset in enumerate(candidate.subsets):
        if subset.name in names:
            yield violation("subset-names-unique", f"{SUBSETS}[{index}].name")
        names.add(subset.name)


def _unchanged(candidate: Candidate) -> Iterator[FieldError]:
    before = {} if candidate.old is None else {subset.name: subset for subset in candidate.old.spec.topology.subsets}
    for index, subset in enumerate(candidate.subsets):
        old = before.get(subset.name)
        if old is None:
            continue
        if old.node_selector_term != subset.node_selector_term:
            yield violation("nodes-immutable", f"{SUBSETS}[{index}].nodeSelectorTerm")
        if old.tolerations != subset.tolerations:
            yield violation("nodes-immutable", f"{SUBSETS}[{index}].tolerations")


def _node_terms(candidate: Candidate) -> Iterator[FieldError]:
    for index, subset in enumerate(candidate.subsets):
        term = subset.node_selector_term
        if term is None:
            continue
        path = f"{SUBSETS}[{index}].nodeSelectorTerm"
        for number, requirement in enumerate(term.match_expressions):
            if not requirement_values_fit(requirement.operator, requirement.values):
                yield violation("node-term-values", f"{path}.matchExpressions[{number}].values")
        for number, requirement in enumerate(term.match_fields):
            if not _is_node_name(requirement):
                yield violation("node-term-fields", f"{path}.matchFields[{number}]")


def _is_node_name(requirement: NodeSelectorRequirement) -> bool:
    return (
        requirement.key == "metadata.name" and requirement.operator in {"In", "NotIn"} and len(requirement.values) == 1
    )


def _tolerations(candidate: Candidate) -> Iterator[FieldError]:
    lists = [("spec.topology.tolerations", candidate.ud.spec.topology.tolerations)]
    for index, subset in enumerate(candidate.subsets):
        lists.append((f"{SUBSETS}[{index}].tolerations", subset.tolerations))
        lists.append((f"{SUBSETS}[{index}].clusterTolerations", subset.cluster_tolerations))
    for field, tolerations in lists:
        for number, toleration in enumerate(tolerations):
            path = f"{field}[{number}]"
            if not _is_whole(toleration):
                yield violation("toleration-exists", path)
            if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
                yield violation("toleration-seconds", f"{path}.effect")


def _is_whole(toleration: Toleration) -> bool:
    return not toleration.value if toleration.operator == "Exists" else bool(toleration.key)


def _adopted(candidate: Candidate) -> Iterator[FieldError]:
    owners = {}
    if DEPLOYMENT_TEMPLATE not in candidate.ud.spec.template.given:  # names of Deployments end with a revision
        for index, subset in enumerate(candidate.subsets):
            if subset.adopt is None:
                owners[_cluster(candidate, subset), names.workload_name(candidate.ud.metadata.name, subset.name)] = (
                    index
                )
    for index, subset in enumerate(candidate.subsets):
        if subset.adopt is None:
            continue
        other = owners.setdefault((_cluster(candidate, subset), subset.adopt.name), index)
        if other != index:
            yield violation("adopt-unique", f"{SUBSETS}[{index}].adopt.name", candidate.subsets[other].name)


def _cluster(candidate: Candidate, subset: Subset) -> tuple[str, str] | None:
    target = subset.target_cluster
    return (target.namespace or candidate.ud.metadata.namespace, target.name) if target else None


SUBSET_CHECKS: Final[tuple[Check, ...]] = (_subset_names, _unchanged, _node_terms, _tolerations, _adopted)
