"""Subresources of pods that are part of their spec: ephemeral containers, and resources of containers."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import APPLY, MERGE, PODS, STRATEGIC, Api, deployment, pod
from uniteddeployment.embedded.apimachinery.resources import Obj

EPHEMERAL = f"{PODS}/web/ephemeralcontainers"
RESIZE = f"{PODS}/web/resize"


def debugger(name: str, **more: Any) -> Obj:
    return {"spec": {"ephemeralContainers": [{"name": name, "image": "busybox:1", **more}]}}


def sized(**resources: Any) -> Obj:
    return pod("web", containers=[{"name": "c", "image": "app:1", "resources": resources}])


def test_a_new_ephemeral_container_is_defaulted_and_raises_the_generation() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    patched = api.patch(EPHEMERAL, debugger("debug"), STRATEGIC)
    assert patched["metadata"]["generation"] == 2
    assert patched["spec"]["ephemeralContainers"] == [
        {
            "name": "debug",
            "image": "busybox:1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ]
    assert api.get(EPHEMERAL) == api.get(f"{PODS}/web") == patched


def test_ephemeral_containers_are_all_that_their_subresource_changes() -> None:
    api = Api()
    before = api.create(PODS, pod("web"))
    change = debugger("debug")
    change["metadata"] = {"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a.b/c"]}
    change["spec"]["containers"] = [{"name": "c", "image": "other:1"}]
    change["status"] = {"phase": "Running"}
    after = api.patch(EPHEMERAL, change, STRATEGIC)
    assert {"labels", "annotations", "finalizers"}.isdisjoint(after["metadata"])
    assert after["spec"]["containers"] == before["spec"]["containers"]
    assert after["status"] == before["status"]


def test_a_write_of_no_ephemeral_container_keeps_the_generation() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    api.patch(EPHEMERAL, debugger("debug"), STRATEGIC)
    assert api.patch(EPHEMERAL, {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 2


def test_an_ephemeral_container_cannot_be_removed() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    api.patch(EPHEMERAL, debugger("debug"), STRATEGIC)
    refused = api.json("PATCH", EPHEMERAL, {"spec": {"ephemeralContainers": None}}, content=MERGE, status=422)
    assert refused["message"] == (
        'Pod "web" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be '
        "removed\n"
    )


def test_an_ephemeral_container_cannot_be_changed() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    api.patch(EPHEMERAL, debugger("debug"), STRATEGIC)
    refused = api.json("PATCH", EPHEMERAL, debugger("debug", image="other"), content=STRATEGIC, status=422)
    assert 'Forbidden: existing ephemeral containers "debug" may not be changed\n' in refused["message"]


def test_an_apply_without_an_ephemeral_container_that_it_applied_before_is_refused() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    typed: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    api.patch(f"{EPHEMERAL}?fieldManager=m", {**typed, **debugger("first")}, APPLY)
    second = {**typed, **debugger("second")}
    refused = api.json("PATCH", f"{EPHEMERAL}?fieldManager=m", second, content=APPLY, status=422)
    assert 'ephemeral containers "first" may not be removed' in refused["message"]


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"name": "c"}, '[0].name: Duplicate value: "c"'),
        ({"image": ""}, "[0].image: Required value"),
        ({"targetContainerName": "gone"}, '[0].targetContainerName: Not found: "gone"'),
        ({"ports": [{"containerPort": 80}]}, "[0].ports: Forbidden: cannot be set for an Ephemeral Container"),
        (
            {"resources": {"limits": {"cpu": "1"}}},
            "[0].resources: Forbidden: cannot be set for an Ephemeral Container",
        ),
    ],
)
def test_invalid_ephemeral_containers_are_refused(container: Obj, message: str) -> None:
    api = Api()
    api.create(PODS, pod("web"))
    refused = api.json("PATCH", EPHEMERAL, debugger(**{"name": "debug", **container}), content=STRATEGIC, status=422)
    assert refused["message"] == f'Pod "web" is invalid: spec.ephemeralContainers{message}'


def test_ephemeral_containers_come_through_their_subresource_only() -> None:
    api = Api()
    spec = debugger("debug")["spec"]
    refused = api.json("POST", PODS, pod("web", **spec), status=422)
    assert refused["message"] == 'Pod "web" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create'
    template = deployment("web")
    template["spec"]["template"]["spec"] |= spec
    refused = api.json("POST", "/apis/apps/v1/namespaces/default/deployments", template, status=422)
    assert refused["message"] == (
        'Deployment.apps "web" is invalid: spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not '
        "allowed in pod template"
    )
    api.create(PODS, pod("web"))
    assert api.ask("PATCH", f"{PODS}/web", debugger("debug"), content=STRATEGIC).status == 422


def test_a_resize_changes_the_resources_of_containers_and_nothing_else() -> None:
    api = Api()
    before = api.create(PODS, sized(requests={"cpu": "100m"}))
    container = {"name": "c", "image": "other:1", "resources": {"requests": {"cpu": "200m"}}}
    after = api.patch(RESIZE, {"spec": {"containers": [container]}, "metadata": {"labels": {"a": "b"}}}, STRATEGIC)
    resources = {"resources": {"requests": {"cpu": "200m"}}}
    assert after["metadata"]["generation"] == 2
    assert "labels" not in after["metadata"]
    assert after["spec"] == {**before["spec"], "containers": [{**before["spec"]["containers"][0], **resources}]}


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        (
            [{"name": "d", "image": "a"}],
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered",
        ),
        (
            [{"name": "c", "image": "a"}, {"name": "d", "image": "a"}],
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            [{"name": "c", "image": "a", "resources": {"requests": {"memory": "1Gi"}}}],
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            [
                {
                    "name": "c",
                    "image": "a",
                    "resources": {"requests": {"cpu": "1", "a.b/c": "1"}, "limits": {"a.b/c": 1}},
                }
            ],
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        ([{"name": "c", "image": "a"}], "Pod QOS Class may not change as a result of resizing"),
    ],
)
def test_invalid_resizes_are_refused(containers: list[Obj], message: str) -> None:
    api = Api()
    api.create(PODS, sized(requests={"cpu": "100m"}))
    refused = api.json("PATCH", RESIZE, {"spec": {"containers": containers}}, content=MERGE, status=422)
    assert message in refused["message"]


def test_a_pod_is_resized_only_where_its_node_can() -> None:
    api = Api()
    api.create(PODS, sized(requests={"cpu": "100m"}))
    running = {"name": "c", "image": "a", "imageID": "a", "ready": True, "restartCount": 0, "state": {"running": {}}}
    api.patch(f"{PODS}/web/status", {"status": {"containerStatuses": [running]}})
    change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]}}
    refused = api.json("PATCH", RESIZE, change, content=STRATEGIC, status=422)
    assert refused["message"] == 'Pod "web" is invalid: spec: Forbidden: Pod running on node without support for resize'


def test_parts_of_pods_are_read_and_changed_and_not_created_or_deleted() -> None:
    api = Api()
    api.create(PODS, pod("web"))
    for method in ("POST", "DELETE"):
        assert [api.ask(method, url, {}).status for url in (EPHEMERAL, RESIZE)] == [405, 405]
    served = {entry["name"]: entry["verbs"] for entry in api.get("/api/v1")["resources"]}
    assert served["pods/ephemeralcontainers"] == served["pods/resize"] == ["get", "patch", "update"]
