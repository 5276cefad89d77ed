"""The one rule for moves: replicas leave a subset only as far as ready pods elsewhere allow.

A move is any change that takes replicas from one subset and gives them to another: a lost cluster, a taint, changed
shares, pods that cannot be scheduled. Its destination grows at once. Its source shrinks as long as enough pods of the
whole application stay ready, so the sum exceeds the total during a move, by no more than what moves.

The rule depends on what is assigned, what is desired and what is ready, and on nothing else. So it can be applied again
at any time, after a crash for example: without a change of these three it returns what it returned before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.planning.replicas.serving import NOBODY, Serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One subset in a move."""

    name: str
    given: int
    """Number of replicas that it was last assigned."""
    desired: int
    """Number of replicas that it will have in the end."""
    serving: Serving = NOBODY
    seen: bool = True
    """Whether its cluster can be seen."""
    movable: bool = True
    """Whether replicas may leave it now. Not if it cannot be written, or if moves are stopped."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of pods that have to stay ready."""

    floor: int
    others: int = 0
    """Ready pods beside those of the subsets: those of leftover workloads."""
    free: int = 0
    """Number of replicas that go without a replacement, because the total fell."""
    spared: bool = False
    """Whether no ready pod may go now."""


def floor(total: int, unavailable: int) -> int:
    """The number of pods that have to stay ready; at least one, so that the last ready pod never goes (I7).

    >>> floor(8, 2), floor(8, 8), floor(0, 0)
    (6, 1, 0)
    """
    return max(total - unavailable, min(total, 1))


def pace(parties: Sequence[Party], budget: Budget) -> dict[str, int]:
    """Return the number of replicas that each subset is to have now.

    Four replicas move from a to b, and one pod may be missing. One goes at once; the others when those of b are ready:

    >>> a = Party(name="a", given=4, desired=0, serving=Serving(ready=4, existing=4))
    >>> pace([a, Party(name="b", given=0, desired=4)], Budget(floor=3))
    {'a': 3, 'b': 4}
    >>> a = Party(name="a", given=3, desired=0, serving=Serving(ready=3, existing=3))
    >>> b = Party(name="b", given=4, desired=4, serving=Serving(ready=2, existing=4))
    >>> pace([a, b], Budget(floor=3))
    {'a': 1, 'b': 4}
    """
    numbers = {party.name: max(party.given, party.desired) for party in parties}
    sources = [party for party in reversed(parties) if party.given > party.desired]
    if not sources:
        return numbers
    ready = budget.others + sum(party.serving.kept(numbers[party.name]) for party in parties)
    spare = 0 if budget.spared else max(0, ready - budget.floor)
    for allowance in (0, spare):
        for party in (party for party in sources if party.movable):
            before = party.serving.kept(numbers[party.name])
            least = before - min(allowance, spare)
            numbers[party.name] = _smallest(party, numbers[party.name], least)
            spare -= before - party.serving.kept(numbers[party.name])
    free = budget.free - sum(party.given - numbers[party.name] for party in sources)
    for party in sorted(sources, key=lambda party: not party.movable):
        cut = max(0, min(free, numbers[party.name] - party.desired))
        numbers[party.name] -= cut
        free -= cut
    return numbers


def _smallest(party: Party, most: int, least_kept: int) -> int:
    """The smallest number of replicas, from the desired one to ``most``, with which so many ready pods stay."""
    low, high = party.desired, most
    while low < high:
        middle = (low + high) // 2
        if party.serving.kept(middle) >= least_kept:
            high = middle
        else:
            low = middle + 1
    return low
