"""The brake for moves when many clusters are lost at once: then it is more likely us, or the network, than them.

With three or more clusters lost within one grace period (or within a minute, if that is longer), and more than a
third of the fleet, moves because of the state of clusters become slow: one replica of each application in a tenth of
the grace period. A grace period is the time that the user allows a cluster to come back; at that rate, an application
of ten replicas has not moved completely after another one. So people have time to act, and if the clusters return,
only a few surplus pods were started. With more than half of the fleet lost, such moves stop.
"""

from dataclasses import dataclass
from enum import Enum

from uniteddeployment.planning.observed import FleetFacts
from uniteddeployment.planning.observed.values import since

LEAST_LOST = 3
"""The fewest lost clusters that brake. In a small fleet, one or two clusters are a large part of it."""
LEAST_PERIOD = 60
"""Seconds. Clusters that are lost at the same moment are noticed within half a minute, one after the other."""
DEFAULT_GRACE_SECONDS = 300
SLOW_STEPS = 10
"""The number of replicas that move in one grace period while moves are slow."""


class Level(Enum):
    """How far moves are braked. The values are the reasons of the condition."""

    FREE = ""
    SLOWED = "Slowed"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True)
class Brake:
    """The brake, and why it is applied."""

    level: Level = Level.FREE
    note: str = ""
    step_seconds: int = 0
    """While moves are slow: seconds from one replica to the next."""


RELEASED = Brake()


def brake(fleet: FleetFacts, grace: int, now: str) -> Brake:
    """Decide how far moves are braked for an application with this grace period, in seconds.

    >>> lost = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")
    >>> brake(FleetFacts(clusters=4, lost=lost), 300, "2026-01-01T01:00:00Z").level
    <Level.STOPPED: 'Stopped'>
    >>> brake(FleetFacts(clusters=8, lost=lost), 300, "2026-01-01T01:00:00Z").step_seconds
    30
    >>> brake(FleetFacts(clusters=8, lost=lost), 60, "2026-01-01T01:00:00Z").level
    <Level.FREE: ''>
    """
    if len(fleet.lost) < LEAST_LOST:
        return RELEASED
    period = max(grace, LEAST_PERIOD)
    lost = _most_within(sorted(since(time, now) for time in fleet.lost), period)
    note = f"{lost} of {fleet.clusters} clusters were lost within {period} seconds"
    if lost < LEAST_LOST or 3 * lost <= fleet.clusters:
        return RELEASED
    if 2 * lost > fleet.clusters:
        return Brake(Level.STOPPED, note)
    return Brake(Level.SLOWED, note, max(1, grace // SLOW_STEPS))


def _most_within(ages: list[int], period: int) -> int:
    """The largest number of ages that lie within one period, which is not 0; ``ages`` is sorted."""
    most = first = 0
    for last, age in enumerate(ages):
        while age - ages[first] >= period:
            first += 1
        most = max(most, last - first + 1)
    return most
