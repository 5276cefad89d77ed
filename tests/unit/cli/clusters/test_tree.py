"""Members as a table and as a tree: what is shown of each state."""

from datetime import UTC, datetime
from typing import Any

import pytest

from uniteddeployment.cli.clusters import tree
from uniteddeployment.cli.clusters.bars import amount, bars
from uniteddeployment.cli.clusters.objects import Presence, presences
from uniteddeployment.cli.clusters.table import View, contact
from uniteddeployment.cli.output.terminal import Glyphs

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
HOUR_AGO, MINUTE_AGO = "2026-01-01T00:00:00Z", "2026-01-01T00:59:00Z"


def cluster(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    metadata = {"name": "m", "namespace": "ns", "creationTimestamp": HOUR_AGO, "labels": {"region": "eu"}}
    return {"metadata": metadata, "spec": spec or {}, "status": status}


def text(obj: dict[str, Any], *found: Presence) -> str:
    return "\n".join(line.plain for line in tree.lines(obj, found, Glyphs(), NOW))


RUNNING = cluster(
    phase="Running",
    phaseTransitionTime=HOUR_AGO,
    kubernetesVersion="v1.36.1",
    nodes=3,
    readyNodes=2,
    schedulableNodes=1,
    taints=[{"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": MINUTE_AGO}],
    conditions=[{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "the cluster answers"}],
    capacity={
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "example.com/gpu": "4"},
        "requested": {"cpu": "2500m", "memory": "8Gi", "pods": "11"},
        "zones": [{"name": "z1", "nodes": 1, "allocatable": {"cpu": "8"}, "requested": {"cpu": "8"}}],
    },
)


def test_a_running_member_is_shown_with_everything_that_is_known() -> None:
    shown = text(RUNNING, Presence("ns/web", "m", replicas=4, observed=4, ready=3, desired=2), Presence("ns/gone", "m"))
    for part in (
        "✔ m  Running for 60m",
        "last contact  now",
        "nodes         3 (2 ready, 1 schedulable)",
        "cpu              ██████░░░░░░░░░░░░░░  31%  2.5 of 8 requested",
        "memory           █████░░░░░░░░░░░░░░░  25%  8.0Gi of 32.0Gi requested",
        "example.com/gpu  ░░░░░░░░░░░░░░░░░░░░   0%  0 of 4 requested",
        "z1: 1 node",
        "100%  8 of 8 requested",
        "a=b:NoExecute  for 60s",
        "Ready=True ClusterReady",
        "ns/web, subset m: 3 of 4 pods ready, moving to 2",
        "labels        region=eu",
    ):
        assert part in shown
    assert "ns/gone" not in shown, "it has no pods there"


def test_a_lost_member_shows_the_age_of_what_is_known_and_the_way_out() -> None:
    lost = cluster(
        phase="Offline",
        lastContactTime=MINUTE_AGO,
        clusterUID="u",
        conditions=[
            {"type": "Ready", "status": "Unknown", "reason": "Unreachable", "message": "no answer within 5 s"},
            {"type": "CredentialsValid", "status": "False", "reason": "TokenExpired", "message": "the token expired"},
        ],
    )
    shown = text(lost, Presence("ns/web", "m", replicas=0, possibly_running=2, observed_time=MINUTE_AGO))
    assert "no answer within 5 s; the token expired" in shown
    assert "last contact  60s ago" in shown
    assert "2 possibly running (60s ago)" in shown
    row = "\n".join(line.plain for line in View(Glyphs(), NOW, 200).lines([lost]))
    assert "✖ m   Offline" in row
    assert "no answer within 5 s" in row


@pytest.mark.parametrize("reason", ["NotHealthy", "NoReadyNodes", "NotReadable", "Recovering"])
def test_a_member_that_answers_has_contact_now_although_it_is_not_well(reason: str) -> None:
    """The time of its last good answer would contradict the message that it answers."""
    ready = {"type": "Ready", "status": "Unknown", "reason": reason, "message": "it answers, but not well"}
    assert contact(cluster(phase="Offline", lastContactTime=MINUTE_AGO, conditions=[ready]), NOW) == "now"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "applications of its namespace"),
        ({"allowedNamespaces": {"from": "All"}}, "applications of all namespaces"),
        ({"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"a": "b"}}}}, "match a=b"),
    ],
)
def test_who_may_use_a_member_is_shown(spec: dict[str, Any], said: str) -> None:
    assert said in text(cluster(spec))


def test_a_member_that_no_controller_has_seen_is_pending() -> None:
    assert contact(cluster(), NOW) == "never"
    assert "no controller has reported its state yet" in text(cluster())


def test_only_what_an_application_has_in_the_cluster_is_counted() -> None:
    status = {
        "subsetStatuses": [
            {"name": "a", "cluster": "ns/m", "replicas": 2, "observedReplicas": 3},
            {"name": "b", "cluster": "ns/other", "replicas": 2},
        ],
        "leftovers": [{"subset": "c", "cluster": "ns/m", "observedReplicas": 1}],
    }
    found = list(presences({"metadata": {"name": "web", "namespace": "ns"}, "status": status}, "ns/m"))
    assert [(entry.subset, entry.pods) for entry in found] == [("a", 3), ("c", 1)]
    assert not list(presences({"metadata": {"name": "web", "namespace": "ns"}}, "ns/m"))


def test_a_quantity_that_cannot_be_read_counts_as_nothing() -> None:
    assert amount("memory", "1.5Ki") == 1536
    assert amount("memory", "-1") == amount("cpu", None) == 0


def test_a_member_without_allocatable_resources_has_empty_bars() -> None:
    assert "  0%" in bars({"allocatable": {"cpu": "0"}, "requested": {}}, Glyphs())[0]
