"""Checks of single subsets: their names and nodes, and the workloads that they adopt."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.selectors import requirement_values_fit
from uniteddeployment_api.v1alpha1.meta import NodeSelectorRequirement, Toleration
from uniteddeployment_api.v1alpha1.template import DEPLOYMENT_TEMPLATE
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset
from uniteddeployment_api.validation.seen import SUBSETS, Check, Seen, broken


def _subset_names(seen: Seen) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, subset in enumerate(seen.subsets):
        if subset.name in names:
            yield broken("subset-names-unique", f"{SUBSETS}[{index}].name")
        names.add(subset.name)


def _unchanged(seen: Seen) -> Iterator[FieldError]:
    before = {} if seen.old is None else {subset.name: subset for subset in seen.old.spec.topology.subsets}
    for index, subset in enumerate(seen.subsets):
        old = before.get(subset.name)
        if old is None:
            continue
        if old.node_selector_term != subset.node_selector_term:
            yield broken("nodes-immutable", f"{SUBSETS}[{index}].nodeSelectorTerm")
        if old.tolerations != subset.tolerations:
            yield broken("nodes-immutable", f"{SUBSETS}[{index}].tolerations")


def _node_terms(seen: Seen) -> Iterator[FieldError]:
    for index, subset in enumerate(seen.subsets):
        term = subset.node_selector_term
        if term is None:
            continue
        path = f"{SUBSETS}[{index}].nodeSelectorTerm"
        for number, requirement in enumerate(term.match_expressions):
            if not requirement_values_fit(requirement.operator, requirement.values):
                yield broken("node-term-values", f"{path}.matchExpressions[{number}].values")
        for number, requirement in enumerate(term.match_fields):
            if not _is_node_name(requirement):
                yield broken("node-term-fields", f"{path}.matchFields[{number}]")


def _is_node_name(requirement: NodeSelectorRequirement) -> bool:
    return (
        requirement.key == "metadata.name" and requirement.operator in {"In", "NotIn"} and len(requirement.values) == 1
    )


def _tolerations(seen: Seen) -> Iterator[FieldError]:
    for index, subset in enumerate(seen.subsets):
        for number, toleration in enumerate(subset.tolerations):
            path = f"{SUBSETS}[{index}].tolerations[{number}]"
            if not _is_whole(toleration):
                yield broken("toleration-exists", path)
            if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
                yield broken("toleration-seconds", f"{path}.effect")


def _is_whole(toleration: Toleration) -> bool:
    return not toleration.value if toleration.operator == "Exists" else bool(toleration.key)


def _adopted(seen: Seen) -> Iterator[FieldError]:
    owners = {}
    if DEPLOYMENT_TEMPLATE not in seen.ud.spec.template.given:  # the names of Deployments end with a revision
        for index, subset in enumerate(seen.subsets):
            if subset.adopt is None:
                owners[_cluster(seen, subset), names.workload_name(seen.ud.metadata.name, subset.name)] = index
    for index, subset in enumerate(seen.subsets):
        if subset.adopt is None:
            continue
        other = owners.setdefault((_cluster(seen, subset), subset.adopt.name), index)
        if other != index:
            yield broken("adopt-unique", f"{SUBSETS}[{index}].adopt.name", seen.subsets[other].name)


def _cluster(seen: Seen, subset: Subset) -> tuple[str, str] | None:
    target = subset.target_cluster
    return (target.namespace or seen.ud.metadata.namespace, target.name) if target else None


SUBSET_CHECKS: Final[tuple[Check, ...]] = (_subset_names, _unchanged, _node_terms, _tolerations, _adopted)
