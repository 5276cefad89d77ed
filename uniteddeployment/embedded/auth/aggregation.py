"""Aggregated ClusterRoles: the rules that a role takes over from the roles that its selectors match."""

from collections.abc import Iterable
from typing import Any

from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj


def aggregated_rules(role: Obj, roles: Iterable[Obj]) -> list[Any]:
    """The rules of an aggregated role: each once, ordered by selector and by the name of the role they come from."""
    rules: list[Any] = []
    name = role["metadata"]["name"]
    others = sorted(
        (other for other in roles if other["metadata"]["name"] != name), key=lambda other: other["metadata"]["name"]
    )
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for other in others:
            if matches_labels(selector, other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
