"""What ``ud history`` shows and what ``ud undo`` writes, without a cluster."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.planning import application, manifest
from uniteddeployment.cli.history.revisions import Kept, Place, entries
from uniteddeployment.controller.objects import RevisionMetadata, revision_content
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.stored import read_status
from uniteddeployment_api import names
from uniteddeployment_api.revisions import merge_diff, restored


def kept(app: Application, number: int, cause: str = "") -> Kept:
    annotations = {names.ANNOTATION_TEMPLATE_REVISION: app.template_hash}
    if app.patched:
        annotations[names.ANNOTATION_SUBSET_REVISIONS] = (
            "{" + ",".join(f'"{key}":"{value}"' for key, value in app.patched.items()) + "}"
        )
    if cause:
        annotations[names.ANNOTATION_CHANGE_CAUSE] = cause
    content = msgspec.Raw(msgspec.json.encode(revision_content(app.revision_data)))
    metadata = RevisionMetadata(
        name=app.revision_name, labels={names.LABEL_REVISION: app.hash}, annotations=annotations
    )
    return Kept(metadata, number, content)


def versions(*images: Any, **options: Any) -> list[Application]:
    return [application(manifest(image=image, **options)) for image in images]


def test_revisions_are_listed_oldest_first_with_the_pods_that_run_them() -> None:
    one, two = versions("app:1", "app:2")
    status = {
        "currentRevision": one.revision_name,
        "updatedRevision": two.revision_name,
        "subsetStatuses": [
            {
                "name": "a",
                "cluster": "default/a",
                "revisions": [
                    {"revision": one.hash, "replicas": 3, "readyReplicas": 2},
                    {"revision": two.hash, "replicas": 1},
                ],
            },
            {"name": "b", "revisions": [{"revision": "unknown", "replicas": 1}]},
        ],
    }
    first, second = entries(read_status(status), [kept(two, 2, "why"), kept(one, 1)])
    assert (first.record.number, first.markers, first.places) == (1, "current", (Place("a", "default/a", 3, 2),))
    assert (second.record.number, second.markers, second.places) == (2, "updated", (Place("a", "default/a", 1, 0),))
    assert second.record.cause == "why"
    assert second.images == ["app:2"]


def test_without_counts_by_revision_the_counts_of_old_and_updated_pods_are_shown() -> None:
    one, two = versions("app:1", "app:2")
    counts = {"observedReplicas": 4, "readyReplicas": 3, "updatedReplicas": 1, "updatedReadyReplicas": 1}
    status = {
        "currentRevision": one.revision_name,
        "updatedRevision": two.revision_name,
        "subsetStatuses": [{"name": "a", **counts}],
    }
    first, second = entries(read_status(status), [kept(one, 1), kept(two, 2)])
    assert first.places == (Place("a", "", 3, 2),)
    assert second.places == (Place("a", "", 1, 1),)


def test_a_revision_that_differs_in_another_subset_only_counts_for_the_updated_one() -> None:
    base = manifest(shares={"a": None, "b": None})
    patched = copy.deepcopy(base)
    patched["spec"]["topology"]["subsets"][1]["patch"] = {"metadata": {"labels": {"colour": "blue"}}}
    one, two = application(base), application(patched)
    status = {
        "currentRevision": one.revision_name,
        "updatedRevision": two.revision_name,
        "subsetStatuses": [{"name": "a", "revisions": [{"revision": one.template_hash, "replicas": 2}]}],
    }
    first, second = entries(read_status(status), [kept(one, 1), kept(two, 2)])
    assert not first.places
    assert [place.subset for place in second.places] == ["a"]


def test_other_controller_revisions_are_ignored() -> None:
    strange = Kept(RevisionMetadata(name="web-5f7", labels={names.LABEL_NAME: "web"}), 1)
    assert entries(read_status({}), [strange]) == ()


def with_changes(
    image: str, patch: dict[str, Any] | None = None, overrides: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    document = manifest(image=image, shares={"a": None, "b": None}, partitions={"a": 1})
    subset = document["spec"]["topology"]["subsets"][0]
    if patch is not None:
        subset["patch"] = patch
    if overrides is not None:
        subset["overrides"] = overrides
    return document


def undone(now: dict[str, Any], then: dict[str, Any]) -> tuple[Application, dict[str, Any]]:
    """The application after ud undo from one manifest to another."""
    spec = restored(now["spec"], application(then).revision_data)
    return application({**now, "spec": spec}), spec


def test_undo_restores_the_template_and_nothing_else() -> None:
    now, then = with_changes("app:2"), with_changes("app:1")
    now["spec"]["replicas"] = 20
    now["spec"]["template"]["statefulSetTemplate"]["spec"]["minReadySeconds"] = 5
    app, spec = undone(now, then)
    assert app.revision_name == application(then).revision_name
    assert spec["replicas"] == 20
    assert spec["updateStrategy"] == now["spec"]["updateStrategy"]
    assert app.workload_template["spec"]["minReadySeconds"] == 5
    assert list(merge_diff(now["spec"], spec)) == ["template"]


def test_undo_restores_the_changes_of_subsets_to_the_template() -> None:
    label = {"metadata": {"labels": {"colour": "blue"}}}
    app, _ = undone(with_changes("app:2"), with_changes("app:1", patch=label))
    assert app.revision_name == application(with_changes("app:1", patch=label)).revision_name
    app, spec = undone(with_changes("app:2", patch=label), with_changes("app:1"))
    assert app.revision_name == application(with_changes("app:1")).revision_name
    assert "patch" not in spec["topology"]["subsets"][0]


def test_undo_keeps_the_part_of_a_patch_for_the_rest_of_the_workload() -> None:
    label = {"metadata": {"labels": {"colour": "blue"}}}
    now = with_changes(
        "app:2", patch={"spec": {"minReadySeconds": 7, "template": {"metadata": {"labels": {"x": "y"}}}}}
    )
    app, spec = undone(now, with_changes("app:1", patch=label))
    assert app.revision_name == application(with_changes("app:1", patch=label)).revision_name
    assert spec["topology"]["subsets"][0]["patch"] == {"spec": {"minReadySeconds": 7, "template": label}}


def test_undo_restores_overrides_of_the_template_and_keeps_the_others() -> None:
    image = {"op": "replace", "path": "/spec/template/spec/containers/0/image"}
    seconds = {"op": "add", "path": "/spec/minReadySeconds", "value": 3}
    test = {"op": "test", "path": "/spec/template/spec/containers/0/image", "value": "app:2"}
    now = with_changes("app:2", overrides=[test, {**image, "value": "mirror/app:2"}, seconds])
    then = with_changes("app:1", overrides=[{**image, "value": "mirror/app:1"}])
    app, spec = undone(now, then)
    assert app.revision_name == application(then).revision_name
    assert spec["topology"]["subsets"][0]["overrides"] == [seconds, {**image, "value": "mirror/app:1"}]


def test_a_subset_that_was_added_later_keeps_its_changes() -> None:
    then = with_changes("app:1")
    now = with_changes("app:2")
    label = {"metadata": {"labels": {"colour": "blue"}}}
    now["spec"]["topology"]["subsets"].append({"name": "c", "patch": label})
    _, spec = undone(now, then)
    assert spec["topology"]["subsets"][2]["patch"] == label


VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def merged(document: dict[str, Any] | int | list[dict[str, Any] | list[str]] | None, patch: Any) -> Any:
    """RFC 7386, literally."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@given(OBJECTS, OBJECTS)
def test_the_merge_patch_turns_one_document_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, merge_diff(old, new)) == new
    assert merge_diff(new, new) == {}


@pytest.mark.parametrize("data", [b'{"template": {"spec": {}}}', b'{"template": 5}', b"[]"])
def test_a_damaged_revision_is_marked_and_its_data_is_not_used(data: bytes) -> None:
    """I16: the same check as the controller's, so that ``ud undo`` never applies what somebody put there."""
    (app,) = versions("app:1")
    damaged = msgspec.structs.replace(kept(app, 1), data=msgspec.Raw(data))
    (entry,) = entries(read_status({"currentRevision": app.revision_name}), [damaged])
    assert entry.markers == "current, damaged"
    assert entry.problem
    assert entry.as_dict()["problem"] == entry.problem
    assert entry.images == []
    assert not entry.content.template
