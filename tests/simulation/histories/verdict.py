"""The outcome of one seed: the breach that its story ends in, and the shortest story that ends in the same."""

import traceback
from dataclasses import dataclass, field

from tests.simulation.histories.faults import fault_story
from tests.simulation.histories.generator import story
from tests.simulation.histories.losses import Figures
from tests.simulation.histories.player import play
from tests.simulation.histories.shrink import shrunk
from tests.simulation.histories.story import Story


@dataclass(frozen=True)
class Verdict:
    """``rule`` is empty when every invariant held; an error of the story is a breach of a rule with its name."""

    seed: int
    rule: str = ""
    why: str = ""
    shortest: Story | None = None
    figures: Figures = field(default_factory=Figures)

    def __str__(self) -> str:
        return f"seed {self.seed} breaks {self.rule}: {self.why}\n{self.shortest}"


def judge(seed: int, *, shrink_seconds: float, faults: bool = False) -> Verdict:
    """Play the story of a seed. If it breaks an invariant, look for the shortest story that breaks the same one.

    With ``faults``, it is the story about faults of members.
    """
    told = fault_story(seed) if faults else story(seed)
    figures = Figures()
    rule, why = outcome(told, figures)
    if not rule or not shrink_seconds:
        return Verdict(seed, rule, why, told if rule else None, figures)
    shortest = shrunk(told, lambda simpler: outcome(simpler)[0] == rule, seconds=shrink_seconds)
    if shortest != told:
        rule, why = outcome(shortest)
    return Verdict(seed, rule, why, shortest, figures)


def outcome(told: Story, figures: Figures | None = None) -> tuple[str, str]:
    """The rule that a story breaks, and how. An error is a breach, too: it is what histories look for."""
    try:
        breach = play(told, figures)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return type(error).__name__, traceback.format_exc(limit=-5)
    return (breach.rule, breach.why) if breach else ("", "")
