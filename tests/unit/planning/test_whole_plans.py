"""Whole plans as they are written: the bodies of workloads of each kind, and the status in each state of a cluster."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.planning.observed import Drift, MemberView, Reach
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import Apply
from uniteddeployment_api import names

EXPRESSION = {"key": "zone", "operator": "In", "values": ["a"]}


def application(kind: str = "statefulSetTemplate", **more: Any) -> Any:
    changed = {
        "replicas": 3,
        "nodeSelectorTerm": {"matchExpressions": [EXPRESSION]},
        "tolerations": [{"key": "t", "operator": "Exists"}],
        "patch": {"metadata": {"annotations": {"team": "x"}}},
    }
    document = make.manifest(
        kind=kind,
        shares={"member-1": changed, "member-2": None},
        partitions={"member-1": 2, "member-2": 1},
        replicas=5,
        **more,
    )
    template = document["spec"]["template"][kind]
    template["metadata"] = {"labels": {"l": "1"}, "annotations": {"a": "2"}}
    template["spec"]["minReadySeconds"] = 3
    return make.application(document)


KINDS = {
    "statefulSetTemplate": (
        "apps/v1",
        "StatefulSet",
        "",
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
        {"serviceName": "web"},
    ),
    "advancedStatefulSetTemplate": (
        "apps.kruise.io/v1beta1",
        "StatefulSet",
        "-asts",
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
        {},
    ),
    "cloneSetTemplate": ("apps.kruise.io/v1alpha1", "CloneSet", "", {"type": "ReCreate", "partition": 2}, {}),
    "deploymentTemplate": ("apps/v1", "Deployment", None, None, {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_is_created_with_these_fields_and_no_others(kind: str) -> None:
    api_version, name, suffix, strategy, more = KINDS[kind]
    app = application(kind)
    made = plan(make.subject(app), make.observed(members=("member-1", "member-2")))
    (step,) = made.members["default/member-1"]
    assert isinstance(step, Apply)
    revision = app.revision_of("member-1")
    suffix = f"-{revision}" if suffix is None else suffix
    ours = {
        "uniteddeployment.io/name": "web",
        "uniteddeployment.io/subset": "member-1",
        "uniteddeployment.io/revision": revision,
    }
    body = msgspec.json.decode(msgspec.json.encode(step.body))
    assert body["metadata"]["annotations"].pop("uniteddeployment.io/applied")
    selected = {"app": "web", "uniteddeployment.io/subset": "member-1"}
    if kind == "deploymentTemplate":
        selected["uniteddeployment.io/revision"] = revision
    node_selector = {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION]}]}
    assert body == {
        "apiVersion": api_version,
        "kind": name,
        "metadata": {
            "name": f"web-member-1{suffix}",
            "namespace": "default",
            "labels": {"l": "1", "app.kubernetes.io/managed-by": "uniteddeployment", **ours},
            "annotations": {
                "a": "2",
                "uniteddeployment.io/cluster": "default/member-1",
                "uniteddeployment.io/owner": "default/web",
                "uniteddeployment.io/owner-uid": "uid-web",
            },
        },
        "spec": {
            "replicas": 3,
            "minReadySeconds": 3,
            "selector": {"matchLabels": selected},
            "template": {
                "metadata": {"labels": {"app": "web", **ours}, "annotations": {"team": "x"}},
                "spec": {
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node_selector}},
                    "containers": [{"name": "app", "image": "app:1"}],
                    "tolerations": [{"key": "t", "operator": "Exists"}],
                },
            },
            **({"updateStrategy": strategy} if strategy else {}),
            **more,
        },
    }
    assert (step.create, step.drift, step.adopt, step.keep) == (True, False, False, ())
    assert step.why == f"create with 3 replicas at revision {revision}"


def entry(app: Any, **fields: Any) -> dict[str, Any]:
    """The entry of the first subset while nothing is known of its pods."""
    return {
        "name": "member-1",
        "cluster": "default/member-1",
        "state": "Progressing",
        "workload": f"{app.kind}/web-member-1",
        "replicas": 3,
        "observedReplicas": 0,
        "readyReplicas": 0,
        "updatedReplicas": 0,
        "updatedReadyReplicas": 0,
        "partition": 2,
        "revision": app.revision_of("member-1"),
        "observedGeneration": 0,
        "reason": "being created",
        **fields,
    }


def shown(app: Any, view: MemberView | None = None, *, status: Any = None, **more: Any) -> dict[str, Any]:
    """The entry of the first subset in the status that a plan gives."""
    views = {"member-1": view} if view is not None else {}
    subject = make.subject(app, status=status)
    made = plan(subject, make.observed(views, members=("member-2",) if view else ("member-1", "member-2"), **more))
    found: dict[str, Any] = make.status_of(made)["subsetStatuses"][0]
    return found


def test_the_first_status_has_these_fields_and_no_others() -> None:
    app = application()
    status = make.status_of(plan(make.subject(app), make.observed(members=("member-1", "member-2"))))
    assert status.pop("subsetStatuses")[0] == entry(app)
    assert [condition["type"] for condition in status.pop("conditions")] == ["Ready", "Reconciling", "Stalled"]
    assert status == {
        "observedGeneration": 1,
        "replicas": 0,
        "readyReplicas": 0,
        "updatedReplicas": 0,
        "updatedReadyReplicas": 0,
        "unplacedReplicas": 0,
        "currentRevision": "",
        "updatedRevision": app.revision_name,
        "labelSelector": "app=web",
    }


BEFORE = {
    "name": "member-1",
    "cluster": "default/member-1",
    "workload": "StatefulSet/web-member-1",
    "replicas": 3,
    "observedReplicas": 3,
    "readyReplicas": 2,
    "updatedReplicas": 1,
    "updatedReadyReplicas": 1,
    "observedGeneration": 4,
    "lastObservedTime": "before",
}


def test_a_cluster_that_shows_nothing_keeps_its_last_counts() -> None:
    """I8"""
    app = application()
    counts = {key: value for key, value in BEFORE.items() if key.endswith(("Replicas", "Generation"))}
    silent = MemberView("default/member-1", Reach.PENDING, "no answer")
    assert shown(app, silent, status={"subsetStatuses": [BEFORE]}) == entry(
        app,
        state="Unknown",
        reason="default/member-1: no answer",
        lastObservedTime="before",
        possiblyRunning=3,
        **counts,
    )
    contacted = replace(silent, detail="", last_contact=make.NOW)
    found = shown(app, contacted, status={"subsetStatuses": [BEFORE]})
    assert (found["reason"], found["lastObservedTime"]) == ("default/member-1 is Pending", make.NOW)
    gone = MemberView("default/member-1", Reach.UNKNOWN, "there is no Cluster object of this name")
    found = shown(app, gone, status={"subsetStatuses": [BEFORE]})
    assert found["state"] == "Stalled"
    assert "possiblyRunning" not in found


def test_a_cluster_that_was_seen_shows_its_pods_as_they_were() -> None:
    app = application()
    workload = make.stateful_set(app, "member-1", replicas=3, partition=2, ready=2)
    pods = make.pods(app, "member-1", [app.revision_of("member-1")] * 3)
    found = shown(app, make.view("member-1", workload, pods=pods, reach=Reach.OFFLINE))
    assert found["reason"] == "default/member-1 is Offline: no answer"
    assert (found["state"], found["observedReplicas"], found["lastObservedTime"]) == ("Unknown", 3, make.NOW)
    assert found["possiblyRunning"] == 3


def test_a_kind_that_the_cluster_does_not_serve_is_a_condition_that_keeps_its_time() -> None:
    app = application()
    view = replace(make.view("member-1"), unserved={"StatefulSet": "does not serve it"})
    found = shown(app, view)
    condition = {
        "type": "Served",
        "status": "False",
        "lastTransitionTime": make.NOW,
        "reason": "KindNotServed",
        "message": "default/member-1 does not serve it",
    }
    assert found["conditions"] == [condition]
    assert (found["state"], found["reason"], found["workload"]) == ("Stalled", "default/member-1 does not serve it", "")
    again = shown(
        app, view, status={"subsetStatuses": [{**found, "conditions": [{**condition, "lastTransitionTime": "t"}]}]}
    )
    assert again["conditions"][0]["lastTransitionTime"] == "t"


def test_a_kind_that_could_not_be_read_counts_as_not_seen() -> None:
    app = application()
    view = replace(make.view("member-1"), unread={"StatefulSet": "its lists fail"})
    found = shown(app, view)
    assert (found["state"], found["reason"]) == ("Unknown", "default/member-1: its lists fail")
    other = replace(make.view("member-1"), unread={"CloneSet": "its lists fail"}, unserved={"CloneSet": "x"})
    assert shown(app, other) == entry(app)


def test_what_was_reverted_last_stays_in_the_status_until_something_else_is() -> None:
    app = application()
    assert shown(app, drifts={"member-1": Drift(make.NOW, "image")})["lastDrift"] == {
        "time": make.NOW,
        "message": "image",
    }
    before = {"lastDrift": {"time": "t", "message": "replicas"}}
    assert shown(app, status={"subsetStatuses": [BEFORE | before]})["lastDrift"] == before["lastDrift"]


def test_errors_writes_in_flight_and_deletions_are_the_reason() -> None:
    app = application()
    blocked = shown(app, errors={"member-1": "the quota is used up"}, stalled=frozenset({"member-1"}))
    assert (blocked["state"], blocked["reason"]) == ("Stalled", "the quota is used up")
    retried = shown(app, errors={"member-1": "the server is busy"})
    assert (retried["state"], retried["reason"]) == ("Progressing", "the server is busy")
    writing = shown(app, writing=frozenset({"default/member-1"}))
    assert (writing["state"], writing["reason"]) == ("Progressing", "waits for default/member-1 to answer")
    both = shown(
        app,
        writing=frozenset({"default/member-1"}),
        errors={"member-1": "the quota is used up"},
        stalled=frozenset({"member-1"}),
    )
    assert (both["state"], both["reason"]) == ("Stalled", "the quota is used up")
    workload = make.stateful_set(app, "member-1", replicas=3, partition=2)
    meta = msgspec.structs.replace(workload.metadata, deletion_timestamp=make.NOW)
    deleted = shown(app, make.view("member-1", msgspec.structs.replace(workload, metadata=meta)))
    assert deleted["reason"] == "waits for StatefulSet web-member-1, which is being deleted"


def test_replicas_that_are_left_to_others_are_taken_as_they_are() -> None:
    document_notes = {names.ANNOTATION_IGNORE_DIFFERENCES: "spec.replicas"}
    app = application()
    workload = make.stateful_set(app, "member-1", replicas=7, partition=2)
    subject = replace(make.subject(app), annotations=document_notes)
    made = plan(subject, make.observed({"member-1": make.view("member-1", workload)}, members=("member-2",)))
    found = make.status_of(made)["subsetStatuses"][0]
    assert (found["replicas"], found.get("desiredReplicas")) == (7, None)
    assert not [step for step in made.members.get("default/member-1", ()) if "replicas" in step.why]
