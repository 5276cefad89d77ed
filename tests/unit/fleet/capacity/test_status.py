"""The capacity in the status of a Cluster, in each state of what is counted."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from uniteddeployment.fleet.capacity import status
from uniteddeployment.fleet.capacity.reader import COUNTED, DISABLED
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.fleet.status import Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOW_TEXT, BEFORE = "2026-01-01T00:00:00Z", "2025-12-31T00:00:00Z"
PUBLISHED = {
    "nodes": 2,
    "readyNodes": 2,
    "schedulableNodes": 1,
    "capacity": {"allocatable": {"cpu": "8"}, "pendingPods": 0, "unschedulablePods": 0, "zones": []},
}
IS_COUNTED = Verdict("True", COUNTED, "counted")
CONDITION = {
    "type": "Capacity",
    "status": "True",
    "observedGeneration": 7,
    "lastTransitionTime": BEFORE,
    "reason": COUNTED,
    "message": "counted",
}
STORED = {**PUBLISHED, "capacity": {**PUBLISHED["capacity"], "observedTime": BEFORE}, "conditions": [CONDITION]}  # type: ignore[dict-item]


def added(state: Verdict | None, stored: Any = None, *, published: Any = PUBLISHED, **spec: Any) -> dict[str, Any]:
    """What is added to a status for a reader in a state."""
    wanted: dict[str, Any] = {"conditions": ["others"]}
    cluster = ClusterObject(ClusterMetadata("m", "ns", generation=7), ClusterSpec(**spec))
    reader: Any = SimpleNamespace(state=state, published=published)
    status.add(wanted, cluster, stored or {}, None if spec.pop("alone", False) else reader, NOW)
    return wanted


def test_new_figures_come_with_their_time_and_their_condition() -> None:
    wanted = added(IS_COUNTED)
    assert wanted.pop("conditions") == ["others", {**CONDITION, "lastTransitionTime": NOW_TEXT}]
    assert wanted == {**PUBLISHED, "capacity": {**PUBLISHED["capacity"], "observedTime": NOW_TEXT}}  # type: ignore[dict-item]


def test_figures_that_differ_little_and_the_time_of_a_condition_stay() -> None:
    """I3"""
    little = {**PUBLISHED, "capacity": {**PUBLISHED["capacity"], "allocatable": {"cpu": "8010m"}}}  # type: ignore[dict-item]
    assert added(IS_COUNTED, STORED, published=little) == {**STORED, "conditions": ["others", CONDITION]}
    much = {**PUBLISHED, "capacity": {**PUBLISHED["capacity"], "allocatable": {"cpu": "9"}}}  # type: ignore[dict-item]
    found = added(IS_COUNTED, STORED, published=much)
    assert found["capacity"]["allocatable"] == {"cpu": "9"}
    assert found["capacity"]["observedTime"] == NOW_TEXT
    assert found["conditions"][1]["lastTransitionTime"] == BEFORE


def test_everything_stays_until_it_is_known_whether_the_capacity_can_be_read() -> None:
    assert added(None) == {"conditions": ["others"]}
    assert added(None, STORED) == {**STORED, "conditions": ["others", CONDITION]}
    assert added(None, {"nodes": 3}) == {"conditions": ["others"]}


@pytest.mark.parametrize(
    ("verdict", "removed"),
    [(DISABLED, True), (Verdict("False", "Forbidden", "x"), True), (Verdict("Unknown", "NotRead", "x"), False)],
)
def test_figures_that_are_not_counted_any_more_are_removed_and_those_that_are_only_old_stay(
    verdict: Verdict, removed: bool
) -> None:
    found = added(verdict, STORED)
    assert found.pop("conditions")[1]["reason"] == verdict.reason
    assert found == (dict.fromkeys(("readyNodes", "schedulableNodes", "capacity")) if removed else {})


def test_a_cluster_that_is_not_connected_says_so_if_it_was_counted_before() -> None:
    cluster = ClusterObject(ClusterMetadata("m", "ns", generation=7), ClusterSpec())
    wanted: dict[str, Any] = {"conditions": []}
    status.add(wanted, cluster, {}, None, NOW)
    assert wanted == {"conditions": []}
    status.add(wanted, cluster, STORED, None, NOW)
    (condition,) = wanted["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "Unknown",
        "NotConnected",
        "the cluster is not connected",
    )
    off = ClusterObject(ClusterMetadata("m", "ns"), ClusterSpec(capacity="Disabled"))
    wanted = {"conditions": []}
    status.add(wanted, off, STORED, None, NOW)
    assert wanted["conditions"][0]["reason"] == DISABLED.reason
