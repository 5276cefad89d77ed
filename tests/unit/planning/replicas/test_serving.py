"""How many ready pods a subset has, and how many certainly stay when it shrinks."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.planning.observed import (
    Ordinals,
    Pod,
    PodCondition,
    PodMetadata,
    PodStatus,
    Reach,
    Workload,
    WorkloadSpec,
    tally,
)
from uniteddeployment.planning.replicas.serving import NOBODY, Serving, ready_leftovers, serving
from uniteddeployment_api import names


def application(kind: str = "statefulSetTemplate") -> Any:
    return make.application(make.manifest(kind=kind, shares={"member-1": 4, "member-2": 4}))


def pod(ordinal: int, *, ready: bool = True, revision: str = "r", deleted: bool = False) -> Pod:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "member-1", names.LABEL_REVISION: revision}
    when = "2026-01-01T00:00:00Z" if deleted else None
    meta = PodMetadata(
        name=f"web-{ordinal}", namespace="default", uid=f"u{ordinal}", labels=labels, deletion_timestamp=when
    )
    return Pod(meta, PodStatus("Running", (PodCondition("Ready", "True" if ready else "False"),)))


def view(app: Any, *found: Pod, first: int = 0, replicas: int | None = None, ready: int = 0) -> Any:
    number = len(found) if replicas is None else replicas
    workload = make.stateful_set(app, "member-1", replicas=number, ready=ready)
    spec = WorkloadSpec(number, workload.spec.update_strategy, Ordinals(first) if first else None)
    workload = msgspec.structs.replace(workload, spec=spec)
    return replace(make.view("member-1", workload), pods={"member-1": tally(found)} if found else {})


@pytest.mark.parametrize(
    ("ordinals", "first", "places"),
    [((0, 1, 2), 0, (0, 1, 2)), ((0, 2), 0, (0, 2)), ((10, 12), 10, (0, 2)), ((9, 10), 10, (0, 0))],
)
def test_the_pods_of_a_stateful_set_go_from_its_highest_ordinal_down(
    ordinals: tuple[int, ...], first: int, places: tuple[int, ...]
) -> None:
    app = application()
    found = serving(app, view(app, *map(pod, ordinals), pod(99, ready=False), first=first), "member-1", 4)
    assert found == Serving(len(ordinals), len(ordinals) + 1, places=places)


@pytest.mark.parametrize(
    ("ordinals", "first", "given", "places"),
    [
        ((0, 1, 2), 0, 3, (0, 1, 2)),
        ((0, 2, 3), 0, 3, (0, 1, 2)),
        ((0, 2, 3), 0, 4, (1, 2, 3)),
        ((5, 6), 5, 4, (0, 1)),
        ((5, 7), 5, 4, (2, 3)),
        ((), 0, 4, ()),
    ],
)
def test_reserved_ordinals_of_an_advanced_stateful_set_are_no_places(
    ordinals: tuple[int, ...], first: int, given: int, places: tuple[int, ...]
) -> None:
    """A missing pod may be one of the lowest, so the worst is assumed."""
    app = application("advancedStatefulSetTemplate")
    found = serving(app, view(app, *map(pod, ordinals), first=first), "member-1", given)
    assert found == Serving(len(ordinals), len(ordinals), places=places)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([pod(0), pod(1, ready=False)], Serving(1, 2, unready_first=True)),
        ([pod(0), pod(1, ready=False, revision="s")], Serving(1, 2, unready_first=False)),
        ([pod(0), pod(1, deleted=True)], Serving(1, 1, unready_first=True)),
    ],
)
def test_other_controllers_remove_pods_that_are_not_ready_first_among_those_of_one_revision(
    pods: list[Pod], expected: Serving
) -> None:
    app = application("cloneSetTemplate")
    assert serving(app, view(app, *pods), "member-1", 4) == expected


def test_pods_that_do_not_have_our_labels_are_counted_by_their_workload() -> None:
    app = application()
    ours = view(app, pod(0), replicas=3, ready=2)
    (workload,) = ours.workloads
    named = msgspec.structs.replace(workload.metadata, name="as-it-was")
    adopted = replace(ours, workloads=(msgspec.structs.replace(workload, metadata=named),))
    assert serving(app, adopted, "member-1", 4) == Serving(2, 3, unready_first=False)
    two = view(app, pod(0), pod(1), ready=2)
    other: Workload = msgspec.structs.replace(two.workloads[0], kind="Deployment")
    assert serving(app, replace(two, workloads=(*two.workloads, other)), "member-1", 4) == Serving(
        2, 2, unready_first=False
    )


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "cloneSetTemplate", "deploymentTemplate"])
def test_pods_that_are_replaced_do_not_serve_although_their_workload_still_counts_them(kind: str) -> None:
    """I7: its controller notices later that a pod is being deleted, or is gone."""
    app = application(kind)
    assert serving(app, view(app, pod(0), pod(1, deleted=True), replicas=2, ready=2), "member-1", 2).ready == 1
    gone = view(app, pod(0), replicas=2, ready=2)
    assert serving(app, gone, "member-1", 2).ready == 1
    other: Workload = msgspec.structs.replace(gone.workloads[0], kind="Job")
    both = replace(gone, workloads=(*gone.workloads, other))
    assert serving(app, both, "member-1", 2).ready == 1


def test_what_cannot_be_read_or_is_not_ours_serves_nobody() -> None:
    app = application()
    seen = view(app, pod(0), ready=1)
    assert serving(app, None, "member-1", 4) == NOBODY
    assert serving(app, replace(seen, reach=Reach.OFFLINE), "member-1", 4) == NOBODY
    assert serving(app, replace(seen, unread={"StatefulSet": "x"}), "member-1", 4) == NOBODY
    assert serving(app, replace(seen, unread={"CloneSet": "x"}), "member-1", 4).ready == 1
    assert serving(app, seen, "member-2", 4) == Serving(0, 0, places=())
    stranger = msgspec.structs.replace(
        seen.workloads[0],
        metadata=msgspec.structs.replace(
            seen.workloads[0].metadata,
            annotations={names.ANNOTATION_OWNER_UID: "another"},
        ),
    )
    alone = replace(seen, workloads=(stranger,), pods={})
    assert serving(app, alone, "member-1", 4) == Serving(0, 0, places=())


@pytest.mark.parametrize(
    ("ready", "existing", "replicas", "first", "any_"),
    [(2, 4, 4, 2, 2), (2, 4, 3, 2, 1), (2, 4, 2, 2, 0), (2, 4, 1, 1, 0), (3, 3, 0, 0, 0), (2, 2, 5, 2, 2)],
)
def test_the_worst_choice_is_assumed_where_it_is_not_known(
    ready: int, existing: int, replicas: int, first: int, any_: int
) -> None:
    assert Serving(ready, existing).kept(replicas) == first
    assert Serving(ready, existing, unready_first=False).kept(replicas) == any_


def test_leftovers_serve_as_long_as_they_are_not_being_deleted() -> None:
    app = application()
    old = make.stateful_set(app, "member-1", replicas=3, ready=2)
    in_place = make.stateful_set(app, "member-2", replicas=4)
    other_kind = msgspec.structs.replace(in_place, kind="Deployment")
    deleted = msgspec.structs.replace(
        old, metadata=msgspec.structs.replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    )
    stranger = msgspec.structs.replace(
        old, metadata=msgspec.structs.replace(old.metadata, annotations={names.ANNOTATION_OWNER_UID: "another"})
    )

    def count(*workloads: Workload, reach: Reach = Reach.READY) -> int:
        return ready_leftovers(app, make.observed({"member-2": make.view("member-2", *workloads, reach=reach)}))

    assert count(old) == 2
    assert count(in_place) == 0
    assert count(other_kind) == 4
    assert count(old, other_kind, deleted, stranger) == 6
    assert count(old, reach=Reach.OFFLINE) == 0
