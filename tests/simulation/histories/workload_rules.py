"""Rules about each write of a workload by the controller."""

from collections import Counter

from tests.simulation.histories.breach import LAG_SECONDS, Breaches, Circumstances
from tests.simulation.histories.enforced import Enforced
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.losses import Figures
from tests.simulation.histories.objects import Place, Workload
from tests.simulation.histories.requested import assigned


class WorkloadRules:
    """What a write may ask for, in terms of the generations that it may have been planned on."""

    def __init__(
        self,
        ledger: Ledger,
        enforced: Enforced,
        circumstances: Circumstances,
        breaches: Breaches,
        figures: Figures,
    ) -> None:
        self._figures = figures
        self._ledger = ledger
        self._enforced = enforced
        self._circumstances = circumstances
        self._breaches = breaches
        self._settled: dict[Place, tuple[Counter[str], int]] = {}
        """The pods of a place when the application was ready last, and the generation of that."""
        ledger.on_workload.append(self._changed)
        ledger.on_revision_deleted.append(self._revision_deleted)

    def settled(self, place: Place, generation: int) -> None:
        """The application is ready with the pods that a place has now."""
        self._settled[place] = self._ledger.pods_at(place), generation

    def _changed(self, old: Workload | None, new: Workload | None, by_controller: bool) -> None:
        changed = new or old
        if changed is None or not by_controller:
            return
        self._is_ours(old, new)
        if changed.owner not in self._ledger.known:
            return
        if old is not None and (new is None or (new.deleting and not old.deleting)):
            self._deleted(old, orphaning=new is not None and new.orphaning)
        elif new is not None:
            if old is None:
                self._only_one(new)
            self._not_paused(new)
            self._within_the_partition(old, new)
            if old is not None and new.replicas < old.replicas:
                self._shrunk(new)
        self._enforced.written(changed.place)

    def _is_ours(self, old: Workload | None, new: Workload | None) -> None:
        """What the controller did not create it does not touch (I13)."""
        if old is not None and old.owner not in self._ledger.known:
            self._breaches.report("I13", f"{old.place[0]}: {old.name} is not ours and was written")
        if old is None and new is not None and new.owner != self._ledger.uid:
            self._breaches.report("I13", f"{new.place[0]}: {new.name} was created for {new.owner or 'nobody'}")

    def _only_one(self, new: Workload) -> None:
        """There is one workload of a kind for each subset, or one for each revision of it (I9)."""
        for other in self._ledger.at(new.place):
            same_version = not self._ledger.per_revision or other.image == new.image
            if other.uid != new.uid and other.resource == new.resource and same_version and not other.deleting:
                self._breaches.report("I9", f"{new.name} was created in {new.place[0]} beside {other.name}")

    def _not_paused(self, new: Workload) -> None:
        ledger = self._ledger
        if ledger.generations and not ledger.deleting and all(one.paused for one in ledger.planned()):
            self._breaches.report("paused", f"{new.name} in {new.place[0]} was written")

    def _within_the_partition(self, old: Workload | None, new: Workload) -> None:
        """No write asks for more updated pods than the partition leaves (I6)."""
        stable = self._ledger.stable
        before = old.updatable if old is not None and old.image == new.image else 0
        if not stable or new.image == stable or new.updatable <= before:
            return
        requests = [one.subset(new.place) for one in self._ledger.planned() if one.image == new.image]
        allowed = max((request.updated for request in requests if request), default=0)
        if new.updatable > allowed:
            why = f"{new.updatable} pods of {new.image}, the partition leaves {allowed}"
            self._breaches.report("I6", f"{new.name} in {new.place[0]} was asked to run {why}")

    def _shrunk(self, new: Workload) -> None:
        """No write removes pods of a subset that are requested (I7), nor updated ones of a subset that was ready."""
        ledger = self._ledger
        requests = [one.subset(new.place) for one in ledger.planned()]
        if not ledger.pods_at(new.place) or new.resource != ledger.resource or None in requests or not requests:
            return
        least = min(request.least for request in requests if request)
        least -= least // 4 if ledger.per_revision else 0
        total = sum(found.replicas for found in ledger.at(new.place) if found.resource == ledger.resource)
        if self._takes_back(new):
            self._breaches.report("I6", f"{new.name} in {new.place[0]} was scaled to {new.replicas}: pods taken back")
        if total < least:
            why = f"was scaled to {new.replicas}: {total} of {least} are left"
            self._breaches.report("I7", f"{new.name} in {new.place[0]} {why}")
        self._within_the_budget(new, total)

    def _within_the_budget(self, new: Workload, total: int) -> None:
        """Replicas that move leave a subset only as far as ready pods elsewhere allow (I7)."""
        ledger = self._ledger
        ready = ledger.ready_at(new.place)
        lost = ready[new.image] - new.replicas if ledger.per_revision else ready.total() - total
        fell = any(one.total > ledger.newest.total for one in ledger.generations[-4:])
        if not fell and new.place not in self._circumstances.ever_tampered and not self._exchanges(new, lost):
            self._keeps_enough(new, lost, f"was scaled to {new.replicas}")

    def _exchanges(self, new: Workload, lost: int) -> bool:
        """Whether Deployments of a subset exchange pods with each other, within the limits of their update."""
        number = assigned(self._ledger.status).get(new.place[1], 0)
        left = self._ledger.ready_at(new.place).total() - lost
        return self._ledger.per_revision and left >= number - number // 4

    def _keeps_enough(self, workload: Workload, lost: int, how: str) -> None:
        """As many pods stay ready as the budget asks for, and pods that cannot be seen do not count (I7, I8)."""
        ledger = self._ledger
        if lost <= 0 or ledger.resuming is not None:
            return
        unseen = self._circumstances.unseen(ledger.world.loop.time())
        left = ledger.most_ready(LAG_SECONDS, unseen) - lost
        least = min(one.total - one.unavailable for one in ledger.planned())
        if left < least:
            self._figures.below_budget += least - left
            why = f"{how}: {left} ready pods are left, {least} are requested"
            unseen_too = f", and {sorted(unseen)} cannot be seen" if unseen else ""
            self._breaches.report("I7", f"{workload.name} in {workload.place[0]} {why}{unseen_too}")

    def _takes_back(self, new: Workload) -> bool:
        """Whether fewer pods of a version are asked for than were ready, although no edit since asked for less."""
        pods, number = self._settled.get(new.place, (Counter(), 0))
        since = [one for one in self._ledger.generations if one.number >= number]
        requests = [request for one in since if one.image == new.image and (request := one.subset(new.place))]
        kept = len(requests) == len(since) and all(request.least >= pods.total() for request in requests)
        return kept and new.replicas < pods[new.image] and new.place not in self._circumstances.tampered

    def _deleted(self, old: Workload, *, orphaning: bool) -> None:
        """What is in the topology stays, and what is not goes when the others are ready without it (I7)."""
        ledger = self._ledger
        if ledger.deleting or not ledger.generations:
            if ledger.orphaning:
                self._breaches.report("orphan", f"{old.name} in {old.place[0]} was deleted")
            return
        if orphaning or (ledger.per_revision and not old.replicas):
            return
        planned = ledger.planned()
        if old.resource == ledger.resource and all(one.subset(old.place) for one in planned):
            self._breaches.report("I7", f"{old.name} in {old.place[0]} was deleted and is in the topology")
        ready = ledger.ready_at(old.place)
        self._keeps_enough(old, ready[old.image] if ledger.per_revision else ready.total(), "was deleted")

    def _revision_deleted(self, image: str) -> None:
        """The template of what runs, or is to run, is kept (I9)."""
        ledger = self._ledger
        if ledger.deleting or not ledger.generations:
            return
        running = any(counts[image] > 0 for counts in ledger.living.values())
        if running or image in (ledger.stable, ledger.newest.image):
            self._breaches.report("I9", f"the revision of {image} was deleted, and is in use")
