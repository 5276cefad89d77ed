"""The capacity of a cluster as the status of its Cluster shows it, and when that is worth a write. Pure."""

from collections.abc import Mapping
from typing import Any

from uniteddeployment.fleet.capacity.nodes import NodeSums, ZoneSums
from uniteddeployment.fleet.capacity.quantity import parse, text
from uniteddeployment.fleet.capacity.sums import Sums
from uniteddeployment.fleet.capacity.vectors import CPU_PLACE, MEMORY_PLACE, PODS_PLACE, Places, Vector

_TOLERANCE = 100
"""A figure that changes by no more than one part in so many is not written."""
_QUANTITIES = ("allocatable", "requested", "available", "largestFreeNode")


def figures(sums: Sums) -> dict[str, Any]:
    """Return ``readyNodes``, ``schedulableNodes``, ``nodes`` and ``capacity`` of the status, without the time."""
    total = sums.total()
    capacity: dict[str, Any] = _quantities(sums.places, total)
    capacity["largestFreeNode"] = _named(sums.places, largest_free(sums.nodes))
    capacity["pendingPods"] = sums.pending_pods
    capacity["unschedulablePods"] = sums.unschedulable_pods
    capacity["zones"] = [
        {"name": name} | _counts(zone) | _quantities(sums.places, zone) for name, zone in sorted(sums.zones.items())
    ]
    return _counts(total) | {"capacity": capacity}


def largest_free(nodes: Mapping[str, NodeSums]) -> Vector:
    """Return what is free on one node: the one that has the most of both cpu and memory, and room for a pod.

    It is the node on which the smaller of two shares is largest: its free cpu, as a share of the most that is free on
    any node, and its free memory likewise. All figures are of this one node, so a pod of this size fits.
    """
    free = [
        (node.free_at(CPU_PLACE), node.free_at(MEMORY_PLACE), node)
        for node in nodes.values()
        if node.schedulable and node.free_at(PODS_PLACE)
    ]
    most_cpu = max((cpu for cpu, _, _ in free), default=0) or 1
    most_memory = max((memory for _, memory, _ in free), default=0) or 1

    def rank(candidate: tuple[int, int, NodeSums]) -> tuple[int, int, str]:
        cpu, memory, node = candidate
        return min(cpu * most_memory, memory * most_cpu), max(cpu * most_memory, memory * most_cpu), node.name

    return max(free, key=rank)[2].free() if free else []


def differs(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether a figure differs by more than 1 %, or whether zones, resources or nodes were added or removed.

    ``old`` is from the stored status, which anybody with the right may have changed.
    """
    before, after = _flat(old), _flat(new)
    if before is None or after is None or before.keys() != after.keys():
        return True
    return any(_TOLERANCE * abs(after[name] - was) > max(was, after[name]) for name, was in before.items())


def _counts(zone: ZoneSums) -> dict[str, Any]:
    return {"nodes": zone.nodes, "readyNodes": zone.ready, "schedulableNodes": zone.schedulable}


def _quantities(places: Places, zone: ZoneSums) -> dict[str, Any]:
    return {
        "allocatable": _named(places, zone.allocatable),
        "requested": _named(places, zone.requested),
        "available": _named(places, zone.available),
    }


def _named(places: Places, vector: Vector) -> dict[str, str]:
    """Amounts by resource; cpu, memory and pods are always there, others only if there are any."""
    return {
        name: text(name, amount)
        for place, (name, amount) in enumerate(zip(places.names, vector, strict=False))
        if amount or place <= PODS_PLACE
    }


def _flat(status: Mapping[str, Any]) -> dict[tuple[str, ...], int] | None:
    """Every figure by its path; None if one cannot be read."""
    capacity = status.get("capacity")
    if not isinstance(capacity, Mapping):
        return None
    try:
        flat = _amounts((), capacity)
        flat |= {(name,): int(status[name]) for name in ("nodes", "readyNodes", "schedulableNodes")}
        flat |= {(name,): int(capacity[name]) for name in ("pendingPods", "unschedulablePods")}
        for zone in capacity["zones"]:
            path = ("zones", str(zone["name"]))
            flat |= _amounts(path, zone)
            flat |= {(*path, name): int(zone[name]) for name in ("nodes", "readyNodes", "schedulableNodes")}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return flat


def _amounts(path: tuple[str, ...], quantities: Mapping[str, Any]) -> dict[tuple[str, ...], int]:
    return {
        (*path, group, name): parse(name, written)
        for group in _QUANTITIES
        if group in quantities
        for name, written in quantities[group].items()
    }
