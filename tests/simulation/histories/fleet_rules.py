"""Rules about the members of the fleet: ordinals, the brake, and clusters that are not members."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.histories.breach import LAG_SECONDS, Breaches, Circumstances
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Pod
from tests.simulation.histories.status_rules import replicas

TOGETHER = timedelta(seconds=28)
"""Members that are lost within this time are lost within one grace period, however times are rounded."""
LEAST_LOST = 3
"""The fewest lost members that stop moves."""


class FleetRules:
    """What holds whatever happens to members."""

    def __init__(
        self,
        ledger: Ledger,
        enforced: Enforced,
        circumstances: Circumstances,
        breaches: Breaches,
        *,
        disjoint: bool,
    ) -> None:
        del enforced, circumstances  # they excuse nothing of this
        self._ledger = ledger
        self._breaches = breaches
        if disjoint:
            ledger.on_pod.append(self._came)
        ledger.on_foreign_write.append(self._written_elsewhere)
        ledger.on_status.append(self._moved)

    def _came(self, old: Pod | None, new: Pod | None, _by_controller: bool) -> None:
        """No ordinal runs twice (I9), also not where nobody can see it."""
        if old is not None or new is None or not new.living or len(self._ledger.known) > 1:
            return
        for other in self._ledger.pods.values():
            if other.living and other.place != new.place and _ordinal(other) == _ordinal(new):
                why = f"{new.name} runs in {new.place[0]}, and {other.name} in {other.place[0]}"
                self._breaches.report("ordinals", why)

    def _written_elsewhere(self, member: str) -> None:
        """Another cluster at the address of a member is not that member (I14)."""
        self._breaches.report("I14", f"a workload was written into another cluster at the address of {member}")

    def _moved(self, before: Mapping[str, Any], by_controller: bool) -> None:
        """Nothing leaves a lost member while more than half of the fleet is lost at once."""
        ledger, lost = self._ledger, self._lost_at_once()
        if not by_controller or not lost or before.get("observedGeneration") != ledger.observed or ledger.deleting:
            return
        old, new = replicas(before), replicas(ledger.status)
        for name, request in ledger.newest.subsets.items():
            if request.member in lost and new.get(name, 0) < old.get(name, 0):
                why = f"{name} went from {old[name]} to {new.get(name, 0)} replicas while {sorted(lost)} are lost"
                # A member that is back is Running in the next write of its Cluster.
                ledger.world.loop.call_later(LAG_SECONDS, self._report_if_lost, request.member, why)

    def _report_if_lost(self, member: str, why: str) -> None:
        if member in self._lost_at_once():
            self._breaches.report("brake", why)

    def _lost_at_once(self) -> set[str]:
        """The members that are lost, if that stops moves."""
        health = self._ledger.health
        since = {name: one.since for name, one in health.items() if one.phase == "Offline" and one.since}
        if len(since) < LEAST_LOST or 2 * len(since) <= len(health):
            return set()
        times = sorted(map(datetime.fromisoformat, since.values()))
        return set(since) if times[-1] - times[0] < TOGETHER else set()


def _ordinal(pod: Pod) -> str:
    return pod.name.rpartition("-")[2]
