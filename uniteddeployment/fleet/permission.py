"""Decides whether the applications of a namespace of the host may use a cluster (I15). Pure."""

from collections.abc import Mapping

from pydantic import ValidationError

from uniteddeployment.fleet.clusters import AllowedNamespaces, ClusterObject
from uniteddeployment_api.selectors import requirement_values_fit, selector_matches
from uniteddeployment_api.v1alpha1.meta import LabelSelector

_FIELD = "spec.allowedNamespaces"


def refusal(cluster: ClusterObject, namespace: str, labels: Mapping[str, str] | None) -> str:
    """Return why the applications of a namespace may not use a cluster, and who can allow it; empty if they may.

    ``labels`` are those of the namespace on the host; None if they are not known, which matches no selector.
    """
    allowed = cluster.spec.allowed_namespaces
    if namespace == cluster.metadata.namespace or allowed.source == "All":
        return ""
    return (
        _not_selected(cluster, allowed, namespace, labels)
        if allowed.source == "Selector"
        else _closed(cluster, namespace)
    )


def needs_labels(cluster: ClusterObject, namespace: str) -> bool:
    """Return whether the decision about a namespace depends on its labels."""
    return cluster.spec.allowed_namespaces.source == "Selector" and namespace != cluster.metadata.namespace


def _closed(cluster: ClusterObject, namespace: str) -> str:
    return (
        f"applications of namespace {namespace} may not use this Cluster, which allows only its own namespace "
        f"({_FIELD}). Whoever may write the Cluster {cluster.key} can allow it there"
    )


def _not_selected(
    cluster: ClusterObject, allowed: AllowedNamespaces, namespace: str, labels: Mapping[str, str] | None
) -> str:
    if labels is None:
        return (
            f"the labels of namespace {namespace} on the host are not known, and the Cluster selects by them ({_FIELD})"
        )
    selector = _selector(allowed)
    if selector is None:
        return f"{_FIELD}.selector of the Cluster {cluster.key} is not a valid label selector: correct it there"
    if selector_matches(selector, labels):
        return ""
    return (
        f"applications of namespace {namespace} may not use this Cluster: the labels of the namespace on the host do "
        f"not match {_FIELD}.selector. Whoever may write the Cluster {cluster.key} or the labels of the namespace can "
        "allow it"
    )


def _selector(allowed: AllowedNamespaces) -> LabelSelector | None:
    """Return the selector; None if it is missing or not valid, so that it allows nothing."""
    try:
        selector = LabelSelector.model_validate(allowed.selector)
    except ValidationError:
        return None
    valid = all(requirement_values_fit(part.operator, part.values) for part in selector.match_expressions)
    return selector if valid else None
