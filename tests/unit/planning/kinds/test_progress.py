"""The revisions that a workload's own controller knows, by its status and its pods (I6)."""

from typing import Any

import msgspec
import pytest

from tests.support.held import NEW, OLD, OTHER, case, context, made, native
from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.kinds.progress import (
    at_one_revision,
    current_revision,
    grows,
    remembers,
    remembers_another,
)
from uniteddeployment.planning.observed import CONTROLLER_REVISION, Pod, Workload, tally


def seen(*revisions: Any, pods: list[Pod] | None = None, **options: Any) -> tuple[SubsetContext, Workload]:
    known, found = case(len(revisions), 0, revisions, **options)
    return known if pods is None else context(**{**vars(known), "pods": tally(pods)}), found


@pytest.mark.parametrize(
    ("options", "one"),
    [
        ({"current": NEW}, True),
        ({"current": OLD}, False),
        ({"current": NEW, "observed": False}, False),
        ({"current": ""}, False),
    ],
)
def test_it_is_at_one_revision_when_its_status_is_new_and_names_the_same_twice(
    options: dict[str, Any], one: bool
) -> None:
    assert at_one_revision(seen(NEW, **options)[1]) is one


def test_a_pod_tells_which_revision_the_current_one_is() -> None:
    assert current_revision(*seen(NEW, OTHER, current=OTHER)) == OTHER
    assert current_revision(*seen(NEW, OLD, current=OTHER)) is None
    assert current_revision(*seen(current=NEW)) == NEW
    assert current_revision(*seen(current=NEW, observed=False)) is None
    assert current_revision(*seen(OLD, current=NEW, pods=[relabelled(NEW, OLD)])) == OLD, "not what the template says"


def relabelled(controllers: str, ours: str) -> Pod:
    """A pod whose two labels disagree."""
    pod = made(0, ours)
    labels = {**pod.metadata.labels, CONTROLLER_REVISION: controllers}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels))


@pytest.mark.parametrize(
    ("label", "current"), [(native(OLD), True), (OLD, True), ("", False), ("ld", False), (f"x{native(OLD)}", False)]
)
def test_a_pod_has_the_name_of_the_revision_or_its_hash_on_its_label(label: str, current: bool) -> None:
    context, found = seen(NEW, current=OLD, pods=[relabelled(label, OLD)])
    assert (current_revision(context, found) == OLD) is current
    assert remembers(context, found, OLD) is current


def test_it_remembers_the_revision_of_its_template_when_no_other_is_current() -> None:
    assert remembers(*seen(revision=OLD, current=OLD), OLD)
    assert not remembers(*seen(revision=OLD, current=OLD, observed=False), OLD)
    assert not remembers(*seen(revision=OLD, current=NEW), OLD)
    assert not remembers(*seen(revision=NEW, current=NEW), OLD)
    assert not remembers(*seen(NEW, revision=OLD, current=OLD, pods=[relabelled(native(OLD), NEW)]), OLD)


def test_it_remembers_the_current_revision_as_long_as_a_pod_of_it_lives() -> None:
    assert remembers(*seen(OLD, NEW, current=OLD), OLD)
    assert not remembers(*seen(OLD, NEW, current=OTHER), OLD), "the pod was made when the template was another one"
    assert not remembers(*seen(OTHER, NEW, current=OTHER), OLD)
    going = [made(0, OLD, deletion_timestamp="now"), made(1, NEW)]
    assert not remembers(*seen(OLD, NEW, current=OLD, pods=going), OLD)


def test_it_remembers_another_revision_than_the_target_as_long_as_a_pod_of_it_lives() -> None:
    assert remembers_another(*seen(OTHER, NEW, current=OTHER))
    assert not remembers_another(*seen(NEW, NEW, current=NEW))
    assert not remembers_another(*seen(OLD, NEW, current=OTHER))
    assert not remembers_another(*seen(OLD, NEW, current=OLD, pods=[made(0, OLD, deletion_timestamp="now")]))


@pytest.mark.parametrize(
    ("replicas", "options", "result"),
    [
        (4, {"current": OLD}, True),
        (3, {"current": OLD}, False),
        (2, {"current": OLD}, False),
        (3, {"current": NEW, "size": 3, "extra": -1}, True),
        (3, {"current": OLD, "size": 3, "extra": -1}, False),
        (3, {"current": NEW, "revision": OLD, "size": 3, "extra": -1}, True),
        (3, {"current": NEW, "revision": OLD, "size": 3, "extra": -1, "observed": False}, False),
        (2, {"current": NEW, "size": 3, "extra": -1}, False),
    ],
)
def test_it_grows_when_it_is_asked_for_more_or_has_not_made_all_pods_at_its_only_revision(
    replicas: int, options: dict[str, Any], result: bool
) -> None:
    """A pod that is missing for a moment in a canary comes back as it was."""
    context, found = case(replicas, 0, [NEW, NEW, NEW], **options)
    assert grows(context, found) is result
