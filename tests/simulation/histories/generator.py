"""Random stories. The same seed gives the same story on every machine."""

from collections.abc import Callable
from random import Random
from typing import TypeVar

from tests.simulation.histories.story import (
    SETTLED,
    Action,
    AddSubset,
    Change,
    Cordon,
    Delete,
    Edit,
    Fault,
    Image,
    Kill,
    LosePod,
    LoseRevisions,
    MoveSubset,
    NoPartition,
    Partition,
    Paused,
    Quota,
    Recover,
    RemoveSubset,
    RenameSubset,
    Restart,
    Scale,
    Share,
    Step,
    Story,
    Taint,
    Tamper,
    Total,
)
from tests.support.kruise import ALL_KINDS

T = TypeVar("T")

FAULTS = ("cut off", "black hole", "slow", "errors")
TAMPERING = ("replicas", "image", "image", "partition", "revision label", "delete", "orphan")
IMAGES = ("app:1", "app:2", "app:2", "app:3", "app:4", "fail:5", "fail:6")
TOTALS = (0, 1, 2, 3, 4, 5, 6, 8)
PARTITIONS = (0, 1, 1, 2, 3, "50%", "100%", "100%")
SHARES = (None, 0, 1, 2, 3, "50%")
SHORT_WAITS = (0.1, 0.5, 1.0, 3.0)
"""An update of slow pods is under way after these."""
CANARIES = 0.25
"""How many steps are the begin of a canary that is scaled in the middle of its update."""
MOVES = 0.4
"""How many stories have members that are lost, tainted and cordoned in a row."""
EFFECTS = (None, "NoSchedule", "PreferNoSchedule", "NoExecute", "NoExecute")
WAITS = (SETTLED, SETTLED, SETTLED, SETTLED, 0.0, 0.01, 0.1, 1.0, 5.0, 200.0)
SHORTEST, LONGEST = 3, 10


def story(seed: int, kinds: tuple[str, ...] = ALL_KINDS) -> Story:
    """The story of a seed; the kinds take turns."""
    return Draws(Random(seed)).story(kinds[seed % len(kinds)])


class Draws:
    """Draws stories, and parts of them, from tables of weighted choices."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._any = random.choice
        self._changes: tuple[tuple[int, Callable[[], Change]], ...] = (
            (4, lambda: Image(self._any(IMAGES))),
            (4, lambda: Total(self._any(TOTALS))),
            (5, lambda: Partition(self._any((None, None, 0, 1, 2)), self._any(PARTITIONS))),
            (2, NoPartition),
            (1, lambda: Share(self._any(range(3)), self._any(SHARES))),
            (1, lambda: AddSubset(self._any(range(3)))),
            (1, lambda: RemoveSubset(self._any(range(3)))),
            (1, lambda: MoveSubset(self._any(range(3)), self._any(range(3)))),
            (1, lambda: RenameSubset(self._any(range(3)))),
            (1, lambda: Paused(self._any((True, False, False)))),
        )
        self._actions: tuple[tuple[int, Callable[[], Action]], ...] = (
            (40, lambda: Edit(*(self._weighted(self._changes) for _ in range(self._any((1, 1, 2, 2, 3)))))),
            (5, lambda: Scale(self._any(TOTALS))),
            (4, lambda: Kill(self._any(range(9)), self._any((True, False)), self._any((0.0, 1.0, 30.0, 200.0)))),
            (2, Restart),
            (4, lambda: Fault(self._any(range(3)), self._any(FAULTS))),
            (3, lambda: Recover(self._any(range(3)))),
            (8, lambda: Tamper(self._any(range(3)), self._any(range(3)), self._any(TAMPERING))),
            (3, lambda: LosePod(self._any(range(3)), self._any(range(6)))),
            (1, lambda: LoseRevisions(self._any((None, 0, 1, 2)))),
            (2, lambda: Quota(self._any(range(3)), self._any((None, 0, 1, 3)))),
            (1, Delete),
        )
        self._fleet_actions: tuple[tuple[int, Callable[[], Action]], ...] = (
            (4, lambda: Fault(self._any(range(3)), self._any(("cut off", "black hole")))),
            (3, lambda: Recover(self._any(range(3)))),
            (4, lambda: Taint(self._any(range(3)), self._any(EFFECTS))),
            (2, lambda: Cordon(self._any(range(3)), self._any((True, False)))),
        )

    def story(self, kind: str) -> Story:
        """A story of a kind."""
        count = self._random.randint(SHORTEST, LONGEST)
        steps = tuple(step for _ in range(count) for step in self.steps())
        ordered, slow, orphan = self._any((False, True)), self._any((False, True, True)), self._any((False, True))
        begun = self._any((SETTLED, SETTLED, SETTLED, 0.0, 0.2, 1.0))
        history = self._any((10, 0, 1))
        if self._random.random() > MOVES:
            return Story(kind, steps, ordered, slow, history, begun, orphan)
        # Drawn last, so that a seed without moves gives the same story as before there were any.
        moves = tuple(Step(self._weighted(self._fleet_actions), self._any(WAITS)) for _ in range(self._any((2, 3, 4))))
        at = self._random.randint(0, len(steps))
        adaptive = self._any((False, True))
        return Story(kind, (*steps[:at], *moves, *steps[at:]), ordered, slow, history, begun, orphan, adaptive)

    def steps(self) -> list[Step]:
        """One step, or the three of a canary."""
        if self._random.random() > CANARIES:
            return [Step(self._weighted(self._actions), self._any(WAITS))]
        subset = self._any((None, 0, 1))
        return [
            Step(Edit(NoPartition(), Image("app:1"), Total(self._any((2, 3, 4))))),
            Step(
                Edit(Image(self._any(("app:2", "app:3"))), Partition(subset, self._any((0, 1)))), self._any(SHORT_WAITS)
            ),
            Step(Edit(Total(self._any((5, 6, 8))), Partition(subset, self._any((2, 3, "100%"))))),
        ]

    def _weighted(self, choices: tuple[tuple[int, Callable[[], T]], ...]) -> T:
        weights = [weight for weight, _ in choices]
        _, draw = self._random.choices(choices, weights)[0]
        return draw()
