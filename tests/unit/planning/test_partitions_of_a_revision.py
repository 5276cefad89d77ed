"""Partitions that are for one revision hold the next template from the write on that brings it (I6)."""

import pytest

from tests.support.planning import application, manifest
from uniteddeployment.planning.replicas.divide import partition


def held(image, manual):
    document = manifest(image=image, shares={"a": 4, "b": 2}, replicas=None)
    document["spec"]["updateStrategy"] = {"manualUpdate": manual}
    app = application(document)
    return [partition(app, name, size) for name, size in (("a", 4), ("b", 2))]


def revision_of(image):
    return application(manifest(image=image, shares={"a": 4, "b": 2}, replicas=None)).revision_name


@pytest.mark.parametrize(("image", "expected"), [("app:2", [1, 0]), ("app:3", [4, 2])])
def test_partitions_apply_to_their_revision_and_the_default_partition_to_every_other_one(image, expected):
    manual = {"partition": "100%", "partitions": {"a": 1, "b": 0}, "revision": revision_of("app:2")}
    assert held(image, manual) == expected


@pytest.mark.parametrize("image", ["app:2", "app:3"])
def test_partitions_without_a_revision_apply_to_every_template(image):
    assert held(image, {"partition": "100%", "partitions": {"a": 1}}) == [1, 2]
