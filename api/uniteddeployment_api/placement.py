"""Which nodes the pods of a subset may run on: its node selector term and tolerations, put into a pod template."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment_api.v1alpha1.uniteddeployment import Subset


def placed(template: Mapping[str, Any], subset: Subset) -> dict[str, Any]:
    """A copy of the pod template whose pods run on the subset's nodes; the template's own wishes hold as well."""
    spec = dict(_object(template.get("spec")))
    if subset.tolerations:
        own = [toleration.model_dump(by_alias=True, exclude_none=True) for toleration in subset.tolerations]
        spec["tolerations"] = [*_list(spec.get("tolerations")), *own]
    if subset.node_selector_term is not None:
        term = subset.node_selector_term.model_dump(by_alias=True, exclude_none=True)
        spec["affinity"] = _with_node_term(_object(spec.get("affinity")), term)
    return {**template, "spec": spec}


def _with_node_term(affinity: Mapping[str, Any], term: Mapping[str, Any]) -> dict[str, Any]:
    """Required node affinity with ``term`` added to each of its terms (a node has to satisfy both)."""
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
    terms = [one for one in terms if one]
    if terms:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return {**affinity, "nodeAffinity": node} if node else dict(affinity)


def _object(value: Any) -> Mapping[str, Any]:
    """Templates are free-form: what is no object here is one that an API server will refuse, and not our failure."""
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
