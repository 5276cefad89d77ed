"""``ud adopt``: which workloads can be taken over, and the UnitedDeployment that takes them over."""

import copy
from typing import Any

import pytest

from uniteddeployment.cli.adopt import document
from uniteddeployment.cli.adopt.document import Candidate
from uniteddeployment.cli.adopt.existing import Request, written
from uniteddeployment.cli.errors import CommandError
from uniteddeployment_api import names

FLEET = {"namespace": "fleet", "name": "member-1"}


def stateful_set(**changes: Any) -> dict[str, Any]:
    """As an API server shows it."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "creationTimestamp": None},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    found = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u",
            "generation": 3,
            "labels": {"team": "shop", names.LABEL_MANAGED_BY: "Helm"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "kept"},
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "serviceName": "web",
            "revisionHistoryLimit": 10,
            "template": {
                "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
                "spec": {"containers": [{"name": "app", "image": "app:1"}], "terminationGracePeriodSeconds": 30},
            },
            "volumeClaimTemplates": [claim],
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        },
        "status": {
            "observedGeneration": 3,
            "replicas": 3,
            "updatedReplicas": 3,
            "currentRevision": "web-1",
            "updateRevision": "web-1",
        },
    }
    for path, value in changes.items():
        *steps, last = path.split("__")
        holder: dict[str, Any] = found
        for step in steps:
            holder = holder.setdefault(step, {})
        holder[last] = value
    return found


def test_the_spec_of_the_workload_is_copied_as_it_is() -> None:
    live = stateful_set()
    before = copy.deepcopy(live)
    made = written(Request("sts/web", "shop"), [Candidate(live, "member-1", FLEET)])
    assert live == before
    assert made["metadata"] == {"name": "shop", "namespace": "shop"}
    spec = made["spec"]
    assert spec["replicas"] == 3
    assert spec["selector"] == {"matchLabels": {"app": "web"}}
    assert spec["topology"]["subsets"] == [
        {"name": "member-1", "targetCluster": {"namespace": "fleet", "name": "member-1"}, "adopt": {"name": "web"}}
    ]
    assert "updateStrategy" not in spec
    template = spec["template"]["statefulSetTemplate"]
    assert template["metadata"] == {"labels": {"team": "shop"}, "annotations": {"note": "kept"}}
    workload = template["spec"]
    assert workload["template"] == {
        "metadata": {"labels": {"app": "web"}},
        "spec": before["spec"]["template"]["spec"],
    }
    assert workload["revisionHistoryLimit"] == 10
    assert workload["updateStrategy"] == {"type": "RollingUpdate"}
    assert "status" not in workload["volumeClaimTemplates"][0]
    assert workload["volumeClaimTemplates"][0]["spec"] == {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}


def test_a_partition_becomes_the_one_of_the_subset() -> None:
    live = stateful_set(spec__updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    spec = written(Request("sts/web", "web"), [Candidate(live, "host")])["spec"]
    assert spec["updateStrategy"] == {"manualUpdate": {"partitions": {"host": 2}}}
    assert spec["topology"]["subsets"] == [{"name": "host", "adopt": {"name": "web"}}]


def test_another_manager_of_the_workload_is_reported() -> None:
    (remark,) = document.remarks(stateful_set())
    assert "make sure that Helm no longer changes it" in remark
    assert document.remarks(stateful_set(metadata__labels={})) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metadata__deletionTimestamp": "2026-01-01T00:00:00Z"}, "it is being deleted"),
        (
            {"metadata__ownerReferences": [{"kind": "UnitedDeployment", "name": "old", "controller": True}]},
            "it is controlled by UnitedDeployment old",
        ),
        (
            {"metadata__annotations": {names.ANNOTATION_OWNER: "default/web", names.ANNOTATION_OWNER_UID: "u"}},
            "it belongs to the UnitedDeployment default/web",
        ),
        (
            {"spec__selector": {"matchLabels": {names.LABEL_SUBSET: "a"}}},
            "its selector has uniteddeployment.io/subset, a label of a UnitedDeployment",
        ),
        ({"status__observedGeneration": 2}, "its controller has not observed its last change yet"),
        (
            {"status__updateRevision": "web-2", "status__updatedReplicas": 1},
            "a rollout is in progress (2 pods still run another template)",
        ),
        ({"spec__selector": {"matchLabels": {"app": "other"}}}, "spec.template.statefulSetTemplate.spec.template"),
    ],
)
def test_a_workload_that_cannot_be_taken_over_is_refused_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    """I13"""
    with pytest.raises(CommandError) as caught:
        written(Request("sts/web", "web"), [Candidate(stateful_set(**changes), "host")])
    assert str(caught.value).startswith("StatefulSet web cannot be adopted: ")
    assert reason in str(caught.value)


def test_an_owner_that_is_not_the_controller_is_no_hindrance() -> None:
    assert not document.refusal(stateful_set(metadata__ownerReferences=[{"kind": "Application", "name": "x"}]))


@pytest.mark.parametrize("word", ["sts", "StatefulSet", "statefulsets.apps"])
def test_kinds_have_the_names_that_kubectl_knows(word: str) -> None:
    assert Request(f"{word}/web", "web").resource[0].kind == "StatefulSet"


@pytest.mark.parametrize("word", ["web", "sts/", "pod/web"])
def test_other_kinds_are_refused(word: str) -> None:
    with pytest.raises(CommandError) as caught:
        _ = Request(word, "web").resource
    assert caught.value.code == 2


def in_member(number: int, **changes: Any) -> Candidate:
    return Candidate(stateful_set(**changes), f"member-{number}", {"name": f"member-{number}"})


def test_workloads_of_several_clusters_become_one_application_with_weights_equal_to_their_replicas() -> None:
    second = in_member(
        2,
        spec__replicas=5,
        metadata__labels={"team": "shop", "cluster": "2"},
        spec__updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 4}},
    )
    made = written(Request("sts/web", "web"), [in_member(1), second])
    spec = made["spec"]
    assert spec["replicas"] == 8
    assert [(one["name"], one["weight"], one["adopt"]) for one in spec["topology"]["subsets"]] == [
        ("member-1", 3, {"name": "web"}),
        ("member-2", 5, {"name": "web"}),
    ]
    assert spec["updateStrategy"] == {"manualUpdate": {"partitions": {"member-2": 4}}}
    assert spec["template"]["statefulSetTemplate"]["metadata"]["labels"] == {"team": "shop"}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        (
            {"spec__template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
            "spec.template.spec.containers",
        ),
        ({"spec__minReadySeconds": 3}, "spec.minReadySeconds"),
        ({"spec__selector": {"matchLabels": {"app": "other"}}}, "spec.selector.matchLabels.app"),
    ],
)
def test_workloads_that_differ_are_not_one_application(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(CommandError) as caught:
        written(Request("sts/web", "web"), [in_member(1), in_member(2, **changes)])
    assert f"StatefulSet web in member-2 cannot be adopted: {where} differs from member-1" in str(caught.value)


def test_the_name_of_a_subset_is_given_for_one_cluster_only() -> None:
    with pytest.raises(CommandError) as caught:
        written(Request("sts/web", "web", subset="a"), [in_member(1), in_member(2)])
    assert caught.value.code == 2
