"""Rules about each write of the status, and about what has to be true while time passes."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.simulation.histories.breach import DARK_SECONDS, Breaches, Circumstances, calm
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Place
from tests.simulation.histories.requested import Generation, assigned
from tests.simulation.histories.workload_rules import WorkloadRules
from uniteddeployment_api import names

MOVE_SECONDS = 5.0
"""For this long after the last taint of a Cluster has gone, the status may show what it led to."""


class StatusRules:
    """Status is true, and its numbers follow from the spec."""

    def __init__(
        self,
        ledger: Ledger,
        enforced: Enforced,
        circumstances: Circumstances,
        breaches: Breaches,
        workload_rules: WorkloadRules,
    ) -> None:
        self._ledger = ledger
        self._enforced = enforced
        self._circumstances = circumstances
        self._breaches = breaches
        self._workload_rules = workload_rules
        ledger.on_status.append(self._changed)

    def _changed(self, before: Mapping[str, Any], by_controller: bool) -> None:
        ledger = self._ledger
        generation = next((one for one in ledger.generations if one.number == ledger.observed), None)
        if not by_controller or generation is None or ledger.deleting:
            return
        places = [(request.member, name) for name, request in generation.subsets.items()]
        for place in places:
            self._enforced.reported(place)
        self._adds_up(generation)
        self._follows_the_total(before, generation)
        if ledger.status.get("currentRevision") not in ("", before.get("currentRevision")):
            self._became_stable(generation)
        if ready(ledger.status) == "True":
            self._is_ready(generation)
            for place in places:
                self._workload_rules.settled(place, generation.number)

    def _adds_up(self, generation: Generation) -> None:
        """The replicas of all subsets, and those that found no place, are the total (I4)."""
        given = replicas(self._ledger.status)
        if sum(given.values()) + self._ledger.status.get("unplacedReplicas", 0) != generation.total:
            self._breaches.report("I4", f"{given} do not add up to {generation.total}")
        for name in generation.subsets:
            low, high = place_range(self._ledger, generation, name)
            if not low <= given.get(name, -1) <= high:
                why = f"{name} has {given.get(name)} replicas, {low} to {high} are requested"
                self._breaches.report("I4", why)

    def _follows_the_total(self, before: Mapping[str, Any], generation: Generation) -> None:
        """Scaling up shrinks no subset, and scaling down grows none (I5); percentages may."""
        numbers = {one.number: one for one in self._ledger.generations}
        earlier = numbers.get(generation.number - 1)
        if earlier is None or before.get("observedGeneration") != earlier.number:
            return
        if earlier.shares != generation.shares or "%" in str(generation.shares) or moves(self._ledger):
            return
        old, new = replicas(before), replicas(self._ledger.status)
        up = generation.total - earlier.total
        for name in old.keys() & new.keys():
            if up * (new[name] - old[name]) < 0 or (not up and new[name] != old[name]):
                why = f"{name} went from {old[name]} to {new[name]} replicas"
                self._breaches.report("I5", f"{why} when the total went from {earlier.total} to {generation.total}")

    def _became_stable(self, generation: Generation) -> None:
        """A version is stable when every pod runs it and is ready, and never before (I8)."""
        ledger = self._ledger
        if not calm(ledger, self._circumstances):
            return
        if ledger.stable != generation.image:
            why = f"{ledger.stable or 'nothing'} was called stable when {generation.image} was requested"
            self._breaches.report("I8", why)
        for name, request in generation.subsets.items():
            pods = ledger.ready_at((request.member, name))
            low = place_range(ledger, generation, name)[0]
            if pods != +Counter({generation.image: pods.total()}) or pods.total() < low:
                why = f"{generation.image} was called stable when {name} had {dict(pods)} ready"
                self._breaches.report("I8", why)

    def _is_ready(self, generation: Generation) -> None:
        """Ready is said only of what is there and can be seen (I8)."""
        ledger = self._ledger
        now = ledger.world.loop.time()
        wanted = {request.member for request in generation.subsets.values()}
        for member, since in self._circumstances.dark.items():
            runs = any(found.place[0] == member for found in ledger.workloads.values() if found.owner == ledger.uid)
            if now - since > DARK_SECONDS and (runs or member in wanted):
                why = f"Ready is True, and {member} has not answered for {now - since:.0f} s"
                self._breaches.report("I8", why)
        if calm(ledger, self._circumstances):
            for name, request in generation.subsets.items():
                count = ledger.ready_at((request.member, name)).total()
                low = place_range(ledger, generation, name)[0]
                if count < low:
                    why = f"Ready is True, and {name} has {count} of {low} pods ready"
                    self._breaches.report("I8", why)

    def check_promptness(self) -> None:
        """A minute and a half after an edit, every member without trouble runs what was requested (I10)."""
        ledger = self._ledger
        if not ledger.generations or ledger.deleting or ledger.newest.paused or not ledger.stable:
            return
        newest = ledger.newest
        in_trouble = self._circumstances.in_trouble(ledger.world.loop.time())
        for name, request in newest.subsets.items():
            place = request.member, name
            pods = ledger.pods_at(place)
            failing = newest.image.startswith("fail") or any(image.startswith("fail") for image in pods)
            excused = request.member in in_trouble or place in self._circumstances.tampered
            excused = excused or self._waits_for_a_node(place)
            if failing or excused or not ledger.has_template(ledger.stable):
                continue
            total = pods.total()
            wanted = total if newest.image == ledger.stable else request.updated_of(total)
            low, high = place_range(ledger, newest, name)
            most = max(high, assigned(ledger.status).get(name, 0))
            if not low <= total <= most or pods[newest.image] < wanted:
                self._breaches.report("I10", f"{place} still runs {dict(pods)}; in trouble are {sorted(in_trouble)}")

    def _waits_for_a_node(self, place: Place) -> bool:
        """Whether a pod has no node.

        A StatefulSet that creates its pods in order then creates none beyond it, and an update goes on only as far as
        enough other pods are ready.
        """
        member, subset = place
        return any(
            pod["metadata"].get("labels", {}).get(names.LABEL_SUBSET) == subset
            and any(
                condition["type"] == "PodScheduled" and condition["status"] == "False"
                for condition in pod.get("status", {}).get("conditions", ())
            )
            for pod in self._ledger.world.pods(member)
        )


def replicas(status: Mapping[str, Any]) -> dict[str, int]:
    """Subset -> the replicas that it has by status when nothing moves any more."""
    entries = status.get("subsetStatuses") or ()
    return {entry["name"]: entry.get("desiredReplicas", entry["replicas"]) for entry in entries}


def moves(ledger: Ledger) -> bool:
    """Whether the state of a cluster may decide how many replicas a subset has.

    It does while a Cluster has a taint, and a moment longer. With Adaptive, replicas also stay where they moved.
    """
    recent = ledger.world.loop.time() - ledger.moved < MOVE_SECONDS
    return ledger.generations[-1].adaptive or bool(ledger.tainted) or recent


def place_range(ledger: Ledger, generation: Generation, name: str) -> tuple[int, int]:
    """The fewest and the most replicas that a subset may have."""
    request, number = generation.subsets[name], replicas(ledger.status).get(name, 0)
    if moves(ledger):
        return number, number
    if ledger.moves and request.low - 1 <= number <= request.high + 1:
        # What replicas left because of a cluster and returned to decides ties.
        return number, number
    return request.low, request.high


def ready(status: Mapping[str, Any]) -> str:
    """The status of the condition Ready."""
    found = [entry["status"] for entry in status.get("conditions") or () if entry["type"] == "Ready"]
    return str(found[0]) if found else ""
