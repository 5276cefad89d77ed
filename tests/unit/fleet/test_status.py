"""What the status of a Cluster says in each state, and what of it is written."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from uniteddeployment.fleet import status, taints
from uniteddeployment.fleet.clusters import ClusterHealth, ClusterMetadata, ClusterObject, ClusterSpec, ClusterTaint
from uniteddeployment.fleet.health import (
    INTERNAL_ERROR,
    INVALID_CREDENTIALS,
    NO_READY_NODES,
    NOT_HEALTHY,
    NOT_READABLE,
    UNAUTHORIZED,
    UNREACHABLE,
    Phase,
    Record,
)
from uniteddeployment.fleet.status import Facts, Standing
from uniteddeployment.planning.observed import Taint
from uniteddeployment_api import names

NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
EARLIER, EARLIER_TEXT = NOW - timedelta(hours=1), "2026-01-01T11:00:30Z"
NOW_TEXT = "2026-01-01T12:00:30Z"


def cluster(**spec: Any) -> ClusterObject:
    return ClusterObject(ClusterMetadata("m", "ns", "uid", generation=7), ClusterSpec(**spec))


def conditions(standing: Standing, stored: dict[str, Any] | None = None, **spec: Any) -> dict[str, dict[str, Any]]:
    made = status.build(cluster(**spec), stored or {}, standing, NOW)
    return {found["type"]: found for found in made["conditions"]}


def verdict(standing: Standing, type_: str, **spec: Any) -> tuple[str, str, str]:
    found = conditions(standing, **spec)[type_]
    return found["status"], found["reason"], found["message"]


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (Standing(Record(Phase.RUNNING)), ("True", "ClusterReady", "the cluster answers")),
        (
            Standing(Record(Phase.RUNNING, failing_since=EARLIER), detail="no route"),
            (
                "True",
                "ClusterReady",
                f"has failed since {EARLIER_TEXT}, and is Offline after 25s: no route",
            ),
        ),
        (
            Standing(Record(Phase.RUNNING, failing_since=EARLIER, answering_since=NOW)),
            ("True", "ClusterReady", f"the cluster answers, but has failed repeatedly since {EARLIER_TEXT}"),
        ),
        (Standing(Record(Phase.TERMINATED)), ("False", "Terminating", "the Cluster is being deleted")),
        (Standing(Record(Phase.TERMINATED), leaving="two left"), ("False", "Terminating", "two left")),
        (Standing(Record(), detail="reading"), ("False", "Connecting", "reading")),
        (Standing(Record(reason=NOT_HEALTHY), detail="503"), ("False", NOT_HEALTHY, "503")),
        (Standing(Record(reason=NOT_HEALTHY), reason="IsHost", detail="why"), ("False", "IsHost", "why")),
    ],
)
def test_ready_says_whether_a_cluster_answers_and_why_not(standing: Standing, expected: tuple[str, str, str]) -> None:
    assert verdict(standing, "Ready") == expected


@pytest.mark.parametrize(
    ("reason", "ready"),
    [
        (UNREACHABLE, "Unknown"),
        (UNAUTHORIZED, "Unknown"),
        (INVALID_CREDENTIALS, "Unknown"),
        (INTERNAL_ERROR, "Unknown"),
        (NOT_HEALTHY, "False"),
        (NO_READY_NODES, "False"),
        (NOT_READABLE, "False"),
    ],
)
def test_ready_of_an_offline_cluster_is_unknown_if_its_state_cannot_be_seen(reason: str, ready: str) -> None:
    record = Record(Phase.OFFLINE, EARLIER, reason)
    assert verdict(Standing(record, detail="why"), "Ready") == (ready, reason, "why")
    recovering = Record(Phase.OFFLINE, EARLIER, reason, answering_since=NOW)
    assert verdict(Standing(recovering), "Ready")[:2] == (ready, "Recovering")


@pytest.mark.parametrize(
    ("outages", "wait", "more"),
    [
        (0, "1m", ""),
        (1, "1m", ""),
        (2, "2m", ". It was Offline 2 times in a row, which prolongs this"),
        (3, "4m", ". It was Offline 3 times in a row, which prolongs this"),
    ],
)
def test_a_recovering_cluster_says_since_when_it_answers_and_how_long_it_has_to(
    outages: int, wait: str, more: str
) -> None:
    record = Record(Phase.OFFLINE, EARLIER, UNREACHABLE, answering_since=EARLIER, outages=outages)
    assert verdict(Standing(record), "Ready")[2] == (
        f"has answered since {EARLIER_TEXT}, and is Running again after {wait} without a failure{more}"
    )


def test_messages_name_the_thresholds_of_the_cluster() -> None:
    failing = Standing(Record(Phase.RUNNING, failing_since=EARLIER), detail="x")
    assert "is Offline after 1h30m: x" in verdict(failing, "Ready", health=ClusterHealth(offline_after="90m"))[2]
    back = Standing(Record(Phase.OFFLINE, EARLIER, UNREACHABLE, answering_since=NOW))
    assert "Running again after 5s " in verdict(back, "Ready", health=ClusterHealth(recover_after="5s"))[2]


@pytest.mark.parametrize(
    ("record", "spec", "expected"),
    [
        (Record(Phase.RUNNING), {}, ("True", "Schedulable", "it takes new replicas, apart from its taints")),
        (Record(Phase.RUNNING), {"unschedulable": True}, ("False", "Cordoned", "spec.unschedulable is set")),
        (
            Record(Phase.RUNNING),
            {"suspended": True, "unschedulable": True},
            ("False", "Suspended", "spec.suspended is set"),
        ),
        (Record(Phase.TERMINATED), {"suspended": True}, ("False", "Terminating", "the Cluster is being deleted")),
        (Record(Phase.OFFLINE), {}, ("False", "Offline", "the phase is Offline")),
        (Record(), {}, ("False", "Pending", "the phase is Pending")),
    ],
)
def test_schedulable_names_what_keeps_replicas_away(
    record: Record, spec: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert verdict(Standing(record), "Schedulable", **spec) == expected


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    stored = {
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": EARLIER_TEXT, "reason": "Other"},
            {"type": "Schedulable", "status": "False", "lastTransitionTime": EARLIER_TEXT},
        ]
    }
    found = conditions(Standing(Record(Phase.RUNNING)), stored)
    assert found["Ready"] == {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 7,
        "lastTransitionTime": EARLIER_TEXT,
        "reason": "ClusterReady",
        "message": "the cluster answers",
    }
    assert found["Schedulable"]["lastTransitionTime"] == NOW_TEXT


def test_a_new_status_has_every_field_and_removes_what_it_does_not_need() -> None:
    made = status.build(cluster(), {}, Standing(Record(Phase.RUNNING, EARLIER)), NOW)
    assert [found["type"] for found in made.pop("conditions")] == ["Ready", "Schedulable"]
    assert made == {
        "phase": "Running",
        "phaseTransitionTime": EARLIER_TEXT,
        "taints": None,
        "health": None,
        "lastContactTime": None,
        "lastProbeTime": NOW_TEXT,
    }


def test_facts_about_a_cluster_stay_until_others_are_known() -> None:
    stored = {
        "kubernetesVersion": "v1.35.0",
        "nodes": 3,
        "phaseTransitionTime": EARLIER_TEXT,
        "lastContactTime": EARLIER_TEXT,
        "clusterUID": "before",
        "other": 1,
    }
    offline = Record(Phase.OFFLINE)
    made = status.build(cluster(), stored, Standing(offline), NOW)
    assert {name: made[name] for name in ("kubernetesVersion", "nodes", "phaseTransitionTime", "lastContactTime")} == {
        "kubernetesVersion": "v1.35.0",
        "nodes": 3,
        "phaseTransitionTime": EARLIER_TEXT,
        "lastContactTime": EARLIER_TEXT,
    }
    assert not {"other", "clusterUID"} & made.keys()
    unversioned = status.build(cluster(), stored, Standing(offline, facts=Facts("", 9)), NOW)
    assert (unversioned["kubernetesVersion"], unversioned["nodes"]) == ("v1.35.0", 3)
    other = Standing(offline, facts=Facts("v1.36.2", None), last_contact=NOW_TEXT, uid="now")
    made = status.build(cluster(), stored, other, NOW)
    assert (made["kubernetesVersion"], made["nodes"], made["clusterUID"]) == ("v1.36.2", None, "now")
    assert made["lastContactTime"] == NOW_TEXT


def test_the_last_contact_is_shown_unless_a_cluster_is_well() -> None:
    failing = Record(Phase.RUNNING, EARLIER, failing_since=EARLIER)
    for record, shown in ((failing, NOW_TEXT), (Record(Phase.RUNNING, EARLIER), None), (Record(), NOW_TEXT)):
        made = status.build(cluster(), {}, Standing(record, last_contact=NOW_TEXT), NOW)
        assert made["lastContactTime"] == shown


def test_health_and_taints_are_read_as_they_were_written() -> None:
    record = Record(Phase.OFFLINE, EARLIER, UNREACHABLE, EARLIER, NOW, 4)
    taint = Taint("k", "v", "NoExecute", EARLIER_TEXT)
    bare = Taint("bare", "", "NoSchedule", NOW_TEXT)
    made = status.build(cluster(), {}, Standing(record, (taint, bare)), NOW)
    assert made["health"] == {
        "reason": UNREACHABLE,
        "failingSince": EARLIER_TEXT,
        "answeringSince": NOW_TEXT,
        "outages": 4,
    }
    assert made["taints"] == [
        {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": EARLIER_TEXT},
        {"key": "bare", "effect": "NoSchedule", "timeAdded": NOW_TEXT},
    ]
    assert status.record(made) == record
    assert taints.stored(made) == (taint, bare)


def test_why_a_pending_cluster_is_not_connected_is_not_stored_as_its_health() -> None:
    assert status.build(cluster(), {}, Standing(Record(reason=UNREACHABLE)), NOW)["health"] is None


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"phase": "Lost", "phaseTransitionTime": "yesterday", "health": []},
        {"phaseTransitionTime": 3, "health": {"reason": None, "failingSince": 1, "answeringSince": "", "outages": -1}},
        {"health": {"outages": "2"}},
        {"health": {"outages": 0}},
    ],
)
def test_a_stored_health_that_cannot_be_read_counts_as_none(stored: dict[str, Any]) -> None:
    assert status.record(stored) == Record()


@pytest.mark.parametrize("stored", [{}, {"taints": None}, {"taints": {"key": "k"}}, {"taints": ["k", 1]}])
def test_stored_taints_that_cannot_be_read_count_as_none(stored: dict[str, Any]) -> None:
    assert taints.stored(stored) == ()
    assert taints.stored({"taints": ["k", {"key": None}]}) == (Taint("", "", "", ""),)


def test_times_alone_are_no_reason_to_write_a_status() -> None:
    stored = {"phase": "Running", "lastProbeTime": "a", "lastContactTime": "a", "more": 1}
    assert not status.differ({"phase": "Running", "lastProbeTime": "b", "lastContactTime": None}, stored)
    assert status.differ({"phase": "Offline"}, stored)
    assert status.differ({"phase": "Running", "health": {}}, stored)
    assert not status.differ({"health": None}, stored)


def test_a_patch_removes_entries_of_health_and_capacity_that_are_not_wanted() -> None:
    stored = {
        "health": {"reason": "r", "outages": 1},
        "capacity": {"cpu": {"total": "1", "free": "1"}, "memory": {"total": "2"}},
        "conditions": {"old": 1},
    }
    wanted = {"health": {"reason": "s"}, "capacity": {"cpu": {"total": "3"}}, "conditions": {"new": 1}, "phase": "x"}
    assert status.patch(wanted, stored) == {
        "health": {"reason": "s", "outages": None},
        "capacity": {"cpu": {"total": "3", "free": None}, "memory": None},
        "conditions": {"new": 1},
        "phase": "x",
    }
    assert status.patch({"health": None}, stored) == {"health": None}
    assert status.patch({"health": {"reason": "s"}}, {}) == {"health": {"reason": "s"}}


@pytest.mark.parametrize(
    ("record", "spec", "expected"),
    [
        (Record(Phase.RUNNING), {}, []),
        (Record(Phase.OFFLINE, reason=UNREACHABLE), {}, [(names.TAINT_UNREACHABLE, "NoSchedule")]),
        (Record(Phase.OFFLINE, reason=UNAUTHORIZED), {}, [(names.TAINT_UNREACHABLE, "NoSchedule")]),
        (Record(Phase.OFFLINE, reason=NOT_HEALTHY), {}, [(names.TAINT_NOT_READY, "NoSchedule")]),
        (Record(Phase.OFFLINE, reason=NO_READY_NODES), {}, [(names.TAINT_NOT_READY, "NoSchedule")]),
        (Record(Phase.OFFLINE, reason=NOT_READABLE), {}, [(names.TAINT_NOT_READY, "NoSchedule")]),
        (Record(Phase.RUNNING), {"unschedulable": True}, [(names.TAINT_CORDONED, "NoSchedule")]),
        (Record(Phase.RUNNING), {"suspended": True}, [(names.TAINT_CORDONED, "NoSchedule")]),
        (Record(Phase.TERMINATED), {}, [(names.TAINT_TERMINATING, "NoExecute")]),
    ],
)
def test_the_state_of_a_cluster_taints_it(record: Record, spec: dict[str, Any], expected: list[Any]) -> None:
    found = taints.in_effect(cluster(**spec), record, (), NOW)
    assert found == tuple(Taint(key, "", effect, NOW_TEXT) for key, effect in expected)


def test_an_abandoned_cluster_lets_no_move_begin() -> None:
    """It goes at once, and would leave the move half-way: what runs there is left alone."""
    body = cluster()
    marked = msgspec.structs.replace(body.metadata, annotations={names.ANNOTATION_ABANDON: names.ABANDON})
    found = taints.in_effect(msgspec.structs.replace(body, metadata=marked), Record(Phase.TERMINATED), (), NOW)
    assert found == (Taint(names.TAINT_TERMINATING, "", "NoSchedule", NOW_TEXT),)


def test_a_taint_keeps_the_time_when_it_was_first_seen_unless_it_changes() -> None:
    spec = {"taints": (ClusterTaint("k", "NoExecute", "new"), ClusterTaint("same", "NoSchedule", "v"))}
    known = (Taint("k", "old", "NoExecute", EARLIER_TEXT), Taint("same", "v", "NoSchedule", EARLIER_TEXT))
    assert taints.in_effect(cluster(**spec), Record(Phase.RUNNING), known, NOW) == (
        Taint("k", "new", "NoExecute", NOW_TEXT),
        Taint("same", "v", "NoSchedule", EARLIER_TEXT),
    )
