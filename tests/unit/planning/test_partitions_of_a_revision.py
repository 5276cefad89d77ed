"""Partitions that are for one revision hold the next template from the write on that brings it (I6)."""

from typing import Any

import pytest

from tests.support.planning import application, manifest
from uniteddeployment.planning.replicas.divide import partition


def held(image: str, manual: dict[str, Any]) -> list[int]:
    document = manifest(image=image, shares={"a": 4, "b": 2}, replicas=None)
    document["spec"]["updateStrategy"] = {"manualUpdate": manual}
    app = application(document)
    return [partition(app, name, size) for name, size in (("a", 4), ("b", 2))]


def revision_of(image: str) -> str:
    return application(manifest(image=image, shares={"a": 4, "b": 2}, replicas=None)).revision_name


@pytest.mark.parametrize(("image", "expected"), [("app:2", [1, 0]), ("app:3", [4, 2])])
def test_partitions_apply_to_their_revision_and_the_default_partition_to_every_other_one(
    image: str, expected: list[int]
) -> None:
    manual = {"partition": "100%", "partitions": {"a": 1, "b": 0}, "revision": revision_of("app:2")}
    assert held(image, manual) == expected


@pytest.mark.parametrize("image", ["app:2", "app:3"])
def test_partitions_without_a_revision_apply_to_every_template(image: str) -> None:
    assert held(image, {"partition": "100%", "partitions": {"a": 1}}) == [1, 2]


@pytest.mark.parametrize(
    ("manual", "expected"),
    [
        ({"partitions": {"a": 1}, "maxUpdated": {"a": 2}}, [2, 0]),
        ({"partitions": {"a": 3}, "maxUpdated": {"a": 2}}, [3, 0]),
        ({"partitions": {"a": 0}, "maxUpdated": {"a": 9, "b": 0}}, [0, 2]),
        ({"partition": 0, "revert": ["b"]}, [0, 2]),
    ],
)
def test_the_larger_of_the_partition_and_what_the_maximum_leaves_is_held_and_all_of_a_reverted_subset(
    manual: dict[str, Any], expected: list[int]
) -> None:
    assert held("app:2", manual) == expected
    assert held("app:3", {**manual, "partition": 0, "revision": revision_of("app:2")}) == [0, 0]
