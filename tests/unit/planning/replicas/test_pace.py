"""The one rule for moves: replacements come first, within one availability budget."""

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uniteddeployment.planning.replicas.pace import Budget, Party, floor, pace
from uniteddeployment.planning.replicas.serving import Serving


@dataclass
class Subset:
    """A subset in a small world: its pods are places 0 to ``assigned - 1``, as those of a StatefulSet."""

    assigned: int
    desired: int
    ready: set[int]
    ordered: bool

    def party(self, name: str) -> Party:
        serving = Serving(len(self.ready), self.assigned, places=tuple(sorted(self.ready)) if self.ordered else None)
        return Party(name=name, given=self.assigned, desired=self.desired, serving=serving)

    def scale(self, replicas: int) -> None:
        """Remove pods as the controllers of workloads do: the highest, or those that are not ready, first."""
        if not self.ordered and replicas < self.assigned:
            self.ready = set(range(min(len(self.ready), replicas)))
        self.assigned = replicas
        self.ready = {place for place in self.ready if place < replicas}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Subset], int, random.Random]:
    """Subsets of an application whose desired division differs from the present one, and its budget."""
    count = draw(st.integers(2, 5))
    total = draw(st.integers(1, 12))
    now = [0] * count
    then = [0] * count
    for _ in range(total):
        now[draw(st.integers(0, count - 1))] += 1
        then[draw(st.integers(0, count - 1))] += 1
    subsets = []
    for assigned, desired in zip(now, then, strict=True):
        ready = draw(st.sets(st.integers(0, assigned - 1)) if assigned else st.just(set()))
        subsets.append(Subset(assigned, desired, ready, draw(st.booleans())))
    return subsets, draw(st.integers(0, total)), draw(st.randoms(use_true_random=False))


def apply_pace(subsets: list[Subset], unavailable: int, free: int = 0) -> dict[str, int]:
    total = sum(subset.desired for subset in subsets)
    parties = [subset.party(str(index)) for index, subset in enumerate(subsets)]
    numbers = pace(parties, Budget(floor(total, unavailable), free=free))
    for subset, number in zip(subsets, numbers.values(), strict=True):
        subset.scale(number)
    return numbers


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_a_move_keeps_the_budget_and_ends_at_the_desired_division(
    world: tuple[list[Subset], int, random.Random],
) -> None:
    """Every step keeps as many pods ready as the budget demands; nothing oscillates; the end is what was desired."""
    subsets, unavailable, chance = world
    total = sum(subset.desired for subset in subsets)
    moving = sum(max(0, subset.assigned - subset.desired) for subset in subsets)
    for _ in range(200):
        before = [subset.assigned for subset in subsets]
        ready = sum(len(subset.ready) for subset in subsets)
        numbers = apply_pace(subsets, unavailable)
        assert sum(len(subset.ready) for subset in subsets) >= min(ready, floor(total, unavailable)), "the budget"
        assert sum(numbers.values()) <= total + moving, "no more surplus than what moves"
        for subset, was in zip(subsets, before, strict=True):
            assert min(was, subset.desired) <= subset.assigned <= max(was, subset.desired), "progress in one direction"
        assert apply_pace(subsets, unavailable) == numbers, "again without a change, it changes nothing"
        if all(subset.assigned == subset.desired for subset in subsets):
            return
        missing = [
            (subset, place) for subset in subsets for place in range(subset.assigned) if place not in subset.ready
        ]
        if missing:
            subset, place = chance.choice(missing)
            subset.ready.add(place)
    pytest.fail("it does not end")


@settings(max_examples=100, deadline=None)
@given(worlds(), st.integers(0, 6))
def test_replicas_that_only_go_do_not_wait(world: tuple[list[Subset], int, random.Random], fewer: int) -> None:
    """A lower total is not a move: so many replicas go at once, whatever is ready; the others are still paced."""
    subsets, unavailable, _ = world
    for subset in subsets:
        cut = min(fewer, subset.desired)
        subset.desired -= cut
        fewer -= cut
    surplus = sum(subset.assigned - subset.desired for subset in subsets)
    free = min(surplus, sum(max(0, subset.assigned - subset.desired) for subset in subsets))
    before = sum(max(subset.assigned, subset.desired) for subset in subsets)
    assert sum(apply_pace(subsets, unavailable, free=free).values()) <= before - free


def test_the_last_ready_pod_stays_until_its_replacement_is_ready_whatever_the_budget() -> None:
    """I7: even if all pods may be unavailable."""
    old = Subset(assigned=1, desired=0, ready={0}, ordered=True)
    new = Subset(assigned=0, desired=1, ready=set(), ordered=True)
    assert apply_pace([old, new], unavailable=5) == {"0": 1, "1": 1}
    new.ready = {0}
    assert apply_pace([old, new], unavailable=5) == {"0": 0, "1": 1}


def test_pods_that_are_not_ready_have_nothing_to_wait_for() -> None:
    """An application without a ready pod moves at once."""
    old = Subset(assigned=4, desired=0, ready=set(), ordered=True)
    assert apply_pace([old, Subset(0, 4, set(), ordered=True)], unavailable=0) == {"0": 0, "1": 4}


def test_what_cannot_be_seen_is_down_and_keeps_its_number() -> None:
    """A subset of a lost cluster neither counts as ready nor shrinks before somebody can see it."""
    lost = Party(name="lost", given=4, desired=0, seen=False, movable=False)
    here = Party(name="here", given=4, desired=8, serving=Serving(ready=4, existing=4))
    assert pace([lost, here], Budget(floor=6)) == {"lost": 4, "here": 8}
    back = replace(lost, seen=True, movable=True, serving=Serving(ready=4, existing=4))
    assert pace([back, replace(here, given=8)], Budget(floor=6)) == {"lost": 2, "here": 8}


def test_ready_leftovers_count_once() -> None:
    """Pods of workloads that the topology does not include any more serve as long as they exist."""
    old = Party(name="a", given=4, desired=0, serving=Serving(ready=4, existing=4))
    assert pace([old, Party(name="b", given=4, desired=4)], Budget(floor=3, others=2)) == {"a": 1, "b": 4}


def test_no_ready_pod_goes_while_the_decision_is_not_stored() -> None:
    """The pods that are not ready may go."""
    old = Party(name="a", given=4, desired=0, serving=Serving(ready=2, existing=4))
    assert pace([old, Party(name="b", given=0, desired=4)], Budget(floor=0, spared=True)) == {"a": 2, "b": 4}


@pytest.mark.parametrize(
    ("serving", "kept"),
    [
        (Serving(ready=3, existing=4), [0, 1, 2, 3, 3]),
        (Serving(ready=3, existing=4, unready_first=False), [0, 0, 1, 2, 3]),
        (Serving(ready=3, existing=4, places=(0, 2, 3)), [0, 1, 1, 2, 3]),
    ],
)
def test_the_pods_that_stay_follow_from_the_order_of_removal(serving: Serving, kept: list[int]) -> None:
    """Highest ordinals first, pods that are not ready first, or, if that is unknown, the worst."""
    assert [serving.kept(replicas) for replicas in range(5)] == kept
