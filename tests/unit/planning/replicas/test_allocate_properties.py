"""Properties of every division."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from uniteddeployment.planning.replicas import FREE, NEVER, AllocationRequest, Mode, SubsetRequest, allocate, bounded

checked = settings(deadline=None)


@st.composite
def demands(draw: st.DrawFn, count: int, size: int) -> tuple[SubsetRequest, ...]:
    some = st.none() | st.integers(0, size)
    made = []
    for index in range(count):
        low, high = draw(some), draw(some)
        if low is not None and high is not None and low > high:
            low, high = high, low
        made.append(
            SubsetRequest(
                name=f"s{index}",
                weight=draw(st.none() | st.integers(0, 5)),
                minimum=low,
                maximum=high,
                capacity=draw(some),
                limit=draw(st.none() | st.none() | st.integers(0, size)),
                current=draw(st.integers(0, size)),
                may_grow=draw(st.sampled_from([True, True, True, False])),
            )
        )
    return tuple(made)


@st.composite
def requests(draw: st.DrawFn, most: int = 6, size: int = 12) -> AllocationRequest:
    return AllocationRequest(
        total=draw(st.integers(0, size * 3)),
        subsets=draw(st.integers(0, most).flatmap(lambda count: demands(count, size))),
        mode=draw(st.sampled_from(Mode)),
        disruption=draw(st.sampled_from([FREE, NEVER, bounded(1), bounded(3)])),
    )


def divided(request: AllocationRequest) -> list[int]:
    return list(allocate(request).replicas.values())


def total_of(request: AllocationRequest) -> int:
    assert request.total is not None
    return request.total


def again(request: AllocationRequest, current: Sequence[int], total: int | None = None) -> AllocationRequest:
    """The same request after its answer was carried out."""
    subsets = tuple(replace(one, current=now) for one, now in zip(request.subsets, current, strict=True))
    return replace(request, subsets=subsets, total=request.total if total is None else total)


def hard(demand: SubsetRequest, total: int) -> int:
    bounds = [demand.maximum, demand.limit, None if demand.may_grow else demand.current, total]
    return min(bound for bound in bounds if isinstance(bound, int))


def running(demand: SubsetRequest, total: int) -> int:
    """What runs and need not go."""
    room = total if demand.capacity is None else demand.capacity
    return min(demand.current, hard(demand, total), room)


def moves(request: AllocationRequest, numbers: Sequence[int]) -> int:
    total = total_of(request)
    return sum(max(0, running(one, total) - now) for one, now in zip(request.subsets, numbers, strict=True))


@checked
@given(requests())
def test_replicas_and_unplaced_add_up_to_the_total(request: AllocationRequest) -> None:
    """I4"""
    allocation = allocate(request)
    assert sum(allocation.replicas.values()) + allocation.unplaced == request.total
    assert bool(allocation.unplaced) <= bool(allocation.problem)
    assert all(subset.reason for subset in allocation.subsets)


@checked
@given(requests())
def test_no_bound_is_broken(request: AllocationRequest) -> None:
    for demand, number in zip(request.subsets, divided(request), strict=True):
        assert 0 <= number <= hard(demand, total_of(request))


@checked
@given(requests())
def test_what_could_be_placed_is_placed(request: AllocationRequest) -> None:
    """I4: a pod is unplaced only if every subset is full."""
    allocation = allocate(request)
    if allocation.unplaced:
        for demand, subset in zip(request.subsets, allocation.subsets, strict=True):
            assert subset.replicas == hard(demand, total_of(request))


@checked
@given(requests())
def test_raising_the_total_takes_from_nobody(request: AllocationRequest) -> None:
    """I5: whatever runs, and also after the smaller total was carried out."""
    if any(not demand.may_grow for demand in request.subsets):
        request = replace(request, subsets=tuple(replace(one, may_grow=True) for one in request.subsets))
    if request.disruption not in {FREE, NEVER}:
        request = replace(request, disruption=FREE)
    before = divided(request)
    total = total_of(request) + 1
    after = divided(again(request, before, total))
    assert all(now >= was for was, now in zip(before, after, strict=True))


@checked
@given(requests())
def test_lowering_the_total_gives_to_nobody(request: AllocationRequest) -> None:
    """I5"""
    if request.disruption not in {FREE, NEVER} or not request.total:
        request = replace(request, disruption=FREE, total=total_of(request) + 1)
    before = divided(request)
    after = divided(again(request, before, total_of(request) - 1))
    assert all(now <= was for was, now in zip(before, after, strict=True))


@checked
@given(requests())
def test_dividing_the_result_again_moves_nothing(request: AllocationRequest) -> None:
    """I3: a fixed point, unless a bounded policy still has pods to move."""
    if request.disruption not in {FREE, NEVER}:
        request = replace(request, disruption=NEVER)
    before = divided(request)
    assert divided(again(request, before)) == before


@checked
@given(requests())
def test_the_policy_bounds_the_moves(request: AllocationRequest) -> None:
    """I5: nothing moves under Never except what a fallen total takes; Bounded adds at most its number."""
    calm = divided(replace(request, disruption=NEVER))
    fallen = max(0, sum(running(one, total_of(request)) for one in request.subsets) - total_of(request))
    assert moves(request, calm) == fallen
    if request.disruption.moves is not None:
        assert moves(request, divided(request)) <= fallen + request.disruption.moves


@checked
@given(requests())
def test_bounded_rounds_end_where_a_free_division_ends(request: AllocationRequest) -> None:
    request = replace(request, disruption=bounded(1))
    # A bar to growing is about now: it would move with what runs.
    request = replace(request, subsets=tuple(replace(one, may_grow=True) for one in request.subsets))
    current = [demand.current for demand in request.subsets]
    for _ in range(total_of(request) + 1):
        current = divided(again(request, current))
    assert divided(again(replace(request, disruption=FREE), current)) == current


@checked
@given(requests())
def test_the_same_request_gives_the_same_answer_to_the_byte(request: AllocationRequest) -> None:
    """I2"""
    assert repr(allocate(request)) == repr(allocate(replace(request)))


@checked
@given(requests(), st.randoms(use_true_random=False))
def test_the_order_of_the_subsets_decides_nothing_but_ties(request: AllocationRequest, random: object) -> None:
    """I2: with no two subsets running the same number, a spread does not depend on the order."""
    subsets = [replace(one, minimum=None, current=index) for index, one in enumerate(request.subsets)]
    request = replace(request, subsets=tuple(subsets), mode=Mode.SPREAD)
    random.shuffle(subsets)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert allocate(replace(request, subsets=tuple(subsets))).replicas == allocate(request).replicas


@checked
@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(0, 400))
def test_no_pod_would_bring_two_subsets_closer_to_their_shares_by_moving(weights: list[int], total: int) -> None:
    """Fairness: seen from one common level, every subset has its share, rounded."""
    numbers = divided(spread(weights, total))
    for having, weight in zip(numbers, weights, strict=True):
        for other, heavy in zip(numbers, weights, strict=True):
            if having:
                assert Fraction(2 * having - 1, weight) <= Fraction(2 * other + 1, heavy)


@checked
@given(
    st.integers(1, 12).flatmap(lambda n: st.just([1] * n)) | st.lists(st.integers(1, 50), max_size=3),
    st.integers(0, 400),
)
def test_nobody_is_a_pod_away_from_its_exact_share(weights: list[int], total: int) -> None:
    """Fairness, for equal weights and for up to three subsets."""
    for number, weight in zip(divided(spread(weights, total)), weights, strict=True):
        assert abs(number - Fraction(total * weight, sum(weights))) < 1


def spread(weights: Sequence[int], total: int) -> AllocationRequest:
    subsets = tuple(SubsetRequest(name=f"s{index}", weight=weight) for index, weight in enumerate(weights))
    return AllocationRequest(total=total, subsets=subsets)


@checked
@given(requests(most=3, size=5))
def test_no_other_division_is_better(request: AllocationRequest) -> None:
    """Against every division there is: place all, keep minimums in order, fit the capacities, be close, move few."""
    subsets = tuple(replace(one, weight=one.weight or 1) for one in request.subsets)
    request = replace(request, subsets=subsets, disruption=FREE, total=min(total_of(request), 8))
    best = min(worth(request, numbers) for numbers in every(request))
    assert worth(request, divided(request)) == best


def every(request: AllocationRequest) -> Iterator[list[int]]:
    tops = [hard(demand, total_of(request)) for demand in request.subsets]

    def walk(index: int, left: int) -> Iterator[list[int]]:
        if index == len(tops):
            yield []
            return
        for number in range(min(tops[index], left) + 1):
            for rest in walk(index + 1, left - number):
                yield [number, *rest]

    return walk(0, total_of(request))


def worth(request: AllocationRequest, numbers: Sequence[int]) -> tuple[object, ...]:
    """What is worse is larger. In a spread, sum(n^2 / weight) is least where all are closest to their shares."""
    pairs = list(zip(request.subsets, numbers, strict=True))
    minimums = [-min(number, demand.minimum if isinstance(demand.minimum, int) else 0) for demand, number in pairs]
    beyond = sum(
        max(0, number - (total_of(request) if one.capacity is None else one.capacity)) for one, number in pairs
    )
    close: object
    if request.mode is Mode.SPREAD:
        close = sum((Fraction(number * number, one.weight or 1) for one, number in pairs), Fraction(0))
    else:
        within = [min(number, total_of(request) if one.capacity is None else one.capacity) for one, number in pairs]
        close = ([-number for number in within], [-number for number in numbers])
    return (-sum(numbers), minimums, beyond, close, sum(max(0, one.current - number) for one, number in pairs))
