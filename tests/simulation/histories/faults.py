"""Random stories about the faults of members. The faults take turns, so as many seeds as there are faults have all."""

from collections.abc import Callable, Sequence
from random import Random

from tests.simulation.histories.generator import WAITS, Draws
from tests.simulation.histories.story import (
    SETTLED,
    Action,
    Drain,
    Edit,
    Fault,
    Flap,
    Image,
    Kill,
    LoseOthers,
    NoPartition,
    Partition,
    Recover,
    Replace,
    SetClock,
    Step,
    Story,
    Total,
)
from tests.support.kruise import ALL_KINDS

SILENCE = ("cut off", "black hole", "frozen")
"""Faults after which a member says nothing."""
LONG = (SETTLED, 100.0, 400.0)
"""Replicas of a lost member run elsewhere after these."""
ADAPTIVE = 0.85
SCARCE = 0.35
"""How many stories have members with little room."""
ANOTHER = 0.25
"""How many have a second fault."""
Steps = list[Step]


class _Faults:
    """Draws stories with faults of members."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._draws = Draws(random)
        self._any = random.choice

        def one(what: str) -> Steps:
            return [Step(Fault(self._member(), what), self._long())]

        self.kinds: dict[str, Callable[[], Steps]] = {
            "killed": lambda: one("cut off"),
            "frozen": self._frozen_at_a_write,
            "a black hole": lambda: one("black hole"),
            "two seconds late": lambda: one("late"),
            "server errors": lambda: one("server errors"),
            "another token": lambda: one("refuses"),
            "a wrong authority": lambda: one("wrong authority"),
            "no ready nodes": lambda: [Step(Fault(self._member(), "no ready nodes"), self._any((200.0, 600.0)))],
            "a wrong clock": self._wrong_clock,
            "another cluster": lambda: [Step(Replace(self._member(), self._any((False, True))), self._long())],
            "flapping": lambda: [Step(Flap(self._member(), self._any((2, 3, 5))), self._any((60.0, 200.0)))],
            "three of four": lambda: [Step(LoseOthers(self._member(), self._any(SILENCE)), self._any((200.0, 400.0)))],
            "lost in mid-canary": self._in_mid_canary,
            "lost while draining": self._while_draining,
            "the controller is killed": self._killed_at_a_write,
        }

    def story(self, seed: int) -> Story:
        """The story of a seed."""
        name = list(self.kinds)[seed % len(self.kinds)]
        kind = ALL_KINDS[(seed + seed // len(self.kinds)) % len(ALL_KINDS)]
        steps = [*self._others((0, 0, 1)), *self.kinds[name](), *self._others((0, 0, 1))]
        if self._random.random() < ANOTHER:
            steps += [Step(Fault(self._member(), self._any(SILENCE)), self._any(WAITS))]
        steps += [Step(Recover(self._any((None, None, self._member()))), self._any((SETTLED, 200.0, 5.0)))]
        steps += self._others((0, 0, 1))
        return Story(
            kind,
            tuple(steps),
            ordered=self._any((False, True)),
            slow_pods=self._any((False, True, True)),
            history=self._any((10, 0, 1)),
            orphan=self._any((False, True)),
            adaptive=self._random.random() < ADAPTIVE,
            members=4 if name == "three of four" else self._any((3, 3, 4)),
            capacity=name == "no ready nodes" or self._random.random() < SCARCE,
            disjoint=self._any((False, True)),
        )

    def _member(self) -> int:
        return self._any(range(4))

    def _long(self) -> float | None:
        return self._any(LONG)

    def _others(self, counts: Sequence[int]) -> Steps:
        return [step for _ in range(self._any(counts)) for step in self._draws.steps()]

    def _canary(self) -> Steps:
        update = Edit(Image(self._any(("app:2", "app:3"))), Partition(None, self._any((1, "50%"))))
        return [
            Step(Edit(NoPartition(), Image("app:1"), Total(self._any((4, 6, 8))))),
            Step(update, self._any((SETTLED, 0.1, 1.0, 3.0))),
        ]

    def _frozen_at_a_write(self) -> Steps:
        """What it was asked for in the first seconds it does when it goes on, whatever has been asked for since."""
        edit = Edit(self._any((Image("app:2"), Total(2), Total(8))), Partition(None, self._any((0, 0, 1))))
        steps = [Step(edit, self._any((0.0, 0.01, 0.5))), Step(Fault(self._member(), "frozen"), self._any((0.0, 1.0)))]
        further = Edit(self._any((Image("app:3"), Image("app:1"), Total(1), Total(6))))
        return [*(steps if self._random.random() < 0.5 else reversed(steps)), Step(further, self._long())]

    def _in_mid_canary(self) -> Steps:
        further: tuple[Action, ...] = (Edit(NoPartition()), Edit(Partition(None, 0), Total(8)), Edit(Image("app:1")))
        return [
            *self._canary(),
            Step(Fault(self._member(), self._any(SILENCE)), self._long()),
            Step(self._any(further), self._any(WAITS)),
        ]

    def _while_draining(self) -> Steps:
        """The drained member is lost, or another one, during the drain or before it."""
        drained = self._member()
        steps = [
            Step(Drain(drained, on=True), self._any((0.1, 1.0, 3.0, SETTLED))),
            Step(Fault(self._any((drained, drained + 1)), self._any(SILENCE)), self._long()),
        ]
        if self._random.random() < 0.5:
            steps = [Step(step.action, wait) for step, wait in zip(reversed(steps), (100.0, SETTLED), strict=True)]
        return [*steps, *([Step(Drain(drained, on=False), self._any(WAITS))] if self._random.random() < 0.5 else [])]

    def _wrong_clock(self) -> Steps:
        """Known to be wrong from the beginning on, or set in the middle."""
        return [
            Step(SetClock(self._member(), self._any((-1, 1))), self._any((0.0, SETTLED))),
            *self._canary(),
            *([Step(Fault(self._member(), self._any(SILENCE)), self._long())] if self._random.random() < 0.5 else []),
        ]

    def _killed_at_a_write(self) -> Steps:
        """The writes of a failover are those of the phase, the decision, the workloads and the status."""
        down = self._any((0.0, 1.0, 30.0, 200.0))
        return [
            Step(Fault(self._member(), self._any(SILENCE)), self._any((0.0, 20.0, 40.0))),
            Step(Kill(self._random.randint(1, 12), self._any((True, False)), down), self._any((100.0, 400.0))),
        ]


def fault_story(seed: int) -> Story:
    """The story of a seed."""
    return _Faults(Random(seed)).story(seed)


def fault_name(seed: int) -> str:
    """The fault that the story of a seed has, beside others."""
    names = list(_Faults(Random(0)).kinds)
    return names[seed % len(names)]
