"""The division of an application: the number of pods of each subset, and of those that stay at the old revision."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.replicas import (
    FREE,
    NEVER,
    Allocation,
    AllocationRequest,
    Mode,
    SubsetAllocation,
    SubsetRequest,
    adaptive,
    allocate,
)
from uniteddeployment.planning.replicas.adaptive import Standing
from uniteddeployment.planning.replicas.ordinals import Range
from uniteddeployment.planning.replicas.taints import Verdict, judge
from uniteddeployment.planning.stored import StoredCondition
from uniteddeployment_api import Subset
from uniteddeployment_api.int_or_percent import held_back, scaled


@dataclass(frozen=True, slots=True)
class Division:
    """The number of pods of each subset, the reason of each number, and the pods that no subset can take."""

    replicas: Mapping[str, int]
    reasons: Mapping[str, str]
    unplaced: int = 0
    why_unplaced: str = ""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of its replicas wait for a node and are meant to have stand-ins; 0 if it is not listed."""
    covered: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of those have stand-ins. Some have none if no other subset has room."""
    conditions: Mapping[str, StoredCondition] = field(default_factory=dict)
    """Subset -> the condition that says whether it is schedulable. Only with the strategy Adaptive."""
    requeue_after: float | None = None
    """Seconds until the division may change although nothing happens until then."""
    persist_first: bool = False
    """This decision cannot be re-derived after acting on it: the status has to hold it before."""


def divide(
    subject: Subject, app: Application, observed: Observed, ranges: Mapping[str, Range] | None = None
) -> Division:
    """Divide ``spec.replicas``. The pods that run now decide ties, so that nothing moves without need (I5).

    ``ranges`` are the ordinals of subsets, which bound how many pods they can have.
    """
    given = _current(subject, app, observed)
    standings = adaptive.standings(subject, app, observed, given)
    verdicts = {name: _judge(app, observed, subset) for name, subset in app.subsets.items()}
    divided = allocate(_request(app, given, standings, ranges or {}, verdicts))
    replicas = divided.replicas
    reserved = {subset.name: subset.reserved for subset in divided.subsets if subset.reserved}
    waits = [standing.requeue_after for standing in standings.values() if standing.requeue_after is not None]
    conditions = {name: standing.condition(replicas[name], observed.now) for name, standing in standings.items()}
    return Division(
        replicas=replicas,
        reasons={subset.name: _reason(subset, standings.get(subset.name)) for subset in divided.subsets},
        unplaced=divided.unplaced,
        why_unplaced=divided.problem,
        reserved=reserved,
        covered=covered_replicas(app.model.spec.replicas or 0, divided),
        conditions=conditions,
        requeue_after=min(waits, default=None),
        persist_first=_persist_first(subject, divided, standings, reserved, conditions),
    )


def _judge(app: Application, observed: Observed, subset: Subset) -> Verdict:
    return judge(observed.facts(app.cluster_of(subset)).taints, (), observed.now)


def _tainted(request: SubsetRequest, verdict: Verdict) -> SubsetRequest:
    if verdict.may_grow:
        return request
    return replace(request, may_grow=False, note=verdict.note)


def _request(
    app: Application,
    given: Mapping[str, int],
    standings: Mapping[str, Standing],
    ranges: Mapping[str, Range],
    verdicts: Mapping[str, Verdict],
) -> AllocationRequest:
    topology = app.model.spec.topology
    bounds = any(subset.min_replicas is not None or subset.max_replicas is not None for subset in topology.subsets)
    weights = any(subset.weight is not None for subset in topology.subsets)
    total = app.model.spec.replicas
    reserve = bool(standings) and topology.schedule_strategy.adaptive.reserve_unschedulable_pods
    requests = [
        _subset_request(subset, given.get(subset.name, 0), ranges.get(subset.name)) for subset in topology.subsets
    ]
    if reserve:
        requests = [_reserving(request, standings[request.name]) for request in requests]
    elif standings:
        shrinking = sum(request.current for request in requests) > (total or 0)
        requests = [_adapted(request, standings[request.name], total or 0, shrinking) for request in requests]
    requests = [_tainted(request, verdicts[request.name]) for request in requests]
    return AllocationRequest(
        total=total,
        subsets=tuple(requests),
        # As in OpenKruise, bounds alone make the list an order of preference, and so does Adaptive. Weights spread.
        mode=Mode.FILL if (bounds or standings) and not weights else Mode.SPREAD,
        # When a subset has recovered, running pods stay where they are; only stand-ins go.
        disruption=NEVER if standings and not reserve else FREE,
        reserve=reserve,
    )


def _subset_request(subset: Subset, given: int, span: Range | None) -> SubsetRequest:
    return SubsetRequest(
        name=subset.name,
        share=subset.replicas,
        weight=subset.weight,
        minimum=subset.min_replicas,
        maximum=subset.max_replicas,
        limit=span.size if span else None,
        current=given,
        note=span.note if span else "",
    )


def _reserving(request: SubsetRequest, standing: Standing) -> SubsetRequest:
    """The request of a subset whose pods may be reserved."""
    note = request.note if standing.schedulable else standing.message
    return replace(request, capacity=standing.capacity, may_grow=standing.may_grow, note=note)


def _adapted(request: SubsetRequest, standing: Standing, total: int, shrinking: bool) -> SubsetRequest:
    """The request of a subset whose pods are moved if they cannot be scheduled.

    Minimums are not moved: their pods are the ones that find out when there is room again. If there are too many pods,
    those that have no node go first (I7).
    """
    least = 0 if request.minimum is None else min(request.current, scaled(request.minimum, total))
    current = max(standing.placed, least) if shrinking else request.current
    if standing.schedulable:
        return replace(request, current=current)
    capacity = max(standing.capacity or 0, least)
    return replace(request, current=current, capacity=capacity, note=standing.message)


def covered_replicas(total: int, divided: Allocation) -> dict[str, int]:
    """Subset -> how many of its reserved pods have stand-ins. The others are missing from the total (I4).

    Of four pods, two wait for a node in one subset, and another subset had room for one stand-in only:

    >>> full = SubsetAllocation("full", replicas=3, reserved=2, reason="")
    >>> covered_replicas(4, Allocation(subsets=(full, SubsetAllocation("other", replicas=2, reason=""))))
    {'full': 1}
    """
    running = sum(subset.replicas - subset.reserved for subset in divided.subsets)
    missing = max(0, total - divided.unplaced - running)
    covered = {}
    for subset in divided.subsets:
        alone = min(subset.reserved, missing)
        missing -= alone
        if subset.reserved > alone:
            covered[subset.name] = subset.reserved - alone
    return covered


def _reason(given: SubsetAllocation, standing: Standing | None) -> str:
    """The reason of a number; if it is more than the subset can run, without stand-ins, why it is not less."""
    if standing is None or standing.schedulable or given.reserved or given.replicas <= (standing.capacity or 0):
        return given.reason
    return f"{given.replicas} are its minimum, or can run nowhere else: {standing.message}"


def _undisturbed(standing: Standing) -> bool:
    """Return True if no pod of a subset waits for a node."""
    return standing.schedulable and standing.placed == standing.given


def _persist_first(
    subject: Subject,
    divided: Allocation,
    standings: Mapping[str, Standing],
    reserved: Mapping[str, int],
    conditions: Mapping[str, StoredCondition],
) -> bool:
    """Return True if the division follows from pods that will not be seen any more, and the status does not hold it."""
    if not subject.status.subsets or all(map(_undisturbed, standings.values())):
        return False
    for subset in divided.subsets if standings else ():
        stored = subject.status.subset(subset.name)
        before = adaptive.stored_condition(stored).status, stored.replicas, stored.reserved_replicas
        if before != (conditions[subset.name].status, subset.replicas, reserved.get(subset.name, 0)):
            return True
    return False


def partition(app: Application, subset: str, replicas: int) -> int:
    """Number of pods of a subset that stay at the old revision: by its own partition, or else by the default one.

    Partitions that are for another revision do not apply, so the write that brings a new template holds it, too.
    """
    manual = app.model.spec.update_strategy.manual_update
    if manual.revision not in ("", app.revision_name):
        return held_back(manual.partition, replicas)
    if subset in manual.revert:
        return replicas
    held = held_back(manual.partitions.get(subset, manual.partition), replicas)
    return max(held, replicas - manual.max_updated.get(subset, replicas))


def reverts(app: Application, subset: str) -> bool:
    """Return True if the updated pods of a subset are to go back to the stable revision."""
    manual = app.model.spec.update_strategy.manual_update
    return subset in manual.revert and manual.revision in ("", app.revision_name)


def _current(subject: Subject, app: Application, observed: Observed) -> dict[str, int]:
    """Subset -> the number that it was last assigned; if the status does not say, the one that its workloads have."""
    current = {name: stored.replicas for name, stored in subject.status.subsets.items()}
    for subset in app.subsets.values():
        view = observed.members.get(app.cluster_of(subset))
        if subset.name not in current and view is not None:
            current[subset.name] = sum(
                workload.spec.replicas
                for workload in view.workloads
                if workload.subset == subset.name and workload.kind == app.kind
            )
    return current
