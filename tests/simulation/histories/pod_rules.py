"""Rules about pods: which version a new pod has, and which pods are lost."""

from collections import Counter

from tests.simulation.histories.breach import Breaches, Circumstances
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Place, Pod


class PodRules:
    """Partitions are a hard cap on updated pods, and an updated pod stays updated (I6)."""

    def __init__(self, ledger: Ledger, enforced: Enforced, circumstances: Circumstances, breaches: Breaches) -> None:
        self._ledger = ledger
        self._enforced = enforced
        self._circumstances = circumstances
        self._breaches = breaches
        self._lost: dict[Place, Counter[str]] = {}
        """Pods that were lost while they were wanted: each may come back as it was."""
        ledger.on_pod.append(self._changed)

    def _changed(self, old: Pod | None, new: Pod | None, by_controller: bool) -> None:
        if old is not None and old.living and (new is None or not new.living):
            self._went(old, unasked=not by_controller and not self._circumstances.by_user)
        if old is None and new is not None and new.living and new.place not in self._circumstances.tampered:
            self._came(new)

    def _went(self, pod: Pod, *, unasked: bool) -> None:
        """A ready pod whose version is wanted by every generation is not taken back, whatever its partition is."""
        ledger, place = self._ledger, pod.place
        workloads = [found for found in ledger.at(place) if not found.deleting]
        if ledger.living[place].total() >= sum(found.replicas for found in workloads):
            return
        if any(found.is_beyond(pod) for found in workloads):
            # A StatefulSet that shrinks removes its highest ordinals, also while it replaces pods before them.
            return
        self._lost.setdefault(place, Counter())[pod.image] += 1
        generations = self._enforced.generations(place)
        if not unasked or not pod.ready or place in self._circumstances.tampered:
            return
        if generations and all(generation.image == pod.image for generation in generations):
            self._breaches.report("I6", f"{place} had a pod of {pod.image} taken back")

    def _came(self, pod: Pod) -> None:
        """A new pod is stable, within what a partition leaves to its version, or in place of one that was lost."""
        ledger, place = self._ledger, pod.place
        lost = self._lost.get(place, Counter())
        if ledger.living[place].total() >= sum(found.replicas for found in ledger.at(place)):
            self._lost.pop(place, None)
        if not self._enforced.generations(place) or ledger.per_revision:
            return
        if not ledger.stable or pod.image == ledger.stable:
            return
        allowed = [request.updated for request in self._enforced.requests(place, pod.image)]
        running = ledger.living[place][pod.image]
        if allowed and running <= max(allowed):
            return
        if lost[pod.image] > 0:
            lost[pod.image] -= 1
        elif allowed:
            why = f"{running} pods of {pod.image}, the partition leaves {max(allowed)}"
            self._breaches.report("I6", f"{place} runs {why}")
        else:
            why = f"a pod of {pod.image}, which nobody wants any more; {ledger.stable} is stable"
            self._breaches.report("I6", f"{place} got {why}")
