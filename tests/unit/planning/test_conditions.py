"""What the conditions of an application say in each state, and which fields its status has."""

from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.planning import status
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.replicas.brake import Brake, Level
from uniteddeployment.planning.replicas.moving import Moving
from uniteddeployment.planning.results import Counts, SubsetResult
from uniteddeployment.planning.status import Condition, build, summarize, with_conditions
from uniteddeployment.planning.stored import (
    RevisionCount,
    StoredCondition,
    StoredDrift,
    StoredLeftover,
    StoredStatus,
    StoredSubset,
)
from uniteddeployment_api.v1alpha1.meta import INT32_MAX

APP = make.application(make.manifest())
PAUSED = make.application(make.manifest(paused=True))


def result(name: str = "a", **fields: Any) -> SubsetResult:
    counts = fields.pop("counts", Counts(4, 4, 4, 4))
    given: dict[str, Any] = {
        "cluster": f"default/{name}",
        "reach": Reach.READY,
        "workload": f"StatefulSet/web-{name}",
        "replicas": 4,
        "partition": 0,
        "revision": "r",
        "settled": True,
        "message": f"why {name}",
        "desired": 4,
        "assigned": 4,
    }
    return SubsetResult(name=name, counts=counts, **(given | fields))


WAITS = result("b", settled=False, message="2 of 4 pods ready", counts=Counts(4, 2, 4, 2))
STALLED = result("c", settled=False, stalled=True, message="no such cluster", counts=Counts())
UNSEEN = result("d", settled=False, reach=Reach.OFFLINE, message="it is Offline")
HELD = result("e", partition=3, counts=Counts(4, 4, 1, 1))


def conditions(*results: SubsetResult, app: Any = APP, **more: Any) -> list[tuple[str, str, str, str]]:
    given: dict[str, Any] = {"unplaced": 0, "why_unplaced": "", "leftovers": "", "lost": (), "writing": False}
    found = summarize(app, results, **(given | more))
    return [(one.type, one.status, str(one.reason), one.message) for one in found]


def case(*results: SubsetResult, ready: Any, busy: Any, stalled: Any = ("False", "AsExpected", ""), **more: Any) -> Any:
    return results, more, [("Ready", *ready), ("Reconciling", *busy), ("Stalled", *stalled)]


CASES = {
    "all is well": case(
        result(), result("b"), ready=("True", "Ready", "8 of 8 pods ready"), busy=("False", "Ready", "")
    ),
    "held": case(
        result(), HELD, ready=("True", "Held", "8 of 8 pods ready, 3 held by partitions"), busy=("False", "Held", "")
    ),
    "more updated than the partition allows": case(
        result(partition=3, counts=Counts(4, 4, 2, 2)),
        ready=("True", "Held", "4 of 4 pods ready, 2 held by partitions"),
        busy=("False", "Held", ""),
    ),
    "waits": case(
        result(),
        WAITS,
        ready=("False", "Progressing", "6 of 8 pods ready; b: 2 of 4 pods ready"),
        busy=("True", "Progressing", "b: 2 of 4 pods ready"),
    ),
    "stalled": case(
        WAITS,
        STALLED,
        ready=("False", "Stalled", "2 of 8 pods ready; c: no such cluster"),
        busy=("True", "Progressing", "b: 2 of 4 pods ready; c: no such cluster"),
        stalled=("True", "Blocked", "c: no such cluster"),
    ),
    "unseen": case(
        result(),
        UNSEEN,
        ready=("Unknown", "Unknown", "8 of 8 pods ready; d: it is Offline"),
        busy=("False", "Unknown", ""),
    ),
    "unseen and stalled": case(
        result("d", settled=False, stalled=True, reach=Reach.OFFLINE, message="broken"),
        ready=("False", "Stalled", "4 of 4 pods ready; d: broken"),
        busy=("False", "Stalled", ""),
        stalled=("True", "Blocked", "d: broken"),
    ),
    "lost workloads": case(
        result(),
        lost=["web-x may run in default/x"],
        ready=("Unknown", "Unknown", "4 of 4 pods ready; web-x may run in default/x"),
        busy=("False", "Unknown", ""),
    ),
    "leftovers": case(
        result(),
        leftovers="web-old waits",
        ready=("False", "Progressing", "4 of 4 pods ready; web-old waits"),
        busy=("True", "Progressing", "web-old waits"),
    ),
    "writing": case(
        result(), writing=True, ready=("True", "Ready", "4 of 4 pods ready"), busy=("True", "Progressing", "")
    ),
    "paused": case(
        result(paused=True),
        app=PAUSED,
        writing=True,
        ready=("True", "Paused", "4 of 4 pods ready"),
        busy=("False", "Paused", "spec.paused is set"),
    ),
    "paused with leftovers": case(
        result(paused=True),
        app=PAUSED,
        leftovers="web-old waits",
        ready=("False", "Paused", "4 of 4 pods ready; web-old waits"),
        busy=("False", "Paused", "spec.paused is set"),
    ),
    "no place": case(
        result(),
        unplaced=2,
        why_unplaced="a is full",
        ready=("False", "Stalled", "4 of 6 pods ready; 2 of 6 replicas have no place: a is full"),
        busy=("False", "Stalled", ""),
        stalled=("True", "Blocked", "2 of 6 replicas have no place: a is full"),
    ),
    "shares that do not fit": case(
        result(),
        why_unplaced="the shares are less than 100 %",
        ready=("True", "Ready", "4 of 4 pods ready"),
        busy=("False", "Ready", ""),
        stalled=("True", "Blocked", "the shares are less than 100 %"),
    ),
    "stand-ins": case(
        result("a", desired=5, covered=2, counts=Counts(5, 3, 5, 3)),
        result("b", desired=5, counts=Counts(5, 5, 5, 5)),
        ready=("True", "Ready", "8 of 8 pods ready, 2 more wait to be scheduled"),
        busy=("False", "Ready", ""),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conditions_say_whether_it_is_as_asked_for_whether_it_will_be_and_whether_a_user_has_to_act(name: str) -> None:
    """I8"""
    results, more, expected = CASES[name]
    assert conditions(*results, **more) == expected


MOVE = Moving("a", ("b",), 2, seen=True)
ARRIVED = Moving("a", ("b",), 2, seen=True, done=True)
BLIND = Moving("a", ("b",), 2, seen=False)
GONE = Moving("a", ("b",), 2, seen=False, done=True)


def test_a_move_is_progress_and_its_surplus_is_not_counted() -> None:
    ready, busy, stalled, moving = conditions(result(counts=Counts(6, 6, 6, 6)), moving=[MOVE])
    assert ready == ("Ready", "False", "Progressing", "4 of 4 pods ready; a: 2 replicas move to b")
    assert busy == ("Reconciling", "True", "Progressing", "a: 2 replicas move to b")
    assert stalled[1] == "False"
    assert moving == ("Moving", "True", "Moving", "a: 2 replicas move to b")


@pytest.mark.parametrize(
    ("moving", "brake", "expected"),
    [
        ([], Brake(), []),
        ([ARRIVED], Brake(), [("True", "Moving", "a: 2 replicas move to b")]),
        ([BLIND], Brake(), [("True", "Moving", str(BLIND))]),
        ([GONE], Brake(), []),
        ([MOVE, BLIND], Brake(), [("True", "Moving", f"{MOVE}; {BLIND}")]),
        (
            [MOVE],
            Brake(Level.STOPPED, "3 of 3 clusters are Offline"),
            [
                (
                    "False",
                    Level.STOPPED.value,
                    "3 of 3 clusters are Offline: no replicas leave lost or tainted clusters",
                )
            ],
        ),
        (
            [MOVE],
            Brake(Level.SLOWED, "2 of 3 are Offline", 20),
            [
                (
                    "True",
                    Level.SLOWED.value,
                    f"2 of 3 are Offline: one replica leaves lost or tainted clusters every 20 seconds; {MOVE}",
                )
            ],
        ),
        (
            [],
            Brake(Level.SLOWED, "2 of 3 are Offline", 20),
            [
                (
                    "True",
                    Level.SLOWED.value,
                    "2 of 3 are Offline: one replica leaves lost or tainted clusters every 20 seconds",
                )
            ],
        ),
    ],
)
def test_moving_lists_what_moves_and_what_keeps_it_from_moving(
    moving: list[Moving], brake: Brake, expected: list[tuple[str, str, str]]
) -> None:
    found = conditions(result(), moving=moving, brake=brake)[3:]
    assert found == [("Moving", *one) for one in expected]


def test_a_refused_and_a_deleted_application_say_so() -> None:
    assert status.refused_conditions("InvalidSpec", "spec.replicas: must not be negative") == (
        Condition("Ready", "False", "Stalled", "spec.replicas: must not be negative"),
        Condition("Reconciling", "False", "Stalled", "nothing is changed until the spec is corrected"),
        Condition("Stalled", "True", "InvalidSpec", "spec.replicas: must not be negative"),
    )
    assert status.deletion_conditions("2 workloads are left") == (
        Condition("Ready", "False", "Deleting", "2 workloads are left"),
        Condition("Reconciling", "True", "Deleting", "2 workloads are left"),
        Condition("Stalled", "False", "AsExpected", ""),
    )


FULL = result(
    replicas=3,
    assigned=5,
    desired=4,
    moved=1,
    possibly_running=6,
    counts=Counts(5, 4, 3, 2),
    partition=2,
    stable_revision="s",
    generation=9,
    ordinals_start=10,
    reserved=1,
    covered=1,
    conditions=(StoredCondition("Served", "False"),),
    revisions=(RevisionCount("z", 3), RevisionCount("y", 2)),
    last_observed=make.NOW,
    last_drift=StoredDrift(make.NOW, "image"),
)


def built(*results: SubsetResult, stored: Any = None, **more: Any) -> StoredStatus:
    given: dict[str, Any] = {"unplaced": 0, "current": "web-1", "updated": "web-2", "now": make.NOW}
    subject = make.subject(APP, status=stored)
    return build(subject, APP, results, (Condition("Ready", "True", "Ready", "why"),), **(given | more))


def test_a_status_has_the_numbers_of_its_subsets_and_their_sums() -> None:
    made = built(FULL, result("b", counts=Counts(1, 1, 1, 1)), unplaced=2, last_move="before")
    assert made.subset_statuses is not None
    assert (
        made.subset_statuses[0]
        == StoredSubset(
            name="a",
            cluster="default/a",
            state="Held",
            workload="StatefulSet/web-a",
            replicas=5,
            desired_replicas=4,
            moved_replicas=1,
            possibly_running=6,
            observed_replicas=5,
            ready_replicas=4,
            updated_replicas=3,
            updated_ready_replicas=2,
            partition=2,
            revision="r",
            stable_revision="s",
            reason="why a",
            observed_generation=9,
            ordinals_start=10,
            reserved_replicas=1,
            conditions=(StoredCondition("Served", "False"),),
            revisions=(RevisionCount("y", 2), RevisionCount("z", 3)),
            last_observed_time=make.NOW,
            last_drift=StoredDrift(make.NOW, "image"),
        )
        or made.subset_statuses[0].state
    )
    sums = (made.replicas, made.ready_replicas, made.updated_replicas, made.updated_ready_replicas)
    assert sums == (5, 5, 4, 3), "a pod that has a stand-in does not count"
    assert (made.unplaced_replicas, made.possibly_running_replicas, made.last_move_time) == (2, 6, "before")
    assert (made.current_revision, made.updated_revision, made.label_selector) == ("web-1", "web-2", "app=web")
    assert made.observed_generation == 1
    assert made.conditions == (StoredCondition("Ready", "True", 1, make.NOW, "Ready", "why"),)
    assert made.subset_statuses[1].desired_replicas is None
    assert made.leftovers is None


def test_what_may_still_run_is_only_shown_if_there_is_any_or_was() -> None:
    assert built(result()).possibly_running_replicas is None
    assert built(result(), stored={"possiblyRunningReplicas": 3}).possibly_running_replicas == 0
    unseen = StoredLeftover(subset="x", observed_replicas=2, last_observed_time=make.NOW)
    seen = StoredLeftover(subset="y", observed_replicas=4)
    made = built(result(possibly_running=1), leftovers=[unseen, seen])
    assert made.possibly_running_replicas == 3
    assert made.leftovers == (unseen, seen)


def test_sums_stay_within_the_range_of_the_schema() -> None:
    huge = Counts(INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX)
    made = built(result(counts=huge), result("b", counts=huge))
    assert (made.replicas, made.ready_replicas) == (INT32_MAX, INT32_MAX)


def test_the_revisions_with_the_most_pods_are_listed_by_name() -> None:
    many = [RevisionCount(f"r{number:02}", number) for number in range(status.MOST_REVISIONS + 2)]
    made = built(result(revisions=tuple(many)))
    assert made.subset_statuses is not None
    assert [one.revision for one in made.subset_statuses[0].revisions] == [one.revision for one in many[2:]]


def test_only_the_conditions_of_a_stored_status_change_if_nothing_else_is_known() -> None:
    subject = make.subject(APP, status={"replicas": 7, "observedGeneration": 0})
    made = with_conditions(subject, (Condition("Ready", "False", "x", "m" * 5000),), make.NOW)
    assert (made.replicas, made.observed_generation) == (7, 1)
    assert made.conditions is not None
    assert made.conditions[0].message is not None
    assert len(made.conditions[0].message) == status.LONGEST_CONDITION


def test_a_lost_cluster_counts_only_for_what_it_is_to_have() -> None:
    counts = Counts(6, 5, 4, 3)
    assert result(reach=Reach.OFFLINE, desired=4, counts=counts).counted == Counts(4, 4, 4, 3)
    assert result(reach=Reach.OFFLINE, desired=6, counts=counts).counted == counts
    assert result(desired=4, counts=counts).counted == counts
