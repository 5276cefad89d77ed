"""A breach of an invariant, and what the story does to the fleet that excuses an observation."""

from dataclasses import dataclass, field

from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Place

DARK_SECONDS = 150.0
"""A member that does not answer is known to be lost after this long: watches are silent for 90 s before that."""
UNSEEN_SECONDS = 35.0
"""A controller that probes a member knows after this long that it does not answer."""
FOLLOW_SECONDS = 80.0
"""A member that recovers has caught up after this long: reads are retried with pauses of up to a minute."""
LAG_SECONDS = 1.0
"""A controller whose members answer at once knows what has been so for this long."""


@dataclass(frozen=True)
class Breach:
    """An invariant that did not hold."""

    rule: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.why}"


@dataclass
class Circumstances:
    """The faults that the story has put into the fleet, and what others edit."""

    by_user: bool = False
    """Whether the story itself makes the present commits."""
    tampered: set[Place] = field(default_factory=set)
    """Places with an edited workload: until it is repaired, the workload's controller does what the edit says."""
    ever_tampered: set[Place] = field(default_factory=set)
    dark: dict[str, float] = field(default_factory=dict)
    """Members that do not answer -> since when."""
    slow: set[str] = field(default_factory=set)
    unhealthy: set[str] = field(default_factory=set)
    """Members without a ready node."""
    full: set[str] = field(default_factory=set)
    """Members that take no more pods."""
    back: dict[str, float] = field(default_factory=dict)
    """Members that have recovered -> since when."""

    def in_trouble(self, now: float) -> set[str]:
        """The members that cannot be expected to follow."""
        just_back = {member for member, since in self.back.items() if now - since < FOLLOW_SECONDS}
        return self.dark.keys() | self.slow | self.unhealthy | self.full | just_back

    def unseen(self, now: float) -> set[str]:
        """The members of which a controller knows that it cannot see them."""
        return {member for member, since in self.dark.items() if now - since > UNSEEN_SECONDS}

    def clear_faults(self) -> None:
        self.dark.clear()
        self.slow.clear()
        self.unhealthy.clear()
        self.full.clear()


class Breaches:
    """Keeps the first breach of a story; what follows from it is of no interest."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.first: Breach | None = None

    def report(self, rule: str, why: str) -> None:
        if self.first is None:
            self.first = Breach(rule, f"{why} (at {self._ledger.world.loop.time():.2f} s)")


def calm(ledger: Ledger, circumstances: Circumstances) -> bool:
    """Whether the controller has had the time to see what there is."""
    quiet = ledger.world.loop.time() - ledger.changed > LAG_SECONDS
    return quiet and not circumstances.dark and not circumstances.slow
