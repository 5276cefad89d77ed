"""Adaptive scheduling: which subsets cannot run what they were given, and since when.

A subset turns unschedulable when a pod of it had no node for ``rescheduleCriticalSeconds``. It then keeps what it runs
and gets nothing more, until ``unschedulableDuration`` has passed and none of its pods waits. Only the scheduler's own
word counts: a pod that is not ready, that is being replaced, or that a surge has brought on top moves nothing.

There is no clock here. All times are the clusters' (when a condition turned), and the look that is planned from has
its own; what cannot be seen again once it was acted on (that a subset is unschedulable, how many of its pods are
reserved) is kept in the status of the subset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import NO_PODS, MemberView, Observed, PodTally, Reach, cluster_label
from uniteddeployment.planning.observed.values import since
from uniteddeployment_api import AdaptiveStrategy
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES

SCHEDULABLE = "Schedulable"
"""The type of the condition of a subset."""


@dataclass(frozen=True, slots=True)
class Order:
    """How pods with ordinals come."""

    first: int = 0
    """The lowest ordinal."""
    one_by_one: bool = True
    """Whether one is made only when all before it are ready."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods of what a subset was given that have no node."""

    pods: int
    removable: int
    """How many pods scaling down would take away without touching one that has a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether a subset takes pods."""

    given: int
    """How many pods it was last given."""
    placed: int
    """How many of them would stay if those that wait for a node now were taken away."""
    schedulable: bool = True
    transition: str | None = None
    """When that last changed."""
    reason: str = SCHEDULABLE
    message: str = ""
    capacity: int | None = None
    """How many pods it can probably run."""
    may_grow: bool = True
    reserved: int = 0
    """How many of its pods have stand-ins."""
    on_trial: bool = False
    """Nothing is wrong with it any more. It is schedulable again unless it is to grow: stand-ins stay until then."""
    requeue_after: int | None = None
    """Seconds until this may be another answer although nothing has happened."""

    def condition(self, replicas: int, now: str) -> Mapping[str, Any]:
        """For status, when the subset is given so many pods."""
        if self.on_trial and replicas <= self.given:
            return _condition(SCHEDULABLE, "True", now, "")
        return _condition(self.reason, "True" if self.schedulable else "False", self.transition or now, self.message)


def standings(
    subject: Subject, app: Application, observed: Observed, given: Mapping[str, int]
) -> Mapping[str, Standing]:
    """Subset -> its standing. Empty unless the strategy is Adaptive, or if the replicas are somebody else's."""
    strategy = app.model.spec.topology.schedule_strategy
    if strategy.type != "Adaptive" or "spec.replicas" in subject.ignored:
        return {}
    entries = subject.subset_statuses()
    found = {}
    for name, subset in app.subsets.items():
        view = observed.members.get(app.cluster_of(subset)) or MemberView(app.cluster_of(subset), Reach.UNKNOWN)
        scheduling = _Scheduling(
            where=cluster_label(view.name).removeprefix(f"{app.namespace}/"),
            rules=strategy.adaptive,
            now=observed.now,
            given=given.get(name, 0),
            pods=view.pods.get(name, NO_PODS),
            order=_order(app, view, name),
            entry=entries.get(name),
            joins=name not in entries and bool(entries),
        )
        found[name] = scheduling.standing() if view.reach is Reach.READY else scheduling.last_standing()
    return found


def _order(app: Application, view: MemberView, subset: str) -> Order | None:
    if not any(field in ORDINAL_TEMPLATES for field in app.model.spec.template.given):
        return None
    one_by_one = app.workload_template["spec"].get("podManagementPolicy") != "Parallel"
    first = min((found.first_ordinal for found in view.workloads if found.subset == subset), default=0)
    return Order(first, one_by_one)


def schedulable_condition(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The condition as a subset's status has it; empty if it has none."""
    return next((one for one in entry.get("conditions") or () if one["type"] == SCHEDULABLE), {})


@dataclass(frozen=True, slots=True)
class _Scheduling:
    """All that decides about one subset."""

    where: str
    rules: AdaptiveStrategy
    now: str
    given: int
    pods: PodTally
    order: Order | None
    """None for pods without ordinals."""
    entry: Mapping[str, Any] | None
    """The subset's status."""
    joins: bool
    """Whether it is new in an application that runs already."""

    def standing(self) -> Standing:
        """What its pods say now."""
        stored = schedulable_condition(self.entry or {})
        marked = stored.get("status") == "False"
        stuck = self._waiting(self.rules.reschedule_critical_seconds)
        placed = self.given - self._waiting(0).removable
        reserved = self._reserved(stuck.pods)
        if not marked and not stuck.pods:
            if self.joins and self.rules.reserve_unschedulable_pods:
                return self._newcomer(placed)
            transition = stored.get("lastTransitionTime")
            return Standing(given=self.given, placed=placed, transition=transition, requeue_after=self._next_critical())
        lasting = self.rules.unschedulable_duration - since(stored.get("lastTransitionTime"), self.now)
        over = marked and not stuck.pods and not reserved and lasting <= 0
        if over and not self.rules.reserve_unschedulable_pods:
            return Standing(given=self.given, placed=placed, transition=self.now, requeue_after=self._next_critical())
        times = [self._next_critical(), self._next_proven() if reserved else None]
        times.append(None if stuck.pods or reserved or over else lasting if marked else None)
        removable = reserved if self.rules.reserve_unschedulable_pods else stuck.removable
        return Standing(
            given=self.given,
            placed=placed,
            schedulable=False,
            transition=stored.get("lastTransitionTime") if marked else self.now,
            reason="Unschedulable" if stuck.pods else stored.get("reason", ""),
            message=self._message(stuck.pods) if stuck.pods else stored.get("message", ""),
            capacity=self.given - removable,
            may_grow=not reserved,
            reserved=reserved,
            on_trial=over,
            requeue_after=min((time for time in times if time is not None), default=None),
        )

    def last_standing(self) -> Standing:
        """Of a cluster that does not answer: what was known of it last. Nothing moves for that alone (I8)."""
        stored = schedulable_condition(self.entry or {})
        marked = stored.get("status") == "False"
        reserved = min(self._reserved_before(), self.given)
        return Standing(
            given=self.given,
            placed=self.given,
            schedulable=not marked,
            transition=stored.get("lastTransitionTime"),
            reason=stored.get("reason") or SCHEDULABLE,
            message=stored.get("message", ""),
            capacity=self.given - reserved if marked else None,
            may_grow=not reserved,
            reserved=reserved,
        )

    def _newcomer(self, placed: int) -> Standing:
        """Of a subset that joins, the pods have to prove themselves before others are taken away for them (I7)."""
        return Standing(
            given=self.given,
            placed=placed,
            schedulable=False,
            transition=self.now,
            reason="New",
            message="new in the list: its pods have stand-ins until they are ready",
            capacity=self.given,
            requeue_after=self.rules.unschedulable_duration,
        )

    def _waiting(self, critical: int) -> Waiting:
        return waiting(self.pods, self.given, self.order, critical=critical, now=self.now)

    def _message(self, count: int) -> str:
        critical = self.rules.reschedule_critical_seconds
        begun = min(begun for _, begun in self.pods.unscheduled if since(begun, self.now) >= critical)
        return f"{count} of {self.given} could not be scheduled in {self.where} since {begun[11:16]}"

    def _reserved_before(self) -> int:
        if not self.rules.reserve_unschedulable_pods:
            return 0
        return int((self.entry or {}).get("reservedReplicas", 0))

    def _reserved(self, stuck: int) -> int:
        """Those that wait, and those that did until they have been ready for long enough.

        Never more than were reserved before, unless more wait: pods of a subset with reserved ones that are being
        updated are not ready either, and need no stand-ins for that.
        """
        if not self.rules.reserve_unschedulable_pods:
            return 0
        proven = sum(1 for begun in self._ready_since() if since(begun, self.now) >= self.rules.unschedulable_duration)
        return min(self.given, max(stuck, min(self._reserved_before(), self.given - proven)))

    def _ready_since(self) -> list[str | None]:
        return [pod.ready_since for pod in self.pods.pods if pod.ready]

    def _next_critical(self) -> int | None:
        """Seconds until the next pod has been without a node for too long."""
        critical = self.rules.reschedule_critical_seconds
        left = [critical - since(begun, self.now) for _, begun in self.pods.unscheduled]
        return min((time for time in left if time > 0), default=None)

    def _next_proven(self) -> int | None:
        """Seconds until the next pod has been ready for long enough."""
        left = [self.rules.unschedulable_duration - since(begun, self.now) for begun in self._ready_since()]
        return min((time for time in left if time > 0), default=None)


def _condition(reason: str, value: str, transition: str, message: str) -> Mapping[str, Any]:
    return {
        "type": SCHEDULABLE,
        "status": value,
        "lastTransitionTime": transition,
        "reason": reason,
        "message": message,
    }


def waiting(pods: PodTally, given: int, order: Order | None, *, critical: int, now: str) -> Waiting:
    """The pods that had no node for ``critical`` seconds, without those that are there on top of what was given."""
    stuck = [ordinal for ordinal, begun in pods.unscheduled if since(begun, now) >= critical]
    if order is not None:
        return _waiting_in_order(sorted(pod.ordinal for pod in pods.pods)[:given], given, frozenset(stuck), order)
    surplus = max(0, sum(pods.living.values()) - given)
    count = min(max(0, len(stuck) - surplus), given)
    return Waiting(count, count)


def _waiting_in_order(there: Sequence[int], given: int, stuck: frozenset[int], order: Order) -> Waiting:
    """Pods go from the top, so one that waits below another that runs cannot be taken away.

    Where they are made one after the other, those that are missing wait for the one that waits.
    """
    count = sum(1 for ordinal in there if ordinal in stuck)
    missing = given - len(there)
    if not count or (missing and not order.one_by_one):
        return Waiting(count, 0)
    removable = min(missing, max(0, order.first + given - 1 - there[-1]))
    if removable == missing:
        removable += next((place for place, ordinal in enumerate(reversed(there)) if ordinal not in stuck), len(there))
    return Waiting(count + missing, removable)
