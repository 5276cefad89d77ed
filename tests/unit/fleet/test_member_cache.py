"""What a member's cache takes from watches and from answers, and in what order (I9)."""

import pytest

from uniteddeployment.fleet.cache import MemberCache
from uniteddeployment.planning.observed import Metadata, Workload
from uniteddeployment_api import names

KIND = "StatefulSet"
KEY = ("default", "web")


def workload(version: int, *, uid: str = "uid-1", generation: int = 1) -> Workload:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "a"}
    meta = Metadata("web-a", "default", uid, str(version), generation, labels=labels)
    return Workload(meta, KIND)


class Cache(MemberCache):
    """A cache that counts whom it tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        super().__init__(self.told.append)

    def versions(self) -> list[str]:
        return [one.metadata.resource_version for one in self.workloads(KEY)]


def test_the_event_that_follows_an_answer_queues_nobody() -> None:
    """I3"""
    cache = Cache()
    assert cache.keep(KIND, workload(5))
    cache.workload_changed(KIND, None, workload(5))
    cache.workload_changed(KIND, None, workload(4))
    assert cache.told == []
    cache.workload_changed(KIND, None, workload(6))
    assert cache.told == [KEY]
    assert cache.versions() == ["6"]


def test_an_answer_from_before_a_deletion_brings_nothing_back() -> None:
    cache = Cache()
    cache.workload_changed(KIND, None, workload(5))
    cache.workload_changed(KIND, workload(7), None)
    assert not cache.keep(KIND, workload(6))
    assert KEY not in cache


def test_the_same_object_can_come_back_after_its_deletion() -> None:
    """A watch with a label selector says that an object is gone when only its label is."""
    cache = Cache()
    cache.workload_changed(KIND, None, workload(5))
    cache.workload_changed(KIND, workload(7), None)
    assert cache.keep(KIND, workload(8))
    assert cache.versions() == ["8"]


def test_an_answer_that_is_later_than_a_deletion_outlives_its_event() -> None:
    """The label was removed and put back; the first event of the two comes after the answer to our own write."""
    cache = Cache()
    cache.workload_changed(KIND, None, workload(5))
    cache.keep(KIND, workload(8))
    cache.workload_changed(KIND, workload(7), None)
    assert cache.versions() == ["8"]


@pytest.mark.parametrize(("uid", "expected"), [("uid-1", "requested"), ("uid-2", None)])
def test_a_requested_deletion_is_expected_of_that_very_object(uid: str, expected: str | None) -> None:
    """A namesake that came in between is not taken for one that is going."""
    cache = Cache()
    cache.keep(KIND, workload(5, uid=uid))
    cache.expect_deletion(KEY, KIND, "web-a", "uid-1")
    assert [one.metadata.deletion_timestamp for one in cache.workloads(KEY)] == [expected]
