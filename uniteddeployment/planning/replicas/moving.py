"""Moves in words: for the reasons of subsets, for the condition of the application, and for Events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.replicas.limits import Limits
from uniteddeployment.planning.replicas.pace import Party

_MOST_NAMES = 3
"""The most destinations that a text lists."""


@dataclass(frozen=True, slots=True)
class Move:
    """Replicas that begin to move."""

    source: str
    destinations: tuple[str, ...]
    replicas: int
    why: str

    def __str__(self) -> str:
        """The move for people: ``2 replicas move from a to b: default/a has the taint x:NoExecute``."""
        return f"{_replicas(self.replicas)} from {self.source} to {_listed(self.destinations)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Moving:
    """Replicas that have yet to leave a subset."""

    source: str
    destinations: tuple[str, ...]
    replicas: int
    seen: bool
    """Whether the cluster of the source can be seen."""
    done: bool = False
    """Whether all replacements are ready, so that only the source has yet to shrink."""

    def __str__(self) -> str:
        """The move for people."""
        if not self.seen:
            return f"{self.source}: {_replicas(self.replicas)} elsewhere, and its cluster cannot be seen"
        return f"{self.source}: {_replicas(self.replicas)} to {_listed(self.destinations)}"


def begun(
    current: Mapping[str, int],
    desired: Mapping[str, int],
    reasons: Mapping[str, str],
    limits: Limits,
    returning: Sequence[str] = (),
) -> tuple[Move, ...]:
    """The moves that begin now: replicas that some subsets lose while others get more.

    ``returning`` are the subsets that get replicas back, which is why the others lose them.

    >>> moves = begun({"a": 4, "b": 0}, {"a": 2, "b": 2}, {"a": "share of weight 1"}, Limits())
    >>> str(moves[0])
    '2 replicas move from a to b: share of weight 1'

    Replicas that only go, because the total fell, do not move:

    >>> begun({"a": 4, "b": 4}, {"a": 2, "b": 4}, {}, Limits())
    ()
    """
    growing = tuple(name for name, number in desired.items() if number > current[name])
    arriving = sum(desired[name] - current[name] for name in growing)
    failback = f"failback to {_listed(returning)}" if returning else ""
    moves = []
    for name, number in desired.items():
        count = min(arriving, current[name] - number)
        if count > 0:
            moves.append(Move(name, growing, count, limits.of(name).note or failback or reasons[name]))
            arriving -= count
    return tuple(moves)


def under_way(parties: Sequence[Party], numbers: Mapping[str, int]) -> tuple[Moving, ...]:
    """The moves that are not complete."""
    waiting = tuple(
        party.name
        for party in parties
        if party.given <= party.desired and party.desired and party.serving.ready < party.desired
    )
    taking = waiting or tuple(party.name for party in parties if party.given <= party.desired and party.desired)
    return tuple(
        Moving(party.name, taking, numbers[party.name] - party.desired, party.seen, done=not waiting)
        for party in parties
        if numbers[party.name] > party.desired
    )


def explained(
    reasons: Mapping[str, str],
    limits: Limits,
    desired: Mapping[str, int],
    moved: Mapping[str, int],
    moving: Sequence[Moving] = (),
) -> dict[str, str]:
    """The reasons of all subsets, with what moves and why."""
    texts = dict(reasons)
    for name, limit in limits.subsets.items():
        if limit.leaves:
            kept = desired[name]
            texts[name] = f"{kept} can run nowhere else now: {limit.note}" if kept else limit.note
        elif limit.note not in texts[name]:
            texts[name] = f"{texts[name]}; {limit.note}"
    for name, count in moved.items():
        if not limits.of(name).leaves:
            texts[name] = f"{_replicas(count)} elsewhere until failback: {texts[name]}"
    for move in moving:
        one = move.replicas == 1
        ready = "moves to {} when its replacement is ready" if one else "move to {} when their replacements are ready"
        text = f"{move.replicas} more {ready.format(_listed(move.destinations))}"
        if not move.seen:
            text = f"{move.replicas} {'runs' if one else 'run'} elsewhere, and may still run here"
        texts[move.source] = f"{text}: {texts[move.source]}"
    return texts


def _replicas(count: int) -> str:
    return "1 replica moves" if count == 1 else f"{count} replicas move"


def _listed(destinations: Sequence[str]) -> str:
    more = f" and {len(destinations) - _MOST_NAMES} more" if len(destinations) > _MOST_NAMES else ""
    return ", ".join(destinations[:_MOST_NAMES]) + more or "other subsets"
