"""I15: which namespaces of the host may use a cluster."""

from typing import Any

import msgspec
import pytest

from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.permission import needs_labels, refusal

GOLD = {"matchLabels": {"tier": "gold"}}


def cluster(**allowed: Any) -> ClusterObject:
    spec = {"allowedNamespaces": allowed} if allowed else {}
    return msgspec.convert({"metadata": {"name": "member-1", "namespace": "fleet"}, "spec": spec}, ClusterObject)


@pytest.mark.parametrize(
    ("allowed", "namespace", "labels"),
    [
        ({}, "fleet", {}),
        ({"from": "Same"}, "fleet", None),
        ({"from": "All"}, "shop", None),
        ({"from": "Selector", "selector": GOLD}, "shop", {"tier": "gold", "team": "a"}),
        ({"from": "Selector", "selector": GOLD}, "fleet", {}),
        ({"from": "Selector", "selector": {}}, "shop", {}),
        (
            {"from": "Selector", "selector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}},
            "shop",
            {"tier": ""},
        ),
    ],
)
def test_a_namespace_that_the_cluster_allows_may_use_it(
    allowed: dict[str, Any], namespace: str, labels: dict[str, str] | None
) -> None:
    assert refusal(cluster(**allowed), namespace, labels) == ""


@pytest.mark.parametrize(
    ("allowed", "labels"),
    [
        ({}, {"tier": "gold"}),
        ({"from": "Same"}, {}),
        ({"from": "Selector", "selector": GOLD}, {"tier": "silver"}),
        ({"from": "Selector", "selector": GOLD}, {}),
        ({"from": "Selector", "selector": GOLD}, None),
        ({"from": "Selector"}, {"tier": "gold"}),
        ({"from": "Selector", "selector": {"matchExpressions": [{"key": "a", "operator": "NotIn"}]}}, {}),
        ({"from": "Selector", "selector": {"matchExpressions": [{"key": "a", "operator": "Likes"}]}}, {}),
        ({"from": "Selector", "selector": {"unknown": 1}}, {}),
        ({"from": "Other"}, {}),
    ],
)
def test_any_other_namespace_is_refused_with_the_field_that_can_allow_it(
    allowed: dict[str, Any], labels: dict[str, str] | None
) -> None:
    """What is unknown or invalid allows nothing."""
    message = refusal(cluster(**allowed), "shop", labels)
    assert "spec.allowedNamespaces" in message
    assert "fleet/member-1" in message or labels is None


def test_labels_are_needed_only_by_a_selector_for_another_namespace() -> None:
    selecting = cluster(**{"from": "Selector", "selector": GOLD})
    assert needs_labels(selecting, "shop")
    assert not needs_labels(selecting, "fleet")
    assert not needs_labels(cluster(), "shop")


def test_a_change_of_permission_needs_no_new_connection() -> None:
    """A reconnect would discard the caches of the cluster."""
    before = cluster().spec
    assert cluster(**{"from": "All"}).spec.connects_like(before)
    assert not msgspec.structs.replace(before, server="https://other").connects_like(before)
