"""The part of a subset's patch and overrides that belongs to its revision."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds import workload
from uniteddeployment_api.revisions import template_operations
from uniteddeployment_api.strategic import PatchError

IMAGE = {"spec": {"containers": [{"name": "app", "image": "app:edge"}]}}


def application(kind: str = "statefulSetTemplate", image: str = "app:1", **first: Any) -> Application:
    return make.application(make.manifest(kind=kind, image=image, shares={"member-1": first, "member-2": {}}))


def rendered(app: Application, subset: str = "member-1") -> Mapping[str, Any]:
    return workload.render(app, app.subsets[subset], app.revision_data, app.revision_of(subset)).body


def pod_image(body: Mapping[str, Any]) -> str:
    return str(body["spec"]["template"]["spec"]["containers"][0]["image"])


@pytest.mark.parametrize("patch", [IMAGE, {"spec": {"template": IMAGE}}], ids=["pod template", "workload"])
def test_a_patch_of_the_pod_template_makes_a_revision_of_that_subset_only(patch: dict[str, Any]) -> None:
    plain, patched = application(), application(patch=patch)
    assert patched.revision_of("member-1") != plain.revision_of("member-1")
    assert patched.revision_of("member-2") == plain.revision_of("member-2")
    assert pod_image(rendered(patched)) == "app:edge"
    assert pod_image(rendered(patched, "member-2")) == "app:1"


def test_the_same_change_is_the_same_revision_wherever_the_patch_has_its_root() -> None:
    one, other = application(patch=IMAGE), application(patch={"spec": {"template": IMAGE}})
    assert one.revision_of("member-1") == other.revision_of("member-1")


def test_a_patch_of_other_fields_of_the_workload_makes_no_revision_but_is_applied() -> None:
    plain, patched = application(), application(patch={"spec": {"minReadySeconds": 7}})
    assert patched.hash == plain.hash
    assert patched.revision_of("member-1") == plain.revision_of("member-1")
    assert rendered(patched)["spec"]["minReadySeconds"] == 7
    assert rendered(patched)["spec"]["template"] == rendered(plain)["spec"]["template"]
    assert "minReadySeconds" not in rendered(patched, "member-2")["spec"]


def test_a_patch_of_both_makes_a_revision_of_what_reaches_the_pods() -> None:
    both = application(patch={"spec": {"minReadySeconds": 7, "template": IMAGE}})
    assert both.revision_of("member-1") == application(patch=IMAGE).revision_of("member-1")


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


REPLACE = operation("replace", "/spec/template/spec/containers/0/image", value="app:edge")


def test_overrides_of_the_pod_template_make_a_revision_and_follow_the_patch() -> None:
    app = application(
        patch={"spec": {"containers": [{"name": "side", "image": "side:1"}]}},
        overrides=[operation("replace", "/spec/template/spec/containers/1/image", value="side:2"), REPLACE],
    )
    images = [one["image"] for one in rendered(app)["spec"]["template"]["spec"]["containers"]]
    assert images == ["app:edge", "side:2"]
    assert app.revision_of("member-1") != application().revision_of("member-1")
    assert app.revision_of("member-2") == application().revision_of("member-2")


@pytest.mark.parametrize(
    "other",
    [
        operation("add", "/spec/minReadySeconds", value=7),
        operation("test", "/spec/template/spec/containers/0/image", value="app:1"),
        operation("add", "/metadata/labels", value={"tier": "front"}),
    ],
)
def test_overrides_of_anything_else_make_no_revision(other: dict[str, Any]) -> None:
    assert application(overrides=[other]).revision_of("member-1") == application().revision_of("member-1")
    with_both = application(overrides=[other, REPLACE])
    assert with_both.revision_of("member-1") == application(overrides=[REPLACE]).revision_of("member-1")


def test_a_value_that_is_carried_into_the_pod_template_counts_with_all_that_it_may_depend_on() -> None:
    operations = [
        operation("add", "/metadata/annotations", value={"color": "red"}),
        operation("copy", "/spec/template/metadata/annotations", **{"from": "/metadata/annotations"}),
    ]
    assert template_operations(operations) == tuple(operations)
    assert rendered(application(overrides=operations))["spec"]["template"]["metadata"]["annotations"] == {
        "color": "red"
    }


@pytest.mark.parametrize(
    ("subset", "path"),
    [
        ({"overrides": [REPLACE, operation("remove", "/spec/template/spec/nodeName")]}, "overrides[1].path"),
        ({"overrides": [operation("test", "/spec/serviceName", value="other")]}, "overrides[0].value"),
        ({"overrides": [operation("add", "/spec/replicas", value=3)]}, "overrides[0].path"),
        ({"patch": {"spec": {"replicas": 3}}}, "patch.spec.replicas"),
        ({"patch": {"spec": {"containers": [], "minReadySeconds": 1}}}, "patch.spec.containers"),
        ({"patch": {"spec": {"template": None}}}, "patch.spec.template"),
        ({"patch": {"spec": {"containers": [{"image": "nameless"}]}}}, "patch.spec.containers[0]"),
    ],
)
def test_what_cannot_be_applied_is_told_with_its_path(subset: dict[str, Any], path: str) -> None:
    """I11"""
    with pytest.raises(PatchError) as caught:
        rendered(application(**subset))
    assert caught.value.path == path


def test_an_old_revision_keeps_the_old_patch_and_has_the_other_fields_as_they_are_now() -> None:
    old = application(patch=IMAGE, overrides=[operation("add", "/spec/template/spec/nodeName", value="a")])
    new = application(image="app:2", patch={"spec": {"minReadySeconds": 7}})
    body = workload.render(new, new.subsets["member-1"], old.revision_data, old.revision_of("member-1")).body
    assert pod_image(body) == "app:edge"
    assert body["spec"]["template"]["spec"]["nodeName"] == "a"
    assert body["spec"]["minReadySeconds"] == 7


def test_a_patch_that_is_new_does_not_reach_an_old_revision() -> None:
    """I6: the partition holds pods at what they were."""
    old, new = application(), application(image="app:2", patch=IMAGE)
    body = workload.render(new, new.subsets["member-1"], old.revision_data, old.revision_of("member-1")).body
    assert pod_image(body) == "app:1"


def test_a_subset_that_a_revision_did_not_know_uses_its_present_patch() -> None:
    old = make.application(make.manifest(shares={"member-2": {}}))
    new = application(image="app:2", patch={"spec": {"hostNetwork": True}})
    body = workload.render(new, new.subsets["member-1"], old.revision_data, old.template_hash).body
    assert pod_image(body) == "app:1"
    assert body["spec"]["template"]["spec"]["hostNetwork"]
