"""Whatever a member shows, there is a plan, and an API server accepts its status (I16)."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import planning as make
from tests.unit.api.host_kit import Host
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import MemberView, Pod, PodTally, Reach, Workload, tally
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.results import LONGEST_MESSAGE
from uniteddeployment.planning.status import LONGEST_CONDITION, MOST_REVISIONS
from uniteddeployment_api import names
from uniteddeployment_api.v1alpha1.meta import INT32_MAX

TEMPLATES = [kind.template for kind in KINDS]
numbers = st.sampled_from([0, 1, 2, 3, 4, 1000, INT32_MAX]) | st.integers(-1, INT32_MAX)
words = st.text(max_size=5) | st.sampled_from(
    ["True", "False", "Ready", "x" * 2000, "\x1b[31m\n", "2026-01-01T00:00:00Z"]
)
subsets = st.sampled_from(["member-1", "member-2", "gone", "", "\u00b2"])
revisions = st.sampled_from(["stable", "target", "other", "", "\u00b2"])


def mapping(**fields: Any) -> Any:
    return st.fixed_dictionaries({}, optional=fields)


statuses = mapping(
    observedGeneration=numbers,
    replicas=numbers,
    readyReplicas=numbers,
    availableReplicas=numbers,
    updatedReplicas=numbers,
    currentRevision=words,
    updateRevision=words,
    conditions=st.lists(
        st.fixed_dictionaries({"type": st.just("ReplicaFailure"), "status": words}, optional={"message": words}),
        max_size=2,
    ),
)
strategies = mapping(
    type=words, partition=numbers | words, rollingUpdate=st.none() | mapping(partition=numbers | words | st.none())
)
workloads = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["web-member-1", "web-member-1-asts", "web-x", "\u00b2"]),
        "subset": subsets,
        "revision": revisions,
        "owner": st.sampled_from(["uid-web", "uid-web", "other", ""]),
        "kind": st.sampled_from([kind.name for kind in KINDS] + ["X"]),
        "generation": numbers,
        "deleted": st.booleans(),
        "applied": words,
        "spec": mapping(replicas=numbers, updateStrategy=strategies, ordinals=mapping(start=numbers)),
        "status": statuses,
    }
)
containers = st.lists(
    mapping(
        name=words,
        restartCount=numbers,
        state=mapping(waiting=mapping(reason=words, message=words), terminated=mapping(reason=words, exitCode=numbers)),
    ),
    max_size=2,
)
pods = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["web-member-1-0", "web-member-1-3", "web-1-99999999999999", "x-\u00b2", "-", "-1"]),
        "subset": subsets,
        "revision": revisions,
        "deleted": st.booleans(),
        "status": mapping(
            phase=words,
            conditions=st.lists(
                st.fixed_dictionaries(
                    {"type": st.sampled_from(["Ready", "PodScheduled", "X"]), "status": words},
                    optional={"reason": words, "message": words, "lastTransitionTime": words | st.none()},
                ),
                max_size=3,
            ),
            containerStatuses=containers,
        ),
    }
)


def decoded(raw: dict[str, Any], type_: Any) -> Any:
    """As a watch takes it in: what does not decode is not there."""
    try:
        return msgspec.json.decode(json.dumps(raw).encode("utf-8", "surrogatepass"), type=type_)
    except ValueError:
        return None


def shown(workload: dict[str, Any], hashes: dict[str, str]) -> Any:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: workload["subset"]}
    labels[names.LABEL_REVISION] = hashes.get(workload["revision"], workload["revision"])
    notes = {names.ANNOTATION_OWNER_UID: workload["owner"], names.ANNOTATION_APPLIED: workload["applied"]}
    meta = {
        "name": workload["name"],
        "namespace": "default",
        "uid": workload["name"],
        "generation": workload["generation"],
    }
    if workload["deleted"]:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    raw = {"metadata": {**meta, "labels": labels, "annotations": notes}, "kind": workload["kind"]}
    return decoded(raw | {"spec": workload["spec"], "status": workload["status"]}, Workload)


def shown_pod(pod: dict[str, Any], hashes: dict[str, str]) -> Any:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: pod["subset"]}
    labels[names.LABEL_REVISION] = hashes.get(pod["revision"], pod["revision"])
    meta = {"name": pod["name"], "namespace": "default", "uid": pod["name"], "labels": labels}
    if pod["deleted"]:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return decoded({"metadata": meta, "status": pod["status"]}, Pod)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    template=st.sampled_from(TEMPLATES),
    found=st.lists(workloads, max_size=4),
    pod_list=st.lists(pods, max_size=5),
    reach=st.sampled_from([Reach.READY, Reach.READY, Reach.OFFLINE]),
    canary=st.booleans(),
    adaptive=st.booleans(),
)
def test_whatever_a_member_shows_there_is_a_plan(
    *,
    template: str,
    found: list[dict[str, Any]],
    pod_list: list[dict[str, Any]],
    reach: Reach,
    canary: bool,
    adaptive: bool,
) -> None:
    subject, seen = story(template, found, pod_list, reach=reach, canary=canary, adaptive=adaptive)
    made = plan(subject, seen)
    if made.missing:
        return
    status = make.status_of(made)
    for counts in (status, *status["subsetStatuses"]):
        assert all(0 <= counts[field] <= INT32_MAX for field in counts if field.endswith("eplicas"))
    assert all(len(one["message"]) <= LONGEST_CONDITION for one in status["conditions"])
    assert all(len(one["reason"]) <= LONGEST_MESSAGE for one in status["subsetStatuses"])


def story(
    template: str,
    found: list[dict[str, Any]],
    pod_list: list[dict[str, Any]],
    *,
    reach: Reach,
    canary: bool,
    adaptive: bool,
) -> Any:
    shares = {"member-1": {"maxReplicas": 6}, "member-2": {}} if adaptive else None
    more: dict[str, Any] = {"shares": shares} if shares else {}
    old = make.application(make.manifest(kind=template, **more))
    document = make.manifest(kind=template, image="app:2" if canary else "app:1", partitions={"member-1": 2}, **more)
    if adaptive:
        document["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
    app = make.application(document, generation=2)
    hashes = {"stable": old.template_hash, "target": app.template_hash}
    status = make.status_of(plan(make.subject(old), make.observed(revisions=(make.record(old),))))
    assert status is not None
    by_subset: dict[str, list[Pod]] = {}
    for pod in filter(None, (shown_pod(one, hashes) for one in pod_list)):
        by_subset.setdefault(pod.subset, []).append(pod)
    tallies: dict[str, PodTally] = {subset: tally(some) for subset, some in by_subset.items()}
    there = tuple(one for one in (shown(one, hashes) for one in found) if one is not None)
    view = MemberView("default/member-1", reach, "no answer", make.NOW, there, tallies)
    revisions = (make.record(old), make.record(app, 2))
    templates = {old.revision_name: old.revision_data}
    seen = make.observed({"member-1": view}, revisions=revisions, templates=templates)
    return make.subject(app, status=dict(status) | {"currentRevision": old.revision_name}), seen


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_status_of_the_worst_member_is_one_that_the_api_server_takes(template: str, host: Host) -> None:
    """One field out of range, and the whole status would never be written."""
    worst = {
        "name": "web-member-1",
        "subset": "member-1",
        "revision": "target",
        "owner": "uid-web",
        "kind": next(kind.name for kind in KINDS if kind.template == template),
        "generation": 2**48,
        "deleted": False,
        "applied": "x",
        "spec": {"replicas": INT32_MAX},
        "status": dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), INT32_MAX),
    }
    many = [
        {
            "name": f"p-{n}",
            "subset": "member-1",
            "revision": f"r{n}",
            "deleted": False,
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "\x00" * 5000}]},
        }
        for n in range(300)
    ]
    # The other subsets are in the same member, and as bad.
    subject, seen = story(template, [worst], many, reach=Reach.READY, canary=True, adaptive=False)
    made = plan(subject, seen)
    assert made.status is not None
    entry = make.status_of(made)["subsetStatuses"][0]
    assert len(entry["revisions"]) <= MOST_REVISIONS
    path = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}"
    code, stored = host.ask("POST", path, make.manifest(kind=template))
    assert code == 201, stored
    try:
        code, answer = host.ask("PUT", f"{path}/web/status", {**stored, "status": make.status_of(made)})
        assert code == 200, answer
    finally:
        host.ask("DELETE", f"{path}/web")
