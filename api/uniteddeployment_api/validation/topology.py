"""Checks of how spec.topology divides the pods, of ordinals and of partitions."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.int_or_percent import percent_of, scaled
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES
from uniteddeployment_api.v1alpha1.uniteddeployment import ClusterType, Subset
from uniteddeployment_api.validation.seen import SUBSETS, Check, Seen, broken

_TOPOLOGY: Final = "spec.topology"


def _shares(seen: Seen) -> Iterator[FieldError]:
    fixed = any(subset.replicas is not None for subset in seen.subsets)
    bounded = any(_has_bounds(subset) for subset in seen.subsets)
    if fixed and bounded:
        yield broken("shares-not-mixed", SUBSETS)
    if (
        seen.subsets
        and all(subset.max_replicas is not None for subset in seen.subsets)
        and all(subset.weight is None for subset in seen.subsets)
    ):
        yield broken("some-subset-unbounded", SUBSETS)
    if seen.ud.spec.replicas is None and not all(isinstance(subset.replicas, int) for subset in seen.subsets):
        yield broken("total-needed", SUBSETS)


def _has_bounds(subset: Subset) -> bool:
    return subset.min_replicas is not None or subset.max_replicas is not None or subset.weight is not None


def _bounds(seen: Seen) -> Iterator[FieldError]:
    total = seen.ud.spec.replicas
    for index, subset in enumerate(seen.subsets):
        low, high = subset.min_replicas, subset.max_replicas
        if low is None or high is None:
            continue
        path = f"{SUBSETS}[{index}].minReplicas"
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                yield broken("min-not-above-max", path)
        elif total is not None and not seen.only_scaled and scaled(low, total) > scaled(high, total):
            yield broken("bounds-consistent", path)


def _fit(seen: Seen) -> Iterator[FieldError]:
    total = seen.ud.spec.replicas
    if total is None or seen.only_scaled:
        return
    shares = [subset.replicas for subset in seen.subsets if subset.replicas is not None]
    rounded = sum(scaled(share, total) for share in shares)
    exact = sum(share * 100 if isinstance(share, int) else percent_of(share) * total for share in shares)
    if rounded > total and exact > total * 100:
        yield broken("shares-within-total", SUBSETS, f"{rounded} of {total}")
    elif shares and len(shares) == len(seen.subsets) and rounded < total and exact < total * 100:
        yield broken("shares-reach-total", SUBSETS, f"{rounded} of {total}")


def _partitions(seen: Seen) -> Iterator[FieldError]:
    names = {subset.name for subset in seen.subsets}
    for name in seen.ud.spec.update_strategy.manual_update.partitions:
        if name not in names:
            yield broken("partitions-name-subsets", f"spec.updateStrategy.manualUpdate.partitions[{name}]")


def _cluster_type(seen: Seen) -> Iterator[FieldError]:
    registry = seen.ud.spec.topology.cluster_registry
    if registry is not None and registry.cluster_type not in (None, ClusterType()):
        yield broken("cluster-type", f"{_TOPOLOGY}.clusterRegistry.clusterType")


def _schedule(seen: Seen) -> Iterator[FieldError]:
    strategy = seen.ud.spec.topology.schedule_strategy
    if strategy.type == "Adaptive" and any(subset.replicas is not None for subset in seen.subsets):
        yield broken("adaptive-not-fixed", f"{_TOPOLOGY}.scheduleStrategy.type")
    if strategy.adaptive.reserve_unschedulable_pods and _by_ordinal(seen):
        yield broken("reservation-kind", f"{_TOPOLOGY}.scheduleStrategy.adaptive.reserveUnschedulablePods")


def _ordinals(seen: Seen) -> Iterator[FieldError]:
    topology = seen.ud.spec.topology
    if topology.ordinals != "Disjoint":
        return
    if seen.template is not None and not _by_ordinal(seen):
        yield broken("ordinals-kind", f"{_TOPOLOGY}.ordinals")
    if any(subset.adopt is not None for subset in seen.subsets):
        yield broken("adopted-keeps-ordinals", f"{_TOPOLOGY}.ordinals")
    block = topology.ordinal_block
    if block is None:
        without = [subset.name for subset in seen.subsets if not isinstance(subset.max_replicas, int)]
        if without:
            yield broken("ordinals-size", f"{_TOPOLOGY}.ordinalBlock", ", ".join(without))
        return
    for index, subset in enumerate(seen.subsets):
        if isinstance(subset.max_replicas, int):
            continue
        for field, number in (("replicas", subset.replicas), ("minReplicas", subset.min_replicas)):
            if isinstance(number, int) and number > block:
                yield broken("ordinals-fit", f"{SUBSETS}[{index}].{field}")


def _ordinals_stay(seen: Seen) -> Iterator[FieldError]:
    if seen.old is None:
        return
    new, old = seen.ud.spec.topology, seen.old.spec.topology
    if new.ordinals != old.ordinals:
        yield broken("ordinals-immutable", f"{_TOPOLOGY}.ordinals")
    if new.ordinals != "Disjoint" or old.ordinals != "Disjoint":
        return
    if old.ordinal_block is not None and new.ordinal_block != old.ordinal_block:
        yield broken("ordinals-immutable", f"{_TOPOLOGY}.ordinalBlock")
    before = {subset.name: subset for subset in old.subsets}
    for index, subset in enumerate(new.subsets):
        known = before.get(subset.name)
        if known is not None and _own_size(known) != _own_size(subset):
            yield broken("ordinals-immutable", f"{SUBSETS}[{index}].maxReplicas")
    kept = [subset.name for subset in new.subsets if subset.name in before]
    now = {subset.name for subset in new.subsets}
    if kept != [name for name in before if name in now] or kept != [s.name for s in new.subsets[: len(kept)]]:
        yield broken("ordinals-order-immutable", SUBSETS)


def _own_size(subset: Subset) -> int | None:
    return subset.max_replicas if isinstance(subset.max_replicas, int) else None


def _by_ordinal(seen: Seen) -> bool:
    return any(field in ORDINAL_TEMPLATES for field in seen.ud.spec.template.given)


TOPOLOGY_CHECKS: Final[tuple[Check, ...]] = (
    _shares,
    _bounds,
    _fit,
    _partitions,
    _cluster_type,
    _schedule,
    _ordinals,
    _ordinals_stay,
)
