"""Patches and overrides change the workload of a subset, except for the fields that the controller sets (I11)."""

import copy
from typing import Any

import pytest

from uniteddeployment_api import jsonpatch, patches
from uniteddeployment_api.strategic import PatchError

CONTAINER = {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}]}
WORKLOAD: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"a/b": "~"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}


def refused(call: Any, *args: Any) -> str:
    with pytest.raises(PatchError) as caught:
        call(*args)
    return caught.value.path


def test_a_patch_of_a_pod_spec_changes_the_pod_template() -> None:
    patch = {
        "metadata": {"annotations": {"zone": "a"}},
        "spec": {"containers": [{"name": "app", "image": "app:2"}, {"name": "side", "image": "side:1"}]},
    }
    template = patches.with_patch(WORKLOAD, patch)["spec"]["template"]
    assert template["metadata"] == {"labels": {"app": "web"}, "annotations": {"zone": "a"}}
    assert [c["image"] for c in template["spec"]["containers"]] == ["app:2", "side:1"]
    assert template["spec"]["containers"][0]["env"] == CONTAINER["env"]


def test_a_patch_of_a_workloads_spec_changes_the_workload_and_lists_in_it_are_merged_by_their_keys() -> None:
    patch = {
        "metadata": {"labels": {"tier": "front"}},
        "spec": {
            "minReadySeconds": 5,
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}},
            "template": {"spec": {"containers": [{"name": "app", "env": [{"name": "A", "$patch": "delete"}]}]}},
        },
    }
    made = patches.with_patch(WORKLOAD, patch)
    assert made["metadata"]["labels"] == {"app": "web", "tier": "front"}
    assert made["spec"]["minReadySeconds"] == 5
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 2, "maxUnavailable": 2}
    assert made["spec"]["template"]["spec"]["containers"] == [CONTAINER | {"env": []}]


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"spec": {"replicas": 1}}, "spec.replicas"),
        ({"spec": {"replicas": None}}, "spec.replicas"),
        ({"spec": {"selector": {}}}, "spec.selector"),
        ({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}},
         "spec.updateStrategy.rollingUpdate.partition"),
        ({"spec": {"updateStrategy": {"partition": "50%"}}}, "spec.updateStrategy.partition"),
        ({"spec": {"$patch": "replace", "template": {}}}, "spec.replicas"),
        ({"spec": {"$retainKeys": ["template"], "minReadySeconds": 1}}, "spec.replicas"),
        ({"spec": {"template": {}, "containers": []}}, "spec.containers"),
        ({"metadata": {"name": "x"}, "spec": {"minReadySeconds": 1}}, "metadata.name"),
        ({"kind": "Pod", "spec": {}}, "kind"),
        ({"spec": {"containers": [{"image": "app:2"}]}}, "spec.containers[0]"),
        ({"spec": {"template": {"spec": {"containers": [{"$patch": "x", "name": "app"}]}}}},
         "spec.template.spec.containers[0]"),
    ],
)  # fmt: skip
def test_a_patch_of_a_protected_field_is_rejected_with_its_path(patch: Any, path: str) -> None:
    """Only the controller sets replicas and partitions (I6, I7)."""
    assert refused(patches.with_patch, WORKLOAD, patch) == path


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        ({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x"},
         ("spec", "template", "spec", "containers", 0, "image"), "x"),
        ({"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "b"}},
         ("spec", "template", "spec", "containers", 1), {"name": "b"}),
        ({"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "b"}},
         ("spec", "template", "spec", "containers", 0), {"name": "b"}),
        ({"op": "remove", "path": "/spec/template/spec/containers/0/env"},
         ("spec", "template", "spec", "containers", 0), {"name": "app", "image": "app:1"}),
        ({"op": "copy", "from": "/metadata/labels/app", "path": "/metadata/labels/copy"},
         ("metadata", "labels"), {"app": "web", "copy": "web"}),
        ({"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"},
         ("metadata", "labels"), {"moved": "web"}),
        ({"op": "replace", "path": "/metadata/annotations/a~1b", "value": None},
         ("metadata", "annotations", "a/b"), None),
        ({"op": "test", "path": "/metadata/annotations/a~1b", "value": "~"}, ("metadata", "annotations", "a/b"), "~"),
        ({"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "OnDelete"}},
         ("spec", "updateStrategy"), {"type": "OnDelete"}),
    ],
)  # fmt: skip
def test_an_override_applies_its_operation_and_does_not_change_its_arguments(
    operation: Any, path: tuple[Any, ...], value: Any
) -> None:
    before = copy.deepcopy(WORKLOAD)
    made: Any = patches.with_overrides(WORKLOAD, (operation,))
    for step in path:
        made = made[step]
    assert made == value
    assert before == WORKLOAD


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ({"op": "replace", "path": "/spec/replicas", "value": 1}, "[1].path"),
        ({"op": "add", "path": "/spec/selector/matchLabels/x", "value": "y"}, "[1].path"),
        ({"op": "remove", "path": "/spec/updateStrategy/rollingUpdate/partition"}, "[1].path"),
        ({"op": "add", "path": "/spec/updateStrategy", "value": {"partition": 1}}, "[1].path"),
        ({"op": "copy", "from": "/spec/replicas", "path": "/spec/minReadySeconds"}, "[1].from"),
        ({"op": "remove", "path": "/spec"}, "[1].path"),
        ({"op": "replace", "path": "", "value": {}}, "[1].path"),
        ({"op": "add", "path": "/metadata/name", "value": "x"}, "[1].path"),
        ({"op": "add", "path": "spec/x", "value": "x"}, "[1].path"),
        ({"op": "add", "path": "/spec/~2", "value": "x"}, "[1].path"),
        ({"op": "add", "path": "/spec/a/b", "value": "x"}, "[1].path"),
        ({"op": "add", "path": "/spec/template/spec/containers/5", "value": {}}, "[1].path"),
        ({"op": "add", "path": "/spec/template/spec/containers/01", "value": {}}, "[1].path"),
        ({"op": "add", "path": "/spec/serviceName/x", "value": {}}, "[1].path"),
        ({"op": "add", "path": "/spec/minReadySeconds"}, "[1].value"),
        ({"op": "move", "path": "/spec/x"}, "[1].from"),
        ({"op": "move", "from": "/spec/template", "path": "/spec/template/x"}, "[1].path"),
        ({"op": "test", "path": "/metadata/labels/app", "value": 1}, "[1].value"),
        ({"op": "merge", "path": "/spec/x"}, "[1].op"),
    ],
)
def test_an_override_that_cannot_be_applied_is_rejected_with_its_index(operation: Any, path: str) -> None:
    """The error has the path of the field (I11)."""
    fine = {"op": "add", "path": "/spec/serviceName", "value": "web"}
    assert refused(patches.with_overrides, WORKLOAD, (fine, operation)) == path


def test_a_test_operation_distinguishes_true_from_one() -> None:
    assert refused(jsonpatch.apply, {"a": True}, ({"op": "test", "path": "/a", "value": 1},)) == "[0].value"
    assert jsonpatch.apply({"a": [1.0, {"b": 1}]}, ({"op": "test", "path": "/a", "value": [1, {"b": 1.0}]},))
