"""One availability budget over all clusters: how far partitions may be lowered now. Pure."""

from collections.abc import Mapping
from fractions import Fraction

from uniteddeployment_api.int_or_percent import percent_of
from uniteddeployment_rollout.partitions import NEAREST, shares
from uniteddeployment_rollout.target import Target


def limit(max_unavailable: int | str, replicas: int) -> int:
    """How many pods may be unavailable. At least one: with none, no pod could ever be updated."""
    if isinstance(max_unavailable, int):
        return max(1, max_unavailable)
    return max(1, percent_of(max_unavailable) * replicas // 100)


def used(target: Target) -> int:
    """Pods that are unavailable, whatever the reason, and pods that may be restarted at any moment."""
    return sum(subset.unavailable + subset.pending for subset in target.subsets)


def grant(
    target: Target,
    allowed: Mapping[str, int],
    wanted: Mapping[str, int],
    budget: int,
    *,
    most_clusters: int | None = None,
    offset: Fraction = NEAREST,
) -> dict[str, int]:
    """Subset -> pods that may be updated: those in ``allowed``, and up to ``budget`` more on the way to ``wanted``.

    Subsets that cannot be reached keep what they have. Subsets in which no pod of the old revision is ready cost
    nothing, so a broken version can be replaced. Of several clusters, those in which pods are being updated come first,
    and at most ``most_clusters`` are worked on at a time.
    """
    open_ = _open(target, wanted, most_clusters)
    free = {subset.name for subset in target.subsets if subset.serves_nothing_old}
    allowed = {name: max(now, wanted[name]) if name in open_ & free else now for name, now in allowed.items()}
    caps = {name: max(wanted[name], now) if name in open_ else now for name, now in allowed.items()}
    total = min(sum(allowed.values()) + max(0, budget), sum(caps.values()))
    return shares(caps, total, offset, allowed)


def _open(target: Target, wanted: Mapping[str, int], most: int | None) -> set[str]:
    """The subsets that may get more pods."""
    waiting = [subset for subset in target.subsets if subset.reachable and subset.updated_ready < wanted[subset.name]]
    if most is not None:
        waiting.sort(key=lambda subset: subset.outstanding == 0)
        clusters = list(dict.fromkeys(subset.cluster for subset in waiting))[:most]
        waiting = [subset for subset in waiting if subset.cluster in clusters]
    return {subset.name for subset in waiting}
