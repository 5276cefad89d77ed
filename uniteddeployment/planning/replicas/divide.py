"""How many pods each subset is to have, and how many of them stay at the old revision."""

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
from uniteddeployment.planning.stored import StoredCondition
from uniteddeployment_api import Subset
from uniteddeployment_api.int_or_percent import held_back, scaled


@dataclass(frozen=True, slots=True)
class Division:
    """Replicas by subset with the reason of each number, and what found no place."""

    replicas: Mapping[str, int]
    reasons: Mapping[str, str]
    unplaced: int = 0
    why_unplaced: str = ""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of its replicas wait for a node, to have stand-ins; 0 if not named."""
    covered: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of those do have stand-ins: where nobody else has room, some have none."""
    conditions: Mapping[str, StoredCondition] = field(default_factory=dict)
    """Subset -> whether it is schedulable, with the strategy Adaptive."""
    requeue_after: float | None = None
    """Seconds until the division may be another one although nothing has happened."""
    persist_first: bool = False
    """It follows from what cannot be seen any more once it is acted on: it has to be in status before."""


def divide(
    subject: Subject, app: Application, observed: Observed, ranges: Mapping[str, Range] | None = None
) -> Division:
    """Divide ``spec.replicas``. What runs now decides ties, so that nothing moves without need (I5).

    ``ranges`` are the ordinals of subsets, which bound how many pods they can have.
    """
    given = _current(subject, app, observed)
    standings = adaptive.standings(subject, app, observed, given)
    divided = allocate(_request(app, given, standings, ranges or {}))
    replicas = divided.replicas
    reserved = {one.name: one.reserved for one in divided.subsets if one.reserved}
    waits = [standing.requeue_after for standing in standings.values() if standing.requeue_after is not None]
    conditions = {name: standing.condition(replicas[name], observed.now) for name, standing in standings.items()}
    return Division(
        replicas=replicas,
        reasons={one.name: _reason(one, standings.get(one.name)) for one in divided.subsets},
        unplaced=divided.unplaced,
        why_unplaced=divided.problem,
        reserved=reserved,
        covered=_with_stand_ins(app, divided),
        conditions=conditions,
        requeue_after=min(waits, default=None),
        persist_first=_persist_first(subject, divided, standings, reserved, conditions),
    )


def _request(
    app: Application, given: Mapping[str, int], standings: Mapping[str, Standing], ranges: Mapping[str, Range]
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
    return AllocationRequest(
        total=total,
        subsets=tuple(requests),
        # Bounds alone are OpenKruise's: a list in order of preference, and so is Adaptive. Weights ask for a spread.
        mode=Mode.FILL if (bounds or standings) and not weights else Mode.SPREAD,
        # What runs stays where it is when a subset has recovered; stand-ins go.
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
    """What a subset can take while pods of it may be reserved."""
    note = request.note if standing.schedulable else standing.message
    return replace(request, capacity=standing.capacity, may_grow=standing.may_grow, note=note)


def _adapted(request: SubsetRequest, standing: Standing, total: int, shrinking: bool) -> SubsetRequest:
    """What a subset can take when pods that cannot be scheduled are moved.

    A minimum stays where it was asked for: its pods are the ones that find out when there is room again. Of too many
    pods those go first that run nowhere yet (I7).
    """
    least = 0 if request.minimum is None else min(request.current, scaled(request.minimum, total))
    current = max(standing.placed, least) if shrinking else request.current
    if standing.schedulable:
        return replace(request, current=current)
    capacity = max(standing.capacity or 0, least)
    return replace(request, current=current, capacity=capacity, note=standing.message)


def _with_stand_ins(app: Application, divided: Allocation) -> dict[str, int]:
    """How many waiting pods of each subset have stand-ins; the others are missing (I4)."""
    running = sum(one.replicas - one.reserved for one in divided.subsets)
    missing = max(0, (app.model.spec.replicas or 0) - divided.unplaced - running)
    covered = {}
    for one in divided.subsets:
        alone = min(one.reserved, missing)
        missing -= alone
        if one.reserved > alone:
            covered[one.name] = one.reserved - alone
    return covered


def _reason(given: SubsetAllocation, standing: Standing | None) -> str:
    """Of a subset that has more than it can run, without stand-ins, why is another question than why no more."""
    if standing is None or standing.schedulable or given.reserved or given.replicas <= (standing.capacity or 0):
        return given.reason
    return f"{given.replicas} are its minimum, or can run nowhere else: {standing.message}"


def _persist_first(
    subject: Subject,
    divided: Allocation,
    standings: Mapping[str, Standing],
    reserved: Mapping[str, int],
    conditions: Mapping[str, StoredCondition],
) -> bool:
    if not subject.status.subsets or all(one.schedulable and one.placed == one.given for one in standings.values()):
        return False
    for one in divided.subsets if standings else ():
        stored = subject.status.subset(one.name)
        before = adaptive.stored_condition(stored).status, stored.replicas, stored.reserved_replicas
        if before != (conditions[one.name].status, one.replicas, reserved.get(one.name, 0)):
            return True
    return False


def partition(app: Application, subset: str, replicas: int) -> int:
    """Pods of a subset that stay at the old revision: its own partition, or the default one."""
    manual = app.model.spec.update_strategy.manual_update
    return held_back(manual.partitions.get(subset, manual.partition), replicas)


def _current(subject: Subject, app: Application, observed: Observed) -> dict[str, int]:
    """What each subset was last given; where status does not say, what its workloads have."""
    current = {name: stored.replicas for name, stored in subject.status.subsets.items()}
    for subset in app.subsets.values():
        view = observed.members.get(app.cluster_of(subset))
        if subset.name not in current and view is not None:
            current[subset.name] = sum(
                found.spec.replicas
                for found in view.workloads
                if found.subset == subset.name and found.kind == app.kind
            )
    return current
