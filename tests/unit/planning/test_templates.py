"""The hashes of revisions, and the workloads that stored revisions render."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planning as make
from uniteddeployment.controller.objects import FullRevision, revision_content
from uniteddeployment.planning import templates
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds import workload

IMAGE = {"spec": {"containers": [{"name": "app", "image": "app:edge"}]}}
NODE = {"op": "add", "path": "/spec/template/spec/nodeName", "value": "a"}


def application(first: dict[str, Any] | None = None, image: str = "app:1") -> Application:
    return make.application(make.manifest(image=image, shares={"member-1": first or {}, "member-2": {}}))


def test_without_changes_of_subsets_all_have_the_revision_of_the_application() -> None:
    app = application()
    assert app.hash == app.template_hash == app.revision_of("member-1") == app.revision_of("member-2")
    assert app.patched == {}


def test_patch_and_overrides_are_told_apart() -> None:
    patched, overridden = application({"patch": {"spec": {"nodeName": "a"}}}), application({"overrides": [NODE]})
    assert len({one.revision_of("member-1") for one in (application(), patched, overridden)}) == 3
    assert len({one.hash for one in (application(), patched, overridden)}) == 3


@given(st.permutations(["template", "patch", "zeta"]))
def test_the_order_of_keys_makes_no_other_revision(order: list[str]) -> None:
    """I2"""
    values = {"template": {"b": 1, "a": [1, 2]}, "patch": {}, "zeta": None}
    assert templates.digest({key: values[key] for key in order}) == templates.digest(values)


def test_what_a_controller_revision_holds_renders_the_same_workload_again() -> None:
    app = application({"patch": IMAGE, "overrides": [NODE]})
    stored = msgspec.json.encode({"data": revision_content(app.revision_data)})
    data = msgspec.json.decode(stored, type=FullRevision).content()
    later = application({"patch": {"spec": {"minReadySeconds": 3}}}, image="app:3")
    for name in ("member-1", "member-2"):
        again = workload.render(later, later.subsets[name], data, app.revision_of(name)).body
        once = workload.render(app, app.subsets[name], app.revision_data, app.revision_of(name)).body
        assert again["spec"]["template"] == once["spec"]["template"]


def test_a_revision_from_before_there_were_overrides_is_understood() -> None:
    stored = b'{"data": {"template": {"spec": {}}, "patches": {"member-1": {"spec": {"nodeName": "a"}}}}}'
    data = msgspec.json.decode(stored, type=FullRevision).content()
    assert data.knows("member-1")
    assert not data.knows("member-2")
    assert data.overrides == {}
