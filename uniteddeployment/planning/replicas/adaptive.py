"""Adaptive scheduling: which subsets cannot run the pods that they were assigned, and since when.

A subset becomes unschedulable when one of its pods has had no node for ``rescheduleCriticalSeconds``. It then keeps the
pods that it runs and gets no more, until ``unschedulableDuration`` has passed and none of its pods waits for a node.
Only the scheduler's verdict counts: a pod that is not ready, that is being replaced, or that a surge has added moves
nothing.

There is no clock here. All times come from the clusters (when a condition changed) and from the snapshot. What cannot
be derived again after acting on it (that a subset is unschedulable, how many of its pods are reserved) is kept in the
status of the subset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import NO_PODS, MemberView, Observed, PodTally, Reach, cluster_label
from uniteddeployment.planning.observed.values import later, since
from uniteddeployment.planning.stored import NO_SUBSET, StoredCondition, StoredSubset
from uniteddeployment_api import AdaptiveStrategy
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES

SCHEDULABLE = "Schedulable"
"""The type of the condition of a subset."""


@dataclass(frozen=True, slots=True)
class OrdinalOrder:
    """The order in which pods with ordinals are created."""

    first: int = 0
    """The lowest ordinal."""
    one_by_one: bool = True
    """Whether a pod is created only when all before it are ready."""


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """Pods of a subset's assigned number that have no node."""

    pods: int
    removable: int
    """Number of those that scaling down would remove without touching a pod that has a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether a subset takes pods."""

    given: int
    """Number of pods that it was last assigned."""
    placed: int
    """Number of those that would stay if the pods that wait for a node now were removed."""
    schedulable: bool = True
    transition: str | None = None
    """When that last changed."""
    reason: str = SCHEDULABLE
    message: str = ""
    capacity: int | None = None
    """Number of pods that it can probably run."""
    may_grow: bool = True
    reserved: int = 0
    """Number of its pods that wait for a node and are meant to have stand-ins in other subsets."""
    on_trial: bool = False
    """Nothing is wrong with it any more. It is schedulable again unless it is to grow: stand-ins stay until then."""
    requeue_after: int | None = None
    """Seconds until this may change although nothing happens until then."""

    def condition(self, replicas: int, now: str) -> StoredCondition:
        """The condition of the subset if it is assigned this number of pods."""
        if self.on_trial and replicas <= self.given:
            return StoredCondition(SCHEDULABLE, "True", None, now, SCHEDULABLE, "")
        status = "True" if self.schedulable else "False"
        return StoredCondition(SCHEDULABLE, status, None, self.transition or now, self.reason, self.message)


def stored_condition(subset: StoredSubset) -> StoredCondition:
    """The condition that a subset has in the status. A subset without one is schedulable."""
    return subset.condition(SCHEDULABLE) or StoredCondition(SCHEDULABLE, "True")


def standings(
    subject: Subject, app: Application, observed: Observed, given: Mapping[str, int]
) -> Mapping[str, Standing]:
    """Subset -> its standing. Empty unless the strategy is Adaptive, and if the replicas are left to others."""
    strategy = app.model.spec.topology.schedule_strategy
    if strategy.type != "Adaptive" or "spec.replicas" in subject.ignored:
        return {}
    known = subject.status.subsets
    result = {}
    for name, subset in app.subsets.items():
        view = observed.members.get(app.cluster_of(subset)) or MemberView(app.cluster_of(subset), Reach.UNKNOWN)
        scheduling = _Scheduling(
            place=cluster_label(view.name).removeprefix(f"{app.namespace}/"),
            rules=strategy.adaptive,
            now=observed.now,
            clock=view.clock(observed.now),
            ahead=view.clock_ahead,
            given=given[name],
            pods=view.pods.get(name, NO_PODS),
            order=_order(app, view, name),
            stored=known.get(name, NO_SUBSET),
            joins=name not in known and bool(known),
        )
        result[name] = scheduling.standing() if view.reach is Reach.READY else scheduling.last_standing()
    return result


def _order(app: Application, view: MemberView, subset: str) -> OrdinalOrder | None:
    if not any(field in ORDINAL_TEMPLATES for field in app.model.spec.template.given):
        return None
    one_by_one = app.workload_template["spec"].get("podManagementPolicy") != "Parallel"
    first = min((workload.first_ordinal for workload in view.workloads if workload.subset == subset), default=0)
    return OrdinalOrder(first, one_by_one)


@dataclass(frozen=True, slots=True)
class _Scheduling:
    """Everything that decides about one subset."""

    place: str
    """The cluster, in messages."""
    rules: AdaptiveStrategy
    now: str
    clock: str
    """What the clock of the cluster shows now. The times of its pods are compared with that."""
    ahead: int
    """By how many seconds that clock is ahead of ours."""
    given: int
    pods: PodTally
    order: OrdinalOrder | None
    """None for pods without ordinals."""
    stored: StoredSubset
    joins: bool
    """Whether it is new in an application that runs already."""

    def standing(self) -> Standing:
        """The standing that follows from its pods now."""
        stored = stored_condition(self.stored)
        marked = stored.status == "False"
        stuck = self._unscheduled(self.rules.reschedule_critical_seconds)
        placed = self.given - self._unscheduled(0).removable
        reserved = self._reserved(stuck.pods)
        if not marked and not stuck.pods:
            if self.joins and self.rules.reserve_unschedulable_pods:
                return self._newcomer(placed)
            transition = stored.last_transition_time
            return Standing(given=self.given, placed=placed, transition=transition, requeue_after=self._next_critical())
        lasting = self.rules.unschedulable_duration - since(stored.last_transition_time, self.now)
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
            transition=stored.last_transition_time if marked else self.now,
            reason="Unschedulable" if stuck.pods else stored.reason,
            message=self._message(stuck.pods) if stuck.pods else stored.message,
            capacity=self.given - removable,
            may_grow=not reserved,
            reserved=reserved,
            on_trial=over,
            requeue_after=min((time for time in times if time is not None), default=None),
        )

    def last_standing(self) -> Standing:
        """The last known standing, for a cluster that does not answer: nothing moves for that reason alone (I8)."""
        stored = stored_condition(self.stored)
        marked = stored.status == "False"
        reserved = min(self._reserved_before(), self.given)
        return Standing(
            given=self.given,
            placed=self.given,
            schedulable=not marked,
            transition=stored.last_transition_time,
            reason=stored.reason or SCHEDULABLE,
            message=stored.message,
            capacity=self.given - reserved if marked else None,
            may_grow=not reserved,
            reserved=reserved,
        )

    def _newcomer(self, placed: int) -> Standing:
        """The pods of a subset that joins have to become ready before others are removed for them (I7)."""
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

    def _unscheduled(self, critical: int) -> Unscheduled:
        return unscheduled(self.pods, self.given, self.order, critical=critical, now=self.clock)

    def _message(self, count: int) -> str:
        critical = self.rules.reschedule_critical_seconds
        begun = min(begun for _, begun in self.pods.unscheduled if since(begun, self.clock) >= critical)
        return (
            f"{count} of {self.given} could not be scheduled in {self.place} since {later(begun, -self.ahead)[11:16]}"
        )

    def _reserved_before(self) -> int:
        return self.stored.reserved_replicas if self.rules.reserve_unschedulable_pods else 0

    def _reserved(self, stuck: int) -> int:
        """The pods that wait for a node, and those that did until they have been ready for long enough.

        Never more than were reserved before, unless more wait: the pods of a subset with reserved ones that are being
        updated are not ready either, and need no stand-ins for that.
        """
        if not self.rules.reserve_unschedulable_pods:
            return 0
        proven = sum(
            1 for begun in self._ready_since() if since(begun, self.clock) >= self.rules.unschedulable_duration
        )
        return min(self.given, max(stuck, min(self._reserved_before(), self.given - proven)))

    def _ready_since(self) -> list[str | None]:
        return [pod.ready_since for pod in self.pods.pods if pod.ready]

    def _next_critical(self) -> int | None:
        """Seconds until the next pod has been without a node for too long."""
        critical = self.rules.reschedule_critical_seconds
        left = [critical - since(begun, self.clock) for _, begun in self.pods.unscheduled]
        return min((time for time in left if time > 0), default=None)

    def _next_proven(self) -> int | None:
        """Seconds until the next pod has been ready for long enough."""
        left = [self.rules.unschedulable_duration - since(begun, self.clock) for begun in self._ready_since()]
        return min((time for time in left if time > 0), default=None)


def unscheduled(pods: PodTally, given: int, order: OrdinalOrder | None, *, critical: int, now: str) -> Unscheduled:
    """The pods that have had no node for ``critical`` seconds, without those that exist beyond the assigned number.

    Four pods without ordinals were assigned, a surge has added a fifth, and two have no node. One of those two may be
    the surge:

    >>> pods = PodTally(living={"v2": 5}, unscheduled=((-1, "2026-01-01T00:00:00Z"), (-1, "2026-01-01T00:00:00Z")))
    >>> unscheduled(pods, 4, None, critical=30, now="2026-01-01T00:01:00Z")
    Unscheduled(pods=1, removable=1)
    """
    stuck = [ordinal for ordinal, begun in pods.unscheduled if since(begun, now) >= critical]
    if order is not None:
        return in_order(sorted(pod.ordinal for pod in pods.pods)[:given], given, frozenset(stuck), order)
    surplus = max(0, sum(pods.living.values()) - given)
    count = min(max(0, len(stuck) - surplus), given)
    return Unscheduled(count, count)


def in_order(existing: Sequence[int], given: int, stuck: frozenset[int], order: OrdinalOrder) -> Unscheduled:
    """The same for pods with ordinals; ``existing`` is sorted.

    Scaling down removes the highest ordinals first, so a pod that waits below one that runs cannot be removed:

    >>> in_order([0, 1, 2, 3], 4, frozenset({1, 3}), OrdinalOrder())
    Unscheduled(pods=2, removable=1)

    If pods are created one by one, the missing ones wait for the one that waits:

    >>> in_order([0, 1], 4, frozenset({1}), OrdinalOrder())
    Unscheduled(pods=3, removable=3)
    >>> in_order([0, 1], 4, frozenset({1}), OrdinalOrder(one_by_one=False))
    Unscheduled(pods=1, removable=0)
    """
    count = sum(1 for ordinal in existing if ordinal in stuck)
    missing = given - len(existing)
    if not count or (missing and not order.one_by_one):
        return Unscheduled(count, 0)
    removable = min(missing, max(0, order.first + given - 1 - existing[-1]))
    if removable == missing:
        top = enumerate(reversed(existing))
        removable += next((place for place, ordinal in top if ordinal not in stuck), len(existing))
    return Unscheduled(count + missing, removable)
