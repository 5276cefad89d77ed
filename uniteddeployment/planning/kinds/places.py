"""Which partition is written to a workload, so that it holds what the user's partition says (I6).

A StatefulSet gives the template's revision to every pod from the partition on, also to pods that scaling creates. So
updated pods before the partition count on top, and the partition that is written may have to be higher than the one
that was asked for. A CloneSet keeps a number of pods, whichever they are.

The work grows with the pods that exist, and not with the numbers that somebody wrote.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.kinds.progress import at_one_revision
from uniteddeployment.planning.observed import Workload

Place = Callable[[int], int | None]
"""Ordinal of a pod -> its place among all pods of its workload; None for one that is none of them."""

Order = Callable[[SubsetContext, Workload], Place | None]
"""How a kind counts the places of its pods; None where any pods may stay old."""

Span = tuple[int, int]
"""From the first place to the one after the last."""


def unordered(context: SubsetContext, found: Workload) -> None:
    """For a controller that keeps a number of pods old, whichever they are."""


def lowest(context: SubsetContext, found: Workload, place: Place | None) -> int:
    """The lowest partition that keeps the number of updated pods within ``replicas - partition``.

    A write that makes the workload grow must not rely on how far the update has come: until its controller sees that
    write, it may update any pod that it was allowed to. For the same reason the partition is lowered only after the
    controller has seen the last write.
    """
    if place is None:
        return context.partition
    updated = _updated(context, found, place)
    if found.revision == context.target and context.replicas > found.spec.replicas:
        updated.append((found.partition, found.spec.replicas))
    partition = _holding(context.partition, updated)
    if found.revision == context.target and not found.observed:
        partition = max(partition, found.partition)
    return min(partition, context.replicas)


def keeping(context: SubsetContext, found: Workload, place: Place | None) -> int:
    """The partition that restarts no pod when the template shows the stable revision: of pods at other revisions."""
    others = _others(context, place)
    if found.revision != context.stable or at_one_revision(found):
        complete = found.observed and context.pods.total >= found.status.replicas
        partition = others if complete else found.spec.replicas
    else:
        complete = found.observed and context.pods.total == found.status.replicas == found.spec.replicas
        partition = min(found.partition, others) if complete else found.partition
    if place is None:
        # A CloneSet that shrinks removes the pods first that are more than its partition.
        return min(partition, max(0, context.replicas - context.pods.living.get(context.stable or "", 0)))
    return min(partition, context.replicas)


def _holding(partition: int, updated: Iterable[Span]) -> int:
    """The partition before which so many places are not updated: it moves up by each updated one before it."""
    reached = 0
    for start, end in sorted(updated):
        first = max(start, reached)
        if first >= partition:
            break
        if end > first:
            partition += end - first
            reached = end
    return partition


def _updated(context: SubsetContext, found: Workload, place: Place) -> list[Span]:
    """The places of updated pods. Those that the status counts and nobody has seen are where they harm most."""
    at = {one for ordinal in context.pods.ordinals(context.target) if (one := place(ordinal)) is not None}
    spans = [(one, one + 1) for one in at]
    status = found.status
    if found.revision == context.target and found.observed:
        unseen = status.updated_replicas - context.pods.living.get(context.target, 0)
        for region in ((found.partition, found.spec.replicas), (0, found.partition)):
            for start, end in _free(region, at, unseen):
                spans.append((start, end))
                unseen -= end - start
    elif found.revision == context.stable and not at_one_revision(found) and status.replicas > context.pods.total:
        spans.append((0, found.partition))
    return spans


def _free(region: Span, taken: Collection[int], count: int) -> Iterator[Span]:
    """The first ``count`` places of a region that are not taken."""
    at, end = region
    for one in [*sorted(place for place in taken if at <= place < end), end]:
        length = min(one - at, count)
        if length > 0:
            yield at, at + length
            count -= length
        at = one + 1


def _others(context: SubsetContext, place: Place | None) -> int:
    """How many pods are not at the stable revision or, where they have places, the first place after all of those."""
    if place is None:
        return sum(count for revision, count in context.pods.living.items() if revision != context.stable)
    places = [place(pod.ordinal) for pod in context.pods.pods if pod.revision != context.stable]
    return max((one + 1 for one in places if one is not None), default=0)
