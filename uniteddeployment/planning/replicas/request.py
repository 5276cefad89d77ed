"""The request of a division: what the spec asks for, as far as the pods and the clusters allow it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.replicas import (
    FREE,
    NEVER,
    Allocation,
    AllocationRequest,
    Mode,
    SubsetRequest,
    allocate,
)
from uniteddeployment.planning.replicas.adaptive import Standing
from uniteddeployment.planning.replicas.limits import NO_LIMIT, NO_LIMITS, Limit, Limits
from uniteddeployment.planning.replicas.ordinals import Range
from uniteddeployment_api import Subset
from uniteddeployment_api.int_or_percent import scaled

NO_ROOM = "its cluster has no room for more"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a request is made from."""

    app: Application
    current: Mapping[str, int]
    """Subset -> how many replicas it is to have so far."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    calm: bool = False
    """Whether replicas that need not move stay where they are, although the strategy would move them."""

    @property
    def reserve(self) -> bool:
        """Whether pods that cannot be scheduled stay, and stand-ins run elsewhere."""
        return (
            bool(self.standings) and self.app.model.spec.topology.schedule_strategy.adaptive.reserve_unschedulable_pods
        )

    @property
    def use_room(self) -> bool:
        """Whether the room in clusters decides where pods go."""
        return not self.reserve and (bool(self.standings) or self.limits.leaving)


def make_request(inputs: Inputs) -> AllocationRequest:
    """The request for one application."""
    topology, standings = inputs.app.model.spec.topology, inputs.standings
    bounds = any(subset.min_replicas is not None or subset.max_replicas is not None for subset in topology.subsets)
    weights = any(subset.weight is not None for subset in topology.subsets)
    total = inputs.app.model.spec.replicas
    reserve = inputs.reserve
    requests = [
        _subset_request(subset, inputs.current[subset.name], inputs.ranges.get(subset.name))
        for subset in topology.subsets
    ]
    if reserve:
        requests = [_reserving(request, standings[request.name]) for request in requests]
    elif standings:
        shrinking = sum(request.current for request in requests) > (total or 0)
        requests = [_adapted(request, standings[request.name], total or 0, shrinking) for request in requests]
    if inputs.limits.subsets:
        requests = [
            _limited(request, inputs.limits.of(request.name), reserve=reserve, use_room=inputs.use_room)
            for request in requests
        ]
    return AllocationRequest(
        total=total,
        subsets=tuple(requests),
        # As in OpenKruise, bounds alone make the list an order of preference, and so does Adaptive. Weights spread.
        mode=Mode.FILL if (bounds or standings) and not weights else Mode.SPREAD,
        # When a subset has recovered, running pods stay where they are; only stand-ins go.
        disruption=NEVER if (standings and not reserve) or inputs.calm else FREE,
        reserve=reserve,
    )


def place(request: AllocationRequest, limits: Limits) -> Allocation:
    """Divide. What leaves a subset stays there only if no other subset can take it."""
    divided = allocate(request)
    left = divided.unplaced
    if not left or not limits.leaving:
        return divided
    subsets = []
    for subset in request.subsets:
        kept = subset.limit
        if limits.of(subset.name).leaves and left:
            most = subset.limit or 0
            kept = min(subset.current, most + left)
            left -= kept - most
        subsets.append(replace(subset, limit=kept))
    return allocate(replace(request, subsets=tuple(subsets)))


def _subset_request(subset: Subset, current: int, span: Range | None) -> SubsetRequest:
    return SubsetRequest(
        name=subset.name,
        share=subset.replicas,
        weight=subset.weight,
        minimum=subset.min_replicas,
        maximum=subset.max_replicas,
        limit=span.size if span else None,
        current=current,
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
    current = max(min(standing.placed, request.current), least) if shrinking else request.current
    if standing.schedulable:
        return replace(request, current=current)
    capacity = max(standing.capacity or 0, least)
    return replace(request, current=current, capacity=capacity, note=standing.message)


def _limited(request: SubsetRequest, limit: Limit, *, reserve: bool, use_room: bool) -> SubsetRequest:
    """The request of a subset as far as the state of its cluster allows it.

    Capacities are preferences, except for subsets with reserved pods, where they say how many pods run.
    """
    if limit is NO_LIMIT:
        return request
    if limit.leaves:
        return replace(request, limit=min(limit.keeps, request.current))
    note = limit.note or request.note
    if not limit.may_grow:
        request = replace(request, may_grow=False, note=note)
    if reserve:
        return request
    if not limit.preferred:
        request = capped(request, request.current, note)
    if limit.room is not None and use_room:
        request = capped(request, max(limit.room, request.current), request.note or NO_ROOM)
    return request


def capped(request: SubsetRequest, capacity: int, note: str) -> SubsetRequest:
    """The request with this capacity, unless it has a lower one."""
    if request.capacity is not None and request.capacity <= capacity:
        return request
    return replace(request, capacity=capacity, note=note)
