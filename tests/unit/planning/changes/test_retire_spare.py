"""A leftover workload is deleted as soon as enough pods are ready without it, and not before (I7)."""

import pytest
from msgspec import structs

from tests.support import planning as make
from uniteddeployment.planning.observed import Pod
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import Delete


def deleted(pod: Pod) -> Pod:
    """The pod while it is being deleted."""
    return structs.replace(pod, metadata=structs.replace(pod.metadata, deletion_timestamp=make.NOW))


def removed(*, ready: int, unavailable: int | str, old: int = 2, replicas: int = 4, dying: int = 0) -> bool:
    """Whether the old workload goes, when so many of the wanted pods are ready."""
    app = make.application(
        make.manifest(
            replicas=replicas,
            shares={"member-1": replicas},
            topology={
                "subsets": [{"name": "member-1", "targetCluster": {"name": "member-1"}}],
                "maxUnavailable": unavailable,
            },
        )
    )
    former = make.application(make.manifest(shares={"member-2": None}, replicas=old))
    left = make.stateful_set(former, "member-2", replicas=old)
    found = make.stateful_set(app, "member-1", replicas=replicas, ready=ready)
    pods = make.pods(app, "member-1", [app.template_hash] * replicas)
    pods = [*map(deleted, pods[:dying]), *pods[dying:]]
    views = {"member-1": make.view("member-1", found, pods=pods), "member-2": make.view("member-2", left)}
    result = plan(make.subject(app), make.observed(views, revisions=(make.record(app),)))
    return any(isinstance(step, Delete) for step in result.members.get("default/member-2", ()))


@pytest.mark.parametrize(
    ("ready", "unavailable", "goes"),
    [
        (4, 0, True),
        (3, 0, False),
        (3, 1, True),
        (2, 1, False),
        (2, 2, True),
        (1, 2, False),
        (3, "25%", True),
        (2, "49%", False),
    ],
)
def test_the_last_pod_that_may_be_missing_decides(ready: int, unavailable: int | str, goes: bool) -> None:
    assert removed(ready=ready, unavailable=unavailable) is goes


def test_a_workload_without_a_ready_pod_goes_whatever_is_missing() -> None:
    assert removed(ready=0, unavailable=0, old=0)


def test_pods_that_are_being_replaced_are_not_ready_although_their_workload_still_counts_them() -> None:
    assert removed(ready=4, unavailable=1, dying=1)
    assert not removed(ready=4, unavailable=1, dying=2)
