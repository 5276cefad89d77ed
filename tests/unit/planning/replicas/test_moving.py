"""Moves in words."""

import pytest

from uniteddeployment.planning.replicas.limits import Limit, Limits
from uniteddeployment.planning.replicas.moving import Move, Moving, begun, explained, under_way
from uniteddeployment.planning.replicas.pace import Party
from uniteddeployment.planning.replicas.serving import Serving


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (Move("a", ("b",), 1, "why"), "1 replica moves from a to b: why"),
        (Move("a", ("b", "c", "d"), 2, "why"), "2 replicas move from a to b, c, d: why"),
        (Move("a", ("b", "c", "d", "e", "f"), 2, "why"), "2 replicas move from a to b, c, d and 2 more: why"),
        (Move("a", (), 2, "why"), "2 replicas move from a to other subsets: why"),
        (Moving("a", ("b",), 1, seen=True), "a: 1 replica moves to b"),
        (Moving("a", ("b",), 3, seen=False), "a: 3 replicas move elsewhere, and its cluster cannot be seen"),
    ],
)
def test_a_move_names_its_source_and_at_most_three_destinations(move: Move | Moving, text: str) -> None:
    assert str(move) == text


def test_replicas_that_begin_to_move_are_those_that_others_get() -> None:
    limits = Limits({"b": Limit(note="b is Offline")})
    moves = begun({"a": 5, "b": 4, "c": 0, "d": 1}, {"a": 3, "b": 1, "c": 3, "d": 2}, {"a": "fewer"}, limits)
    assert moves == (Move("a", ("c", "d"), 2, "fewer"), Move("b", ("c", "d"), 2, "b is Offline"))


def test_replicas_that_return_after_a_failover_say_so() -> None:
    """Their source keeps the rest for another reason, which does not explain the move."""
    (move,) = begun({"a": 5, "b": 0}, {"a": 4, "b": 1}, {"a": "kept"}, Limits(), ["b"])
    assert str(move) == "1 replica moves from a to b: failback to b"


def party(name: str, given: int, desired: int, ready: int, *, seen: bool = True) -> Party:
    return Party(name=name, given=given, desired=desired, serving=Serving(ready=ready, existing=ready), seen=seen)


def test_a_move_is_under_way_until_its_source_has_shrunk() -> None:
    parties = [
        party("a", 4, 1, 4, seen=False),
        party("b", 1, 3, 2),
        party("c", 2, 2, 2),
        party("d", 0, 0, 0),
        party("e", 3, 2, 3),
    ]
    numbers = {"a": 4, "b": 3, "c": 2, "d": 0, "e": 2}
    assert under_way(parties, numbers) == (Moving("a", ("b",), 3, seen=False, done=False),)
    arrived = [parties[0], party("b", 3, 3, 3), *parties[2:4]]
    assert under_way(arrived, numbers) == (Moving("a", ("b", "c"), 3, seen=False, done=True),)


def test_reasons_say_what_moves_and_why() -> None:
    limits = Limits(
        {
            "gone": Limit(leaves=True, note="it is Offline"),
            "kept": Limit(leaves=True, note="it is Offline"),
            "tainted": Limit(note="it has a taint"),
            "said": Limit(note="it has a taint"),
            "plain": Limit(),
        }
    )
    reasons = {
        "gone": "half",
        "kept": "half",
        "tainted": "half",
        "said": "half, since it has a taint",
        "plain": "half",
        "back": "half",
        "source": "half",
        "lost": "half",
        "one": "half",
    }
    desired = dict.fromkeys(reasons, 0) | {"kept": 2}
    moving = [
        Moving("source", ("b", "c"), 2, seen=True),
        Moving("lost", ("b",), 3, seen=False),
        Moving("one", ("b",), 1, seen=True),
    ]
    assert explained(reasons, limits, desired, {"back": 1, "gone": 4}, moving) == {
        "gone": "it is Offline",
        "kept": "2 can run nowhere else now: it is Offline",
        "tainted": "half; it has a taint",
        "said": "half, since it has a taint",
        "plain": "half",
        "back": "1 replica moves elsewhere until failback: half",
        "source": "2 more move to b, c when their replacements are ready: half",
        "lost": "3 run elsewhere, and may still run here: half",
        "one": "1 more moves to b when its replacement is ready: half",
    }
