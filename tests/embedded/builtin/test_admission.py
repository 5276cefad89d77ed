"""Priority classes, limit ranges and quotas: defaults and refusals."""

from typing import Any

import pytest

from uniteddeployment.embedded.builtin.admission import Lookup, admit_create
from uniteddeployment.embedded.errors import StatusError

Obj = dict[str, Any]


def holding(**held: list[Obj]) -> Lookup:
    by_key = {key.replace("_", "."): objects for key, objects in held.items()}
    return lambda key, _namespace: by_key.get(key.partition(".")[0], [])


def pod(**spec: Any) -> Obj:
    containers = spec.pop("containers", [{"name": "c", "image": "x", "resources": {}}])
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": containers, **spec}}


def priority_class(name: str, value: int, **more: Any) -> Obj:
    return {"metadata": {"name": name}, "value": value, **more}


def refused(key: str, obj: Obj, lookup: Lookup) -> str:
    with pytest.raises(StatusError) as caught:
        admit_create(key, obj, lookup)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    return caught.value.message


def test_a_pod_gets_the_priority_of_its_class_and_of_the_default_class_if_it_names_none() -> None:
    classes = holding(
        priorityclasses=[
            priority_class("high", 777, preemptionPolicy="Never"),
            priority_class("all", 5, globalDefault=True),
        ]
    )
    named, unnamed = pod(priorityClassName="high"), pod()
    admit_create("pods", named, classes)
    admit_create("pods", unnamed, classes)
    assert (named["spec"]["priority"], named["spec"]["preemptionPolicy"]) == (777, "Never")
    assert (unnamed["spec"]["priority"], unnamed["spec"]["priorityClassName"]) == (5, "all")


def test_the_classes_of_the_system_are_there_without_an_object() -> None:
    critical = pod(priorityClassName="system-node-critical")
    admit_create("pods", critical, holding())
    assert critical["spec"]["priority"] == 2000001000


def test_a_missing_priority_class_and_an_explicit_priority_are_refused() -> None:
    assert refused("pods", pod(priorityClassName="nosuch"), holding()) == (
        'pods "p" is forbidden: no PriorityClass with name nosuch was found'
    )
    assert "the integer value of priority (5) must not be provided" in refused("pods", pod(priority=5), holding())


def limit_range(**item: Any) -> Obj:
    return {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **item}]}}


def test_a_limit_range_fills_in_and_says_so() -> None:
    lookup = holding(limitranges=[limit_range(default={"cpu": "1"}, defaultRequest={"cpu": "100m"}, max={"cpu": "2"})])
    item = pod()
    admit_create("pods", item, lookup)
    assert item["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}
    assert item["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    }


@pytest.mark.parametrize(
    ("item", "resources", "message"),
    [
        ({"max": {"cpu": "2"}}, {"limits": {"cpu": "3"}}, "maximum cpu usage per Container is 2, but limit is 3"),
        ({"max": {"cpu": "2"}}, {}, "maximum cpu usage per Container is 2. No limit is specified"),
        ({"min": {"cpu": "1"}}, {"requests": {"cpu": "1m"}}, "minimum cpu usage per Container is 1, but request is 1m"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
def test_values_beyond_a_limit_range_are_refused(item: Obj, resources: Obj, message: str) -> None:
    asking = pod(containers=[{"name": "c", "resources": resources}])
    assert refused("pods", asking, holding(limitranges=[limit_range(**item)])) == f'pods "p" is forbidden: {message}'


def quota(**hard: str) -> Obj:
    return {
        "metadata": {"name": "q"},
        "spec": {"hard": {name.replace("_", "."): bound for name, bound in hard.items()}},
    }


def test_a_quota_refuses_one_object_too_many_and_says_what_is_held() -> None:
    config = {"metadata": {"name": "b", "namespace": "ns"}}
    lookup = holding(resourcequotas=[quota(configmaps="1")], configmaps=[{"metadata": {"name": "a"}}])
    assert refused("configmaps", config, lookup) == (
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, '
        "limited: configmaps=1"
    )
    admit_create("secrets", config, lookup)


def test_a_quota_adds_up_what_pods_ask_for_and_forgets_those_that_have_ended() -> None:
    asking = {"name": "c", "resources": {"requests": {"cpu": "600m"}}}
    running, ended = pod(containers=[asking]), pod(containers=[asking])
    ended["status"] = {"phase": "Succeeded"}
    bound = quota(requests_cpu="1")
    admit_create("pods", pod(containers=[asking]), holding(resourcequotas=[bound], pods=[ended]))
    message = refused("pods", pod(containers=[asking]), holding(resourcequotas=[bound], pods=[running]))
    assert message.endswith("requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1")


def storage_class(name: str, created: str, *, default: bool) -> Obj:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}


def test_a_claim_without_a_class_gets_the_youngest_default() -> None:
    lookup = holding(
        storageclasses=[
            storage_class("old", "2025-01-01T00:00:00Z", default=True),
            storage_class("new", "2026-01-01T00:00:00Z", default=True),
            storage_class("other", "2026-06-01T00:00:00Z", default=False),
        ]
    )
    claim: Obj = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {}}
    admit_create("persistentvolumeclaims", claim, lookup)
    assert claim["spec"]["storageClassName"] == "new"
    chosen: Obj = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"storageClassName": ""}}
    admit_create("persistentvolumeclaims", chosen, lookup)
    assert chosen["spec"]["storageClassName"] == ""
