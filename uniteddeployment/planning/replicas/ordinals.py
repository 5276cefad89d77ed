"""Disjoint ordinals: each subset has a range of its own, so that no two clusters run a pod of the same ordinal.

A range stays where it is as long as its subset exists, whatever happens to the list around it: its start is stored in
the status. A new subset gets the first gap that is large enough. Whatever still runs in any cluster counts as taken,
even if its subset was removed from the list or is moving to another cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Observed, Workload
from uniteddeployment_api import Subset
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES

Span = tuple[int, int]
"""From the first ordinal to the one after the last."""


@dataclass(frozen=True, slots=True)
class Range:
    """The ordinals of one subset."""

    start: int
    size: int
    note: str
    """Where the range ends and why, for messages."""


def ranges(subject: Subject, app: Application, observed: Observed) -> Mapping[str, Range]:
    """Subset -> its range; empty unless the ordinals are Disjoint and the pods have ordinals."""
    topology = app.model.spec.topology
    by_ordinal = any(field in ORDINAL_TEMPLATES for field in app.model.spec.template.given)
    if topology.ordinals != "Disjoint" or not by_ordinal:
        return {}
    first = (app.workload_template["spec"].get("ordinals") or {}).get("start", 0)
    sizes = {name: _size(app, subset) for name, subset in app.subsets.items()}
    kept = _kept(subject, app, observed, sizes)
    running = list(_running(subject, app, observed))
    starts = range_starts(sizes, kept, [span for _, span in running], first)
    ends = {name: _end(name, start, sizes[name], starts, running) for name, start in starts.items()}
    return {name: _range(starts[name], ends[name], sizes[name]) for name in app.subsets}


def range_starts(
    sizes: Mapping[str, int], kept: Mapping[str, int], running: Sequence[Span], first: int
) -> dict[str, int]:
    """Subset -> the start of its range, of subsets whose sizes are given.

    Starts in ``kept`` do not change. The others are the first gaps from ``first`` on that are large enough, and free of
    pods that run.

    Two subsets of ten ordinals each keep their ranges. Two new ones are placed: the small one fits between them.

    >>> range_starts({"a": 10, "b": 10, "large": 8, "small": 5}, {"a": 0, "b": 15}, running=[], first=0)
    {'a': 0, 'b': 15, 'large': 25, 'small': 10}

    A removed subset still runs the pods 10 to 12:

    >>> range_starts({"a": 10, "new": 5}, {"a": 0}, running=[(0, 10), (10, 13)], first=0)
    {'a': 0, 'new': 13}
    """
    taken = sorted([*((start, start + max(sizes[name], 1)) for name, start in kept.items()), *running])
    starts = dict(kept)
    for name, size in sizes.items():
        if name not in starts:
            starts[name] = _gap(taken, first, max(size, 1))
            taken = sorted([*taken, (starts[name], starts[name] + max(size, 1))])
    return starts


def _size(app: Application, subset: Subset) -> int:
    maximum = subset.max_replicas
    return maximum if isinstance(maximum, int) else app.model.spec.topology.ordinal_block or 0


def _kept(subject: Subject, app: Application, observed: Observed, sizes: Mapping[str, int]) -> dict[str, int]:
    """Subset -> the start of its range, if it has one: by the status, else by its workload if the range is free."""
    kept: dict[str, int] = {}
    for name, subset in app.subsets.items():
        stored = subject.status.subset(name)
        if stored.ordinals_start is not None and stored.cluster == app.cluster_of(subset):
            kept[name] = stored.ordinals_start
    spans = [(start, start + max(sizes[name], 1)) for name, start in kept.items()]
    for name, subset in app.subsets.items():
        view = observed.members.get(app.cluster_of(subset))
        for workload in view.workloads if view and name not in kept else ():
            span = (workload.first_ordinal, workload.first_ordinal + max(sizes[name], 1))
            free = not any(_overlap(span, other) for other in spans)
            if _is_ours(app, workload) and workload.subset == name and free:
                kept[name] = workload.first_ordinal
                spans.append(span)
                break
    return kept


def _running(subject: Subject, app: Application, observed: Observed) -> Iterator[tuple[str | None, Span]]:
    """The ordinals that run, each with the subset whose range they may be in; None if they are elsewhere by now."""
    for view in observed.members.values():
        for workload in view.workloads:
            count = max(workload.spec.replicas, workload.status.replicas)
            if _is_ours(app, workload) and count:
                subset = app.subsets.get(workload.subset)
                in_place = subset is not None and app.cluster_of(subset) == view.name
                start = workload.first_ordinal
                yield workload.subset if in_place else None, (start, start + count)
    for name, stored in subject.status.subsets.items():
        subset = app.subsets.get(name)
        count = max(stored.replicas, stored.observed_replicas)
        gone = subset is None or app.cluster_of(subset) != stored.cluster
        if stored.ordinals_start is not None and count and gone:
            yield None, (stored.ordinals_start, stored.ordinals_start + count)


def _gap(taken: Sequence[Span], first: int, size: int) -> int:
    """The first place where ``size`` ordinals are free; ``taken`` is sorted."""
    start = first
    for begin, end in taken:
        if begin - start >= size:
            break
        start = max(start, end)
    return start


def _end(
    name: str, start: int, size: int, starts: Mapping[str, int], running: Sequence[tuple[str | None, Span]]
) -> int:
    """The end of a range: after its size, or before whatever comes next."""
    limits = [other for subset, other in starts.items() if subset != name and other > start]
    limits += [begin for subset, (begin, _) in running if subset != name and begin > start]
    return min([start + size, *limits])


def _range(start: int, end: int, wanted: int) -> Range:
    cut = "" if end - start == wanted else ", where the ordinals of another subset begin"
    note = f"its ordinals are {start} to {end - 1}{cut}" if end > start else "it has no range of ordinals"
    return Range(start, end - start, note)


def _is_ours(app: Application, workload: Workload) -> bool:
    return app.owner.owns(workload.metadata.annotations) and workload.kind.endswith("StatefulSet")


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
