"""Lets a Cluster that is being deleted leave the fleet once no workload of this host is left in it.

Until then our finalizer keeps the object, and with it the access to the member. A cluster that cannot be seen keeps it
forever, unless somebody abandons it with an annotation.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

import structlog

from uniteddeployment.fleet.clusters import abandoned
from uniteddeployment.fleet.entry import REPLACED, Entry
from uniteddeployment.planning.observed import Reach
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.5, 5.0
"""The shortest and the longest pause, in seconds, until the workloads are counted again. Only caches are read."""
MOST_NAMED = 5
"""How many workloads or applications a message names."""
ABANDON = f'to leave them there, set the annotation {names.ANNOTATION_ABANDON}: "{names.ABANDON}" on the Cluster'


@dataclass(frozen=True, slots=True)
class Left:
    """The workloads of this host that a cluster has, or may have."""

    running: tuple[str, ...] = ()
    """Workloads with replicas, and those of applications that are being deleted; for messages."""
    empty: int = 0
    """How many workloads without replicas there are."""
    unseen: tuple[str, ...] = ()
    """Applications whose status names the cluster, which cannot be seen; for messages."""


class Occupancy(Protocol):
    """Knows the workloads of this host by cluster."""

    def left(self, cluster: str, *, seen: bool) -> Left | None:
        """Return what a cluster has; if it is not ``seen`` now, what it may have. None if that is not known yet."""

    async def clear(self, cluster: str) -> None:
        """Delete the workloads without replicas. Raises KubeError."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a Cluster may leave."""

    waits: str = ""
    """Why it may not, for messages; empty if it may."""
    clears: bool = False
    """Whether workloads without replicas have to be deleted before."""


UNKNOWN = Decision("the applications of this host, or the workloads there, have not been read yet")


def decide(entry: Entry, others: Iterable[Entry], left: Left | None) -> Decision:
    """Decide whether a Cluster that is being deleted may leave the fleet."""
    if abandoned(entry.cluster) or not entry.held_uid:
        return Decision()
    if entry.problem is not None and (entry.problem.reason == REPLACED or entry.problem.reach is Reach.UNKNOWN):
        return Decision()  # what it was used for is out of reach, or is in the care of another Cluster
    if any(_succeeds(other, entry) for other in others):
        return Decision()
    if left is None or entry.undecided:
        return UNKNOWN
    if left.unseen:
        return Decision(
            f"cannot be seen ({entry.detail or entry.reach}), and workloads of these applications may be there: "
            f"{_named(left.unseen)}; {ABANDON}"
        )
    if left.running:
        return Decision(f"waits until these are gone: {_named(left.running)}; {ABANDON}")
    return Decision(clears=left.empty > 0)


def _succeeds(other: Entry, entry: Entry) -> bool:
    """Whether another Cluster stands for the same cluster, and takes over the workloads."""
    same = other.answering_uid == entry.held_uid and (not other.held_uid or other.held_uid == entry.held_uid)
    return other is not entry and same and other.cluster.metadata.deletion_timestamp is None


def _named(titles: Collection[str]) -> str:
    named = ", ".join(sorted(titles)[:MOST_NAMED])
    return f"{named} and {len(titles) - MOST_NAMED} more" if len(titles) > MOST_NAMED else named


class Departures:
    """Follows the Clusters that are being deleted. ``let_go`` is called when one may leave."""

    def __init__(
        self,
        entries: Callable[[], Iterable[Entry]],
        occupancy: Occupancy,
        *,
        changed: Callable[[Entry], None],
        let_go: Callable[[Entry], None],
    ) -> None:
        self._entries = entries
        self._occupancy = occupancy
        self._changed = changed
        self._let_go = let_go

    async def follow(self, entry: Entry) -> None:
        """Wait until a Cluster may leave; then let it go."""
        pause = FIRST_WAIT
        while True:
            decision = decide(entry, self._entries(), self._left(entry))
            closing = decision.clears
            if not decision.waits and not closing:
                break
            if decision is UNKNOWN:
                await asyncio.sleep(FIRST_WAIT)
                continue
            if (entry.leaving, entry.closing) != (decision.waits, closing):
                entry.leaving, entry.closing, pause = decision.waits, closing, FIRST_WAIT
                self._changed(entry)
            if closing:
                await self._occupancy.clear(entry.key)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_WAIT)
        _log.info("cluster", cluster=entry.key, state="leaves")
        self._let_go(entry)

    def _left(self, entry: Entry) -> Left | None:
        member = entry.member
        return self._occupancy.left(
            entry.key, seen=member is not None and entry.reach is Reach.READY and not member.unread
        )
