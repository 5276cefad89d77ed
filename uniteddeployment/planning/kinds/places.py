"""The partition that is written to a workload, so that it holds as many pods as the user's partition says (I6).

A StatefulSet gives the template's revision to every pod from the partition on, also to pods that scaling creates. So
updated pods before the partition count on top, and the partition that is written may have to be higher than the one
that the user asked for. A CloneSet keeps a number of pods old, whichever they are.

The work grows with the number of pods that exist, not with the numbers that somebody wrote into a spec.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.kinds.progress import at_one_revision
from uniteddeployment.planning.observed import Workload

Place = Callable[[int], int | None]
"""Ordinal of a pod -> its place among all pods of its workload, from 0; None if it is not one of them."""

PlaceRule = Callable[[SubsetContext, Workload], Place | None]
"""The rule by which a kind counts the places of a workload's pods; None if any of them may stay old."""

PlaceSpan = tuple[int, int]
"""From the first place to the one after the last."""


def unordered(context: SubsetContext, workload: Workload) -> None:
    """The rule of controllers that keep a number of pods old, whichever they are."""


def lowest_partition(context: SubsetContext, workload: Workload, place: Place | None) -> int:
    """The lowest partition that keeps the number of updated pods within ``replicas - partition``.

    A write that makes the workload grow must not rely on how far the update has come: until its controller has observed
    that write, it may update any pod that it was allowed to before. For the same reason the partition is lowered only
    after the controller has observed the last write.
    """
    if place is None:
        return context.partition
    updated = _updated(context, workload, place)
    if workload.revision == context.target and context.replicas > workload.spec.replicas:
        updated.append((workload.partition, workload.spec.replicas))
    partition = partition_holding(context.partition, updated)
    if workload.revision == context.target and not workload.observed:
        partition = max(partition, workload.partition)
    return min(partition, context.replicas)


def keeping_partition(context: SubsetContext, workload: Workload, place: Place | None) -> int:
    """The partition that restarts no pod at another revision while the template shows the stable one."""
    others = _others(context, place)
    if workload.revision != context.stable:
        others = max(others, _replaced(context, workload, place))
    if workload.revision != context.stable or at_one_revision(workload):
        complete = workload.observed and context.pods.total >= workload.status.replicas
        partition = others if complete else workload.spec.replicas
    else:
        counted = context.pods.total == workload.status.replicas == workload.spec.replicas
        partition = min(workload.partition, others) if workload.observed and counted else workload.partition
    if place is None:
        # A CloneSet that shrinks removes the pods first that are more than its partition.
        return min(partition, max(0, context.replicas - context.pods.living.get(context.stable or "", 0)))
    return min(partition, context.replicas)


def partition_holding(partition: int, updated: Iterable[PlaceSpan]) -> int:
    """The partition before which exactly ``partition`` places are not updated: each updated one moves it up by one.

    Three pods are to stay old, and no pod is updated yet:

    >>> partition_holding(3, [])
    3

    The pods 0 and 1 were updated before the partition was raised, so it takes the pods 2, 3 and 4 to hold three:

    >>> partition_holding(3, [(0, 2)])
    5

    Updated pods from the partition on do not count:

    >>> partition_holding(3, [(0, 1), (6, 9)])
    4
    """
    reached = 0
    for start, end in sorted(updated):
        first = max(start, reached)
        if first >= partition:
            break
        if end > first:
            partition += end - first
            reached = end
    return partition


def _updated(context: SubsetContext, workload: Workload, place: Place) -> list[PlaceSpan]:
    """The places of updated pods. Pods that only the status counts are assumed where they do the most harm."""
    pods, status = context.pods, workload.status
    places = (place(ordinal) for ordinal in pods.ordinals(context.target))
    at = {number for number in places if number is not None}
    spans = [(number, number + 1) for number in at]
    if workload.revision == context.target and workload.observed:
        unseen = status.updated_replicas - pods.living.get(context.target, 0)
        for region in ((workload.partition, workload.spec.replicas), (0, workload.partition)):
            for start, end in _free(region, at, unseen):
                spans.append((start, end))
                unseen -= end - start
    elif workload.revision == context.stable and not at_one_revision(workload) and status.replicas > pods.total:
        spans.append((0, workload.partition))
    return spans


def _free(region: PlaceSpan, taken: Collection[int], count: int) -> Iterator[PlaceSpan]:
    """The first ``count`` places of a region that are not taken."""
    at, end = region
    for number in [*sorted(number for number in taken if at <= number < end), end]:
        length = min(number - at, count)
        if length > 0:
            yield at, at + length
            count -= length
        at = number + 1


def _others(context: SubsetContext, place: Place | None) -> int:
    """The number of pods at another revision than the stable one or, with places, the first place after all of them."""
    if place is None:
        return sum(count for revision, count in context.pods.living.items() if revision != context.stable)
    places = [place(pod.ordinal) for pod in context.pods.pods if pod.revision != context.stable]
    return max((number + 1 for number in places if number is not None), default=0)


def _replaced(context: SubsetContext, workload: Workload, place: Place | None) -> int:
    """The same as _others, with the pods that are being deleted and are to come back.

    While the template shows another revision than the stable one, they come back at that, maybe before the next write.
    """
    pods, size = context.pods, workload.spec.replicas
    if place is None:
        return min(size, pods.total) - pods.living.get(context.stable or "", 0)
    places = [place(pod.ordinal) for pod in pods.pods if not pod.living]
    return max((number + 1 for number in places if number is not None and number < size), default=0)
