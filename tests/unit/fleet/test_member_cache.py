"""The cache of a member: its workloads and pods by application, and whom it calls when they change."""

import pytest
from msgspec.structs import replace

from uniteddeployment.fleet.cache import MemberCache
from uniteddeployment.kube.watch import ADDED, DELETED, MODIFIED, Change
from uniteddeployment.planning.observed import Pod, PodCondition, PodMetadata, PodStatus, Workload, WorkloadMetadata
from uniteddeployment_api import names

KIND = "StatefulSet"
KEY = ("default", "web")


def workload(version: int, *, uid: str = "uid-1", application: str = "web") -> Workload:
    labels = {names.LABEL_NAME: application, names.LABEL_SUBSET: "a"}
    meta = WorkloadMetadata("web-a", "default", uid, str(version), 1, labels=labels)
    return Workload(meta, KIND)


def pod(version: int, name: str = "web-a-0", *, subset: str = "a", ready: bool = False) -> Pod:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: subset}
    conditions = (PodCondition("Ready", "True"),) if ready else ()
    return Pod(
        PodMetadata(name, "default", f"uid-{name}", str(version), labels=labels), PodStatus("Running", conditions)
    )


class Cache(MemberCache):
    """A cache that notes whom it calls."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.touches = 0
        super().__init__(self.told.append, on_contact=self._count)

    def _count(self) -> None:
        self.touches += 1

    def sees(self, kind: str, *states: Workload) -> None:
        """Events of the watch of StatefulSets."""
        self.workload_caches[KIND].take([Change(kind, state) for state in states])

    def sees_pods(self, kind: str, *states: Pod) -> None:
        self.pod_cache.take([Change(kind, state) for state in states])

    def versions(self) -> list[str]:
        return [one.metadata.resource_version for one in self.workloads(KEY)]

    def counts(self) -> dict[str, int]:
        return {subset: counted.total for subset, counted in self.pods(KEY).items()}


def test_the_event_that_follows_an_answer_queues_no_application() -> None:
    """I3, I9"""
    cache = Cache()
    assert cache.merge(KIND, workload(5))
    cache.sees(ADDED, workload(4), workload(5))
    assert cache.told == []
    cache.sees(MODIFIED, workload(6))
    assert cache.told == [KEY]
    assert cache.versions() == ["6"]


def test_changes_by_watches_and_by_answers_count_as_contact() -> None:
    """I8: the time of the last contact is shown for a member that does not answer any more."""
    cache = Cache()
    cache.merge(KIND, workload(5))
    assert not cache.merge(KIND, workload(5))
    cache.sees(MODIFIED, workload(6))
    cache.sees_pods(ADDED, pod(7))
    assert cache.touches == 3


@pytest.mark.parametrize(("uid", "expected"), [("uid-1", "requested"), ("uid-2", None)])
def test_a_requested_deletion_is_expected_of_that_very_object(uid: str, expected: str | None) -> None:
    """An object with the same name that came in between is not marked (I13)."""
    cache = Cache()
    cache.merge(KIND, workload(5, uid=uid))
    cache.expect_deletion(KEY, KIND, "web-a", "uid-1")
    assert [one.metadata.deletion_timestamp for one in cache.workloads(KEY)] == [expected]


def test_a_workload_has_the_name_of_its_kind_wherever_it_comes_from() -> None:
    """Objects in lists have no kind, and an Advanced StatefulSet calls itself StatefulSet."""
    cache = Cache()
    cache.merge("AdvancedStatefulSet", workload(5))
    cache.sees(ADDED, replace(workload(6), kind=""))
    assert [one.kind for one in cache.workloads(KEY)] == ["AdvancedStatefulSet", "StatefulSet"]


def test_workloads_are_found_by_their_application_only() -> None:
    """I13"""
    cache = Cache()
    cache.sees(ADDED, workload(5))
    assert cache.workload(KEY, KIND, "web-a") == workload(5)
    assert cache.workload(("default", "other"), KIND, "web-a") is None
    assert cache.workload(KEY, "Deployment", "web-a") is None
    assert (KEY in cache, ("default", "other") in cache) == (True, False)


def test_a_workload_that_is_given_to_another_application_leaves_the_first() -> None:
    """Somebody edited its label: both applications have to look at it."""
    cache = Cache()
    cache.sees(ADDED, workload(5))
    cache.told.clear()
    cache.sees(MODIFIED, workload(6, application="other"))
    assert sorted(cache.told) == [("default", "other"), KEY]
    assert (KEY in cache, ("default", "other") in cache) == (False, True)


def test_pods_are_counted_by_subset_and_again_when_they_change() -> None:
    cache = Cache()
    cache.sees_pods(ADDED, pod(1), pod(2, "web-a-1"), pod(3, "web-b-0", subset="b"))
    assert cache.counts() == {"a": 2, "b": 1}
    untouched = cache.pods(KEY)["b"]
    cache.sees_pods(DELETED, pod(4))
    cache.sees_pods(MODIFIED, pod(5, "web-a-1", ready=True))
    assert cache.counts() == {"a": 1, "b": 1}
    assert cache.pods(KEY)["a"].ready == {"": 1}
    assert cache.pods(KEY)["b"] is untouched, "only what changed is counted again"


def test_a_pod_that_moves_to_another_subset_is_counted_there() -> None:
    cache = Cache()
    cache.sees_pods(ADDED, pod(1), pod(2, "web-a-1"))
    assert cache.counts() == {"a": 2}
    cache.sees_pods(MODIFIED, pod(3, subset="b"))
    assert cache.counts() == {"a": 1, "b": 1}


def test_an_application_without_pods_and_workloads_is_not_known_any_more() -> None:
    cache = Cache()
    cache.sees_pods(ADDED, pod(1))
    assert cache.counts() == {"a": 1}
    cache.sees_pods(DELETED, pod(2))
    assert KEY not in cache
    assert cache.pods(KEY) == {}
