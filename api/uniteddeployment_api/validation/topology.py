"""Checks of shares, bounds, ordinals and partitions."""

from collections.abc import Iterator
from typing import Final

from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.int_or_percent import percent_of, scaled
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES
from uniteddeployment_api.v1alpha1.uniteddeployment import CLUSTER_PROFILE, ClusterType, ManualUpdate, Subset
from uniteddeployment_api.validation.candidate import SUBSETS, Candidate, Check, violation

_TOPOLOGY: Final = "spec.topology"


def _shares(candidate: Candidate) -> Iterator[FieldError]:
    fixed = any(subset.replicas is not None for subset in candidate.subsets)
    bounded = any(_has_bounds(subset) for subset in candidate.subsets)
    if fixed and bounded:
        yield violation("shares-not-mixed", SUBSETS)
    if (
        candidate.subsets
        and all(subset.max_replicas is not None for subset in candidate.subsets)
        and all(subset.weight is None for subset in candidate.subsets)
    ):
        yield violation("some-subset-unbounded", SUBSETS)
    if candidate.ud.spec.replicas is None and not all(isinstance(subset.replicas, int) for subset in candidate.subsets):
        yield violation("total-needed", SUBSETS)


def _has_bounds(subset: Subset) -> bool:
    return subset.min_replicas is not None or subset.max_replicas is not None or subset.weight is not None


def _bounds(candidate: Candidate) -> Iterator[FieldError]:
    total = candidate.ud.spec.replicas
    for index, subset in enumerate(candidate.subsets):
        low, high = subset.min_replicas, subset.max_replicas
        if low is None or high is None:
            continue
        path = f"{SUBSETS}[{index}].minReplicas"
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                yield violation("min-not-above-max", path)
        elif total is not None and not candidate.only_scaled and scaled(low, total) > scaled(high, total):
            yield violation("bounds-consistent", path)


def _fit(candidate: Candidate) -> Iterator[FieldError]:
    total = candidate.ud.spec.replicas
    if total is None or candidate.only_scaled:
        return
    shares = [subset.replicas for subset in candidate.subsets if subset.replicas is not None]
    rounded = sum(scaled(share, total) for share in shares)
    exact = sum(share * 100 if isinstance(share, int) else percent_of(share) * total for share in shares)
    if rounded > total and exact > total * 100:
        yield violation("shares-within-total", SUBSETS, f"{rounded} of {total}")
    elif shares and len(shares) == len(candidate.subsets) and rounded < total and exact < total * 100:
        yield violation("shares-reach-total", SUBSETS, f"{rounded} of {total}")


def _partitions(candidate: Candidate) -> Iterator[FieldError]:
    """A subset can go in one edit with its entries here, or without; the entries have no effect any more."""
    manual, path = candidate.ud.spec.update_strategy.manual_update, "spec.updateStrategy.manualUpdate"
    names = {subset.name for subset in candidate.subsets}
    old = ManualUpdate()
    if candidate.old is not None:
        names |= {subset.name for subset in candidate.old.spec.topology.subsets}
        old = candidate.old.spec.update_strategy.manual_update
    for name in sorted(manual.partitions.keys() - names - old.partitions.keys()):
        yield violation("partitions-name-subsets", f"{path}.partitions[{name}]")
    for name in sorted(manual.max_updated.keys() - names - old.max_updated.keys()):
        yield violation("max-updated-names-subsets", f"{path}.maxUpdated[{name}]")
    for index, name in enumerate(manual.revert):
        if name not in names and name not in old.revert:
            yield violation("revert-names-subsets", f"{path}.revert[{index}]")


def _cluster_type(candidate: Candidate) -> Iterator[FieldError]:
    registry = candidate.ud.spec.topology.cluster_registry
    if registry is not None and registry.cluster_type not in (None, ClusterType(), CLUSTER_PROFILE):
        yield violation("cluster-type", f"{_TOPOLOGY}.clusterRegistry.clusterType")


def _schedule(candidate: Candidate) -> Iterator[FieldError]:
    strategy = candidate.ud.spec.topology.schedule_strategy
    if strategy.type == "Adaptive" and any(subset.replicas is not None for subset in candidate.subsets):
        yield violation("adaptive-not-fixed", f"{_TOPOLOGY}.scheduleStrategy.type")
    if strategy.adaptive.reserve_unschedulable_pods and _by_ordinal(candidate):
        yield violation("reservation-kind", f"{_TOPOLOGY}.scheduleStrategy.adaptive.reserveUnschedulablePods")


def _ordinals(candidate: Candidate) -> Iterator[FieldError]:
    topology = candidate.ud.spec.topology
    if topology.ordinals != "Disjoint":
        return
    if candidate.template is not None and not _by_ordinal(candidate):
        yield violation("ordinals-kind", f"{_TOPOLOGY}.ordinals")
    if any(subset.adopt is not None for subset in candidate.subsets):
        yield violation("adopted-keeps-ordinals", f"{_TOPOLOGY}.ordinals")
    block = topology.ordinal_block
    if block is None:
        without = [subset.name for subset in candidate.subsets if not isinstance(subset.max_replicas, int)]
        if without:
            yield violation("ordinals-size", f"{_TOPOLOGY}.ordinalBlock", ", ".join(without))
        return
    for index, subset in enumerate(candidate.subsets):
        if isinstance(subset.max_replicas, int):
            continue
        for field, number in (("replicas", subset.replicas), ("minReplicas", subset.min_replicas)):
            if isinstance(number, int) and number > block:
                yield violation("ordinals-fit", f"{SUBSETS}[{index}].{field}")


def _ordinals_stay(candidate: Candidate) -> Iterator[FieldError]:
    if candidate.old is None:
        return
    new, old = candidate.ud.spec.topology, candidate.old.spec.topology
    if new.ordinals != old.ordinals:
        yield violation("ordinals-immutable", f"{_TOPOLOGY}.ordinals")
    if new.ordinals != "Disjoint" or old.ordinals != "Disjoint":
        return
    if old.ordinal_block is not None and new.ordinal_block != old.ordinal_block:
        yield violation("ordinals-immutable", f"{_TOPOLOGY}.ordinalBlock")
    before = {subset.name: subset for subset in old.subsets}
    for index, subset in enumerate(new.subsets):
        known = before.get(subset.name)
        if known is not None and _own_size(known) != _own_size(subset):
            yield violation("ordinals-immutable", f"{SUBSETS}[{index}].maxReplicas")
    kept = [subset.name for subset in new.subsets if subset.name in before]
    now = {subset.name for subset in new.subsets}
    if kept != [name for name in before if name in now] or kept != [s.name for s in new.subsets[: len(kept)]]:
        yield violation("ordinals-order-immutable", SUBSETS)


def _own_size(subset: Subset) -> int | None:
    return subset.max_replicas if isinstance(subset.max_replicas, int) else None


def _by_ordinal(candidate: Candidate) -> bool:
    return any(field in ORDINAL_TEMPLATES for field in candidate.ud.spec.template.given)


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
