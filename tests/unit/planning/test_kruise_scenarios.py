"""The scenarios of OpenKruise's UnitedDeployment that need no running pods.

The numbers are those of the list of scenarios in the notes on OpenKruise: 1-20 are its controller's, 30-36 its
admission's, 43-58 what it does not test. Where ours does something else on purpose, the test says what and why.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.observed import Pod, PodMetadata, PodStatus, tally
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import Apply
from uniteddeployment_api import InvalidObject, names, parse_united_deployment, validate_united_deployment

KINDS = ["statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate"]
ORDINAL = KINDS[:2]


def zone(*values: Any) -> dict[str, Any]:
    return {
        "targetCluster": {"name": "member-1"},
        "nodeSelectorTerm": {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]},
    }


def pod_template(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(document["spec"]["template"].values()))["spec"]["template"]
    return found


def bodies(document: dict[str, Any]) -> dict[str, Any]:
    """Subset -> the workload that is applied for it when nothing is there yet."""
    result = plan(make.subject(make.application(document)), make.observed())
    steps = [step for steps in result.members.values() for step in steps]
    assert all(isinstance(step, Apply) and step.create for step in steps)
    return {step.subset: json.loads(json.dumps(of(Apply, step).body)) for step in steps}


def terms(body: dict[str, Any]) -> list[dict[str, Any]]:
    affinity = body["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    found: list[dict[str, Any]] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return found


# --- Controller -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_subset_has_a_workload_that_is_bound_to_its_nodes(kind: str) -> None:
    """Scenarios 1 and 2."""
    one = bodies(make.manifest(kind=kind, shares={"a": zone("a")}))
    assert {name: terms(body) for name, body in one.items()} == {
        "a": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    }
    two = bodies(make.manifest(kind=kind, shares={"a": zone("a"), "b": zone("b")}))
    assert [terms(body)[0]["matchExpressions"][0]["values"] for body in two.values()] == [["a"], ["b"]]


@pytest.mark.parametrize("kind", KINDS)
def test_terms_of_the_template_are_kept_and_each_is_narrowed_to_the_subset(kind: str) -> None:
    """Scenario 4: terms are alternatives, so the subset's expression has to be in every one."""
    document = make.manifest(kind=kind, shares={"a": zone("a")})
    first, second, third = ({"key": key, "operator": "Exists"} for key in ("x", "y", "z"))
    pod_template(document)["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [first, second]}, {"matchExpressions": [third]}]
            }
        }
    }
    own = {"key": "zone", "operator": "In", "values": ["a"]}
    assert [term["matchExpressions"] for term in terms(bodies(document)["a"])] == [[first, second, own], [third, own]]


@pytest.mark.parametrize("kind", KINDS)
def test_each_subset_has_its_own_patch(kind: str) -> None:
    """Scenario 5."""
    container = {"name": "app"}
    patches = {
        "a": {"spec": {"containers": [container | {"image": "app:patched"}]}},
        "b": {"metadata": {"labels": {"tier": "b"}}},
        "c": {"spec": {"containers": [container | {"resources": {"requests": {"cpu": "2"}}}]}},
        "d": {"spec": {"containers": [container | {"env": [{"name": "WHERE", "value": "d"}]}]}},
    }
    shares = {name: {"patch": patch, "targetCluster": {"name": "member-1"}} for name, patch in patches.items()}
    made = {name: body["spec"]["template"] for name, body in bodies(make.manifest(kind=kind, shares=shares)).items()}
    containers = {name: template["spec"]["containers"][0] for name, template in made.items()}
    assert containers["a"] == {"name": "app", "image": "app:patched"}
    assert made["b"]["metadata"]["labels"]["tier"] == "b"
    assert containers["c"] == {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "2"}}}
    assert containers["d"]["env"] == [{"name": "WHERE", "value": "d"}]
    assert "tier" not in made["a"]["metadata"]["labels"]


@pytest.mark.parametrize("kind", KINDS)
def test_tolerations_of_the_template_come_before_those_of_the_subset(kind: str) -> None:
    """Scenario 6."""
    own = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    document = make.manifest(kind=kind, shares={"a": zone("a") | {"tolerations": own}})
    assert bodies(document)["a"]["spec"]["template"]["spec"]["tolerations"] == own
    document = copy.deepcopy(document)
    pod_template(document)["spec"]["tolerations"] = [{"key": "c", "operator": "Exists"}]
    found = bodies(document)["a"]["spec"]["template"]["spec"]["tolerations"]
    assert [one["key"] for one in found] == ["c", "a", "b"]


def test_a_second_workload_that_somebody_made_by_hand_is_neither_counted_nor_deleted() -> None:
    """Scenario 7. OpenKruise deletes one of the two; ours can make no second one, and what it did not make it leaves
    alone whatever labels it has (I13)."""
    app = make.application(make.manifest(shares={"member-1": {}}, replicas=2))
    own = make.stateful_set(app, "member-1", replicas=2)
    stranger = make.stateful_set(make.application(make.manifest(), uid="another"), "member-1", replicas=7)
    pods = make.pods(app, "member-1", [app.revision_of("member-1")] * 2)
    seen = make.observed({"member-1": make.view("member-1", own, stranger, pods=pods)}, revisions=(make.record(app),))
    result = plan(make.subject(app), seen)
    assert not result.members
    assert make.status_of(result)["replicas"] == 2


@pytest.mark.parametrize("kind", ORDINAL)
def test_on_delete_stays_on_delete(kind: str) -> None:
    """Scenario 12: no partition is written, and status says the one that was asked for."""
    document = make.manifest(kind=kind, replicas=8, partitions={"member-1": 4, "member-2": 2})
    document["spec"]["template"][kind]["spec"]["updateStrategy"] = {"type": "OnDelete"}
    assert {body["spec"]["updateStrategy"]["type"] for body in bodies(document).values()} == {"OnDelete"}
    assert not any("rollingUpdate" in body["spec"]["updateStrategy"] for body in bodies(document).values())
    status = make.status_of(plan(make.subject(make.application(document)), make.observed()))
    assert [one["partition"] for one in status["subsetStatuses"]] == [4, 2, 0]


def test_the_strategy_of_a_deployment_template_reaches_each_subset() -> None:
    """Scenario 16."""
    document = make.manifest(kind="deploymentTemplate")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 4, "maxSurge": 1}}
    document["spec"]["template"]["deploymentTemplate"]["spec"] |= {"strategy": strategy, "minReadySeconds": 10}
    specs = [body["spec"] for body in bodies(document).values()]
    assert len(specs) == 3
    assert all(spec["strategy"] == strategy and spec["minReadySeconds"] == 10 for spec in specs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_says_whose_it_is(kind: str) -> None:
    """Scenario 17: names, labels and annotations, the user's and ours."""
    document = make.manifest(kind=kind, shares={"a": zone("a") | {"patch": {"metadata": {"annotations": {"p": "1"}}}}})
    template = document["spec"]["template"][kind]
    template["metadata"] = {"labels": {"team": "x"}, "annotations": {"note": "y"}}
    app = make.application(document)
    body = bodies(document)["a"]
    ours = {names.LABEL_SUBSET: "a", names.LABEL_REVISION: app.revision_of("a"), names.LABEL_NAME: "web"}
    assert body["metadata"]["namespace"] == "default"
    assert body["metadata"]["name"].startswith("web-a")
    assert body["metadata"]["labels"].items() >= ({"team": "x"} | ours).items()
    assert body["metadata"]["annotations"]["note"] == "y"
    assert body["metadata"]["annotations"][names.ANNOTATION_OWNER] == "default/web"
    assert body["spec"]["selector"]["matchLabels"].items() >= {"app": "web", names.LABEL_SUBSET: "a"}.items()
    pod = body["spec"]["template"]["metadata"]
    assert pod["labels"].items() >= (body["spec"]["selector"]["matchLabels"] | ours).items()
    assert pod["annotations"] == {"p": "1"}


@pytest.mark.parametrize("partition", [0, 1])
def test_a_subset_is_counted_by_the_labels_of_its_pods(partition: int) -> None:
    """Scenario 18; the partition in status is the one that was asked for, not one that is read back."""
    app = make.application(make.manifest(shares={"member-1": {}}, replicas=3, partitions={"member-1": partition}))
    own = make.stateful_set(app, "member-1", replicas=3, partition=partition, ready=2)
    pods = make.pods(app, "member-1", ["old", app.revision_of("member-1"), app.revision_of("member-1")])
    status = make.status_of(plan(make.subject(app), make.observed({"member-1": make.view("member-1", own, pods=pods)})))
    (entry,) = status["subsetStatuses"]
    counted = [entry[key] for key in ("replicas", "observedReplicas", "readyReplicas", "updatedReplicas", "partition")]
    assert counted == [3, 3, 2, 2, partition]


@pytest.mark.parametrize("revisions", [["new"] * 3, ["old"] * 3, ["old", "new", "new"], ["", "new", "old"], [""], []])
def test_on_delete_the_pods_say_how_many_are_updated(revisions: list[str]) -> None:
    """Scenario 19: OpenKruise shows the pods that are not at the revision, those without a label among them, as the
    partition; ours shows those that are at it as updated, and as partition what was asked for."""
    document = make.manifest(shares={"member-1": {}}, replicas=3)
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["updateStrategy"] = {"type": "OnDelete"}
    app = make.application(document)
    labels = [app.revision_of("member-1") if one == "new" else one for one in revisions]
    own = make.stateful_set(app, "member-1", replicas=3)
    pods = make.pods(app, "member-1", labels)
    status = make.status_of(plan(make.subject(app), make.observed({"member-1": make.view("member-1", own, pods=pods)})))
    assert status["subsetStatuses"][0]["updatedReplicas"] == revisions.count("new")
    assert status["subsetStatuses"][0]["partition"] == 0


def test_pods_that_are_over_or_going_away_are_not_counted() -> None:
    """Scenario 20."""
    labels = {names.LABEL_REVISION: "new"}
    gone = PodMetadata("p-0", deletion_timestamp=make.NOW, labels=labels)
    pods = [
        Pod(gone, PodStatus("Running")),
        Pod(PodMetadata("p-1", labels=labels), PodStatus("Failed")),
        Pod(PodMetadata("p-2", labels=labels), PodStatus("Succeeded")),
        Pod(PodMetadata("p-3", labels=labels), PodStatus("Running")),
        Pod(PodMetadata("p-4", labels=labels), PodStatus("Pending")),
    ]
    assert tally(pods).living == {"new": 2}


# --- Admission --------------------------------------------------------------------------------------------------------


def problems(document: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """The paths that are refused."""
    try:
        model = parse_united_deployment(document)
        before = parse_united_deployment(old) if old else None
    except InvalidObject as error:
        return [one.path for one in error.errors]
    return [one.path for one in validate_united_deployment(model, before)]


def bounds(*pairs: Any, total: int = 10, kind: str = "deploymentTemplate") -> dict[str, Any]:
    keys = ("minReplicas", "maxReplicas")
    shares = {
        f"s{index}": {key: value for key, value in zip(keys, pair, strict=True) if value is not None}
        for index, pair in enumerate(pairs)
    }
    return make.manifest(kind=kind, replicas=total, shares=shares)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("total", "shares"),
    [
        (None, {"a": 1, "b": 1}),
        (10, {"a": None}),
        (10, {"a": 1, "b": None}),
        (10, {"a": 1, "b": "90%"}),
        (10, {"a": "71%", "b": "29%"}),
    ],
)
def test_shares_that_fit_are_accepted(kind: str, total: int | None, shares: dict[str, Any]) -> None:
    """Scenario 30."""
    assert not problems(make.manifest(kind=kind, replicas=total, shares=shares))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("total", "shares"),
    [(10, {"a": 1}), (10, {"a": 1, "b": "71%"}), (10, {"a": "71%", "b": "90%"}), (None, {"a": "90%", "b": 1})],
)
def test_shares_that_do_not_fit_are_refused(kind: str, total: int | None, shares: dict[str, int | str]) -> None:
    """Scenario 31."""
    assert problems(make.manifest(kind=kind, replicas=total, shares=shares))


@pytest.mark.parametrize("kind", KINDS)
def test_manifests_that_cannot_work_are_refused(kind: str) -> None:
    """Scenario 31: the rest of it, each with the path of what is wrong."""

    def broken(change: Callable[..., Any], path: str, **more: Any) -> None:
        document = make.manifest(kind=kind, **more)
        change(document["spec"])
        assert any(path in found for found in problems(document)), (path, problems(document))

    other = "deploymentTemplate" if kind != "deploymentTemplate" else "statefulSetTemplate"
    adaptive = {"type": "Adaptive"}
    broken(lambda spec: spec["selector"].update(matchLabels={"app": "other"}), "spec.template")
    broken(lambda spec: spec.update(template={}), "spec.template")
    broken(lambda spec: spec["template"].update({other: spec["template"][kind]}), "spec.template")
    broken(lambda spec: spec["topology"]["subsets"][0].pop("name"), "subsets[0].name")
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists", "values": ["a"]}]}
    broken(lambda spec: spec["topology"]["subsets"][0].update(nodeSelectorTerm=term), "subsets[0].nodeSelectorTerm")
    broken(lambda _: None, "partitions", partitions={"nowhere": 1})
    broken(lambda spec: spec["topology"].update(scheduleStrategy=adaptive), "scheduleStrategy")
    broken(lambda spec: spec.update(updateStrategy={"type": "Automatic"}), "updateStrategy.type")
    broken(lambda spec: spec.update(revisionHistoryLimit=-1), "revisionHistoryLimit")


@pytest.mark.parametrize("kind", ORDINAL)
def test_pods_with_ordinals_cannot_have_stand_ins(kind: str) -> None:
    """Scenario 31."""
    document = bounds((None, None), kind=kind)
    document["spec"]["topology"]["scheduleStrategy"] = {
        "type": "Adaptive",
        "adaptive": {"reserveUnschedulablePods": True},
    }
    assert problems(document)


@pytest.mark.parametrize("kind", KINDS)
def test_what_may_change_and_what_may_not(kind: str) -> None:
    """Scenario 32. The nodes of a subset may change with us: its pods then move as those of any new template do."""
    before = make.manifest(kind=kind, shares={"a": zone("a"), "b": zone("b")})
    assert not problems(make.manifest(kind=kind, shares={"a": zone("a"), "b": zone("b"), "c": zone("c")}), before)
    assert not problems(make.manifest(kind=kind, shares={"a": zone("a")}), before)
    assert not problems(make.manifest(kind=kind, replicas=3, shares={"a": zone("a"), "b": zone("b")}), before)
    other = make.manifest(kind=kind, shares={"a": zone("a"), "b": zone("b")})
    other["spec"]["selector"] = {"matchLabels": {"app": "web", "more": "x"}}
    pod_template(other)["metadata"]["labels"]["more"] = "x"
    assert problems(other, before) == ["spec.selector"], "scenario 47: it would orphan everything that runs"


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_checked_by_themselves_and_together(kind: str) -> None:
    """Scenario 33. Minimums that are more than the total are accepted, as they are by OpenKruise."""
    for lows in ((2, 2, 6), (2, 2, 2), (5, 5, 5)):
        assert not problems(bounds(*((low, None) for low in lows), kind=kind))
    assert problems(bounds((5, 2), (None, None), kind=kind))
    assert problems(bounds((None, 2), (None, 3), kind=kind))
    assert any("minReplicas" in path for path in problems(bounds(("bad%", None), (None, None), kind=kind)))
    assert any("maxReplicas" in path for path in problems(bounds((None, "bad%"), (None, None), kind=kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_has_a_value(kind: str) -> None:
    """Scenario 34; only the total has none: then every subset says its own."""
    spec = parse_united_deployment(make.manifest(kind=kind, replicas=None, shares={"a": 1})).spec
    assert (spec.replicas, spec.revision_history_limit, spec.update_strategy.type) == (None, 10, "Manual")
    assert (spec.update_strategy.manual_update.partitions, spec.update_strategy.manual_update.partition) == ({}, 0)
    kept = parse_united_deployment(make.manifest(kind=kind, replicas=3, revisionHistoryLimit=2)).spec
    assert (kept.replicas, kept.revision_history_limit) == (3, 2)


share = st.none() | st.integers(-1, 20) | st.sampled_from(["50%", "0%", "101%", "bad%", "%", "2", "33%"])


@given(st.sampled_from(KINDS), st.none() | st.integers(-1, 20), st.lists(st.tuples(share, share, share), max_size=4))
def test_whatever_is_written_is_refused_or_planned(
    kind: str, total: int | None, shares: list[tuple[int | str | None, int | str | None, int | str | None]]
) -> None:
    """Scenario 36: nothing crashes, and what is accepted places every pod or says why not (I4)."""
    keys = ("replicas", "minReplicas", "maxReplicas")
    subsets = {
        f"s{index}": {key: value for key, value in zip(keys, one, strict=True) if value is not None}
        | {"targetCluster": {"name": "member-1"}}
        for index, one in enumerate(shares)
    }
    document = make.manifest(kind=kind, replicas=total, shares=subsets)
    if not problems(document):
        status = make.status_of(plan(make.subject(make.application(document)), make.observed()))
        placed = sum(entry["replicas"] for entry in status["subsetStatuses"])
        assert total is None or placed + status["unplacedReplicas"] == total


# --- What OpenKruise does not test ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_selector_of_expressions_alone_is_enough(kind: str) -> None:
    """Scenario 46: OpenKruise accepts it and panics."""
    document = make.manifest(kind=kind, shares={"a": zone("a")})
    document["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    assert not problems(document)
    selector = bodies(document)["a"]["spec"]["selector"]
    assert selector["matchExpressions"] == [{"key": "app", "operator": "In", "values": ["web"]}]
    assert selector["matchLabels"][names.LABEL_SUBSET] == "a"


@pytest.mark.parametrize("kind", KINDS)
def test_match_fields_have_an_effect(kind: str) -> None:
    """Scenario 48."""
    fields = [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
    document = make.manifest(kind=kind, shares={"a": zone("a") | {"nodeSelectorTerm": {"matchFields": fields}}})
    assert not problems(document)
    assert terms(bodies(document)["a"]) == [{"matchFields": fields}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_the_strategy_restarts_no_pod(kind: str) -> None:
    """Scenario 58: the revision, and with it the template of the pods, stays the same."""
    before = make.manifest(kind=kind)
    after = copy.deepcopy(before)
    after["spec"]["template"][kind]["spec"]["minReadySeconds"] = 7
    after["spec"]["template"][kind]["metadata"] = {"labels": {"team": "x"}}
    assert make.application(before).hash == make.application(after).hash
    first, second = bodies(before)["member-1"]["spec"], bodies(after)["member-1"]["spec"]
    assert first["template"] == second["template"]
    assert second["minReadySeconds"] == 7
