"""Placement of pods: the node selector term and tolerations of a subset, added to the pod template."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment_api.v1alpha1.uniteddeployment import Subset


def placed(template: Mapping[str, Any], subset: Subset) -> dict[str, Any]:
    """Return a copy of the pod template with the placement of the subset added to its own tolerations and affinity."""
    spec = dict(_object(template.get("spec")))
    if subset.tolerations:
        own = [toleration.model_dump(by_alias=True, exclude_none=True) for toleration in subset.tolerations]
        spec["tolerations"] = [*_list(spec.get("tolerations")), *own]
    if subset.node_selector_term is not None:
        term = subset.node_selector_term.model_dump(by_alias=True, exclude_none=True)
        spec["affinity"] = _with_node_term(_object(spec.get("affinity")), term)
    return {**template, "spec": spec}


def _with_node_term(affinity: Mapping[str, Any], term: Mapping[str, Any]) -> dict[str, Any]:
    """Add ``term`` to each term of the required node affinity, so that a node must satisfy both."""
    node = dict(_object(affinity.get("nodeAffinity")))
    required = _object(node.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [
        {
            field: [*_list(_object(old).get(field)), *_list(term.get(field))]
            for field in ("matchExpressions", "matchFields")
            if _object(old).get(field) or term.get(field)
        }
        for old in _list(required.get("nodeSelectorTerms")) or [{}]
    ]
    # A term without any requirement matches no node at all; an empty subset term must not make pods unschedulable.
    terms = [combined for combined in terms if combined]
    if terms:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return {**affinity, "nodeAffinity": node} if node else dict(affinity)


def _object(value: Any) -> Mapping[str, Any]:
    """Treat anything but an object as empty. Templates have an open schema; the API server rejects invalid ones."""
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
