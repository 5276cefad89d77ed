"""Random histories: whatever happens, in whatever order, the invariants hold at every write.

``make soak`` plays thousands. A story that it prints can be pasted into ``FOUND``.
"""

import pytest

from tests.simulation.histories.faults import fault_name
from tests.simulation.histories.player import play
from tests.simulation.histories.story import (
    Cordon,
    Edit,
    Image,
    NoPartition,
    Partition,
    Replace,
    Scale,
    Share,
    Step,
    Story,
    Total,
)
from tests.simulation.histories.verdict import judge

SEEDS = (0, 1, 2, 3, 5, 6, 12, 14, 23)
"""They tell of all kinds of workloads, and of each defect in ``test_histories_find.py``."""
FAULT_SEEDS = range(135, 150)
"""As many as there are faults of members: each seed has one of its own."""
SHRINK_SECONDS = 60.0

FOUND = {
    "the revision that was stable before was kept until something else changed": Story(
        "deploymentTemplate",
        (Step(Edit(Total(0))), Step(Edit(Image("app:2"))), Step(Edit(Total(5)))),
        history=0,
    ),
    "a write was sent to another cluster that had just taken the address of a member": Story(
        "deploymentTemplate",
        (Step(Edit(Image("app:2")), 0.0), Step(Replace(0, for_good=False))),
        adaptive=True,
        members=4,
    ),
    "a subset that shrank while its pods were updated seemed to lose an updated one": Story(
        "statefulSetTemplate",
        (Step(Edit(Image("app:2"), Partition(None, 1))), Step(Edit(NoPartition()), 0.0), Step(Scale(3))),
        adaptive=True,
        members=3,
    ),
    "replicas that lost their place were removed as if fewer were requested": Story(
        "deploymentTemplate",
        (Step(Cordon(member=1, on=True)), Step(Edit(Share(subset=0, value=1)))),
    ),
}
"""Stories that once broke an invariant, each as short as it can be."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_random_history_breaks_an_invariant(seed: int) -> None:
    """At every write I3 to I10 and I13 hold, and in the end everything is as requested.

    A failure shows the shortest story that breaks the same invariant.
    """
    verdict = judge(seed, shrink_seconds=SHRINK_SECONDS)
    assert not verdict.rule, str(verdict)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", FAULT_SEEDS, ids=map(fault_name, FAULT_SEEDS))
def test_no_fault_of_a_member_breaks_an_invariant(seed: int) -> None:
    """Beside the others: the budget holds, no ordinal runs twice, and the end is what a fresh plan gives."""
    verdict = judge(seed, shrink_seconds=SHRINK_SECONDS, faults=True)
    assert not verdict.rule, str(verdict)
    assert not verdict.figures.below_budget


@pytest.mark.parametrize("story", FOUND.values(), ids=FOUND)
def test_a_history_that_once_broke_an_invariant_breaks_none(story: Story) -> None:
    """What a soak has found does not come back."""
    assert play(story) is None
