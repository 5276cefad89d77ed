"""Failback: replicas return to a subset that they left because its cluster was lost or tainted.

They return in rounds. A round begins only if nothing else moves and the pods of the round before are ready, so a member
that comes and goes makes at most one round of replicas move, and never before their former replacements are ready.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from uniteddeployment.planning.replicas import FREE, Allocation, AllocationRequest, allocate, bounded


@dataclass(frozen=True, slots=True)
class Return:
    """A division with the replicas that return now, and what has yet to return."""

    divided: Allocation
    moved: Mapping[str, int]
    """Subset -> how many of its former replicas are elsewhere; subsets without any are not listed."""


def give_back(request: AllocationRequest, divided: Allocation, moved: Mapping[str, int], *, size: int | None) -> Return:
    """Let at most ``size`` replicas return (None: all) to the subsets that are listed in ``moved``.

    Replicas return only as far as a new division would place them there. If it would place none even if there were
    room everywhere, as the total has fallen for example, they are no longer missing there.
    """
    if not moved:
        return Return(divided, moved)
    numbers = divided.replicas
    subsets = []
    for subset in request.subsets:
        most = numbers[subset.name] + moved.get(subset.name, 0)
        limit = most if subset.limit is None else min(most, subset.limit)
        subsets.append(replace(subset, current=numbers[subset.name], limit=limit))
    free = replace(request, subsets=tuple(subsets), disruption=FREE)
    ideal = allocate(free).replicas
    gains = {name: max(0, ideal[name] - numbers[name]) for name in moved}
    due = sum(gains.values())
    roomy = replace(free, subsets=tuple(replace(subset, capacity=None) for subset in subsets))
    claims = allocate(roomy).replicas
    missing = {name: count for name, count in moved.items() if gains[name] or claims[name] > numbers[name]}
    if not due or size == 0:
        return Return(divided, missing)
    returned = allocate(replace(free, disruption=FREE if size is None else bounded(min(size, due))))
    now = returned.replicas
    left = {name: count - (now[name] - numbers[name]) for name, count in missing.items()}
    return Return(returned, {name: count for name, count in left.items() if count > 0})
