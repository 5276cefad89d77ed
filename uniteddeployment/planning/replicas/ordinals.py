"""Disjoint ordinals: a range of its own for each subset, so that no two clusters run a pod of the same ordinal.

A range stays where it is as long as its subset does, whatever happens to the list around it: its start stands in
status. A new subset gets the first gap that is large enough. What still runs anywhere counts as taken, also when its
subset is gone from the list or is being moved to another cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import Observed, Workload
from uniteddeployment_api import Subset, names
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES

Span = tuple[int, int]
"""From the first ordinal to the one after the last."""


@dataclass(frozen=True, slots=True)
class Range:
    """The ordinals of one subset."""

    start: int
    size: int
    note: str
    """Where the range ends and why, for people."""


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
    taken = sorted([*((start, start + max(sizes[name], 1)) for name, start in kept.items()), *(s for _, s in running)])
    starts = dict(kept)
    for name, size in sizes.items():
        if name not in starts:
            starts[name] = _gap(taken, first, max(size, 1))
            taken = sorted([*taken, (starts[name], starts[name] + max(size, 1))])
    ends = {name: _end(name, start, sizes[name], starts, running) for name, start in starts.items()}
    return {name: _range(starts[name], ends[name], sizes[name]) for name in app.subsets}


def _size(app: Application, subset: Subset) -> int:
    maximum = subset.max_replicas
    return maximum if isinstance(maximum, int) else app.model.spec.topology.ordinal_block or 0


def _kept(subject: Subject, app: Application, observed: Observed, sizes: Mapping[str, int]) -> dict[str, int]:
    """The starts that are in use: those that status has, else where the subset's workload begins if nobody is there."""
    kept: dict[str, int] = {}
    for name, subset in app.subsets.items():
        stored = subject.status.subset(name)
        if stored.ordinals_start is not None and stored.cluster == app.cluster_of(subset):
            kept[name] = stored.ordinals_start
    spans = [(start, start + max(sizes[name], 1)) for name, start in kept.items()]
    for name, subset in app.subsets.items():
        view = observed.members.get(app.cluster_of(subset))
        for found in view.workloads if view and name not in kept else ():
            span = (found.first_ordinal, found.first_ordinal + max(sizes[name], 1))
            if _is_ours(app, found) and found.subset == name and not any(_overlap(span, other) for other in spans):
                kept[name] = found.first_ordinal
                spans.append(span)
                break
    return kept


def _running(subject: Subject, app: Application, observed: Observed) -> Iterator[tuple[str | None, Span]]:
    """What runs, with the subset whose range it may be in; None for what is not where the list says."""
    for view in observed.members.values():
        for found in view.workloads:
            count = max(found.spec.replicas, found.status.replicas)
            if _is_ours(app, found) and count:
                subset = app.subsets.get(found.subset)
                in_place = subset is not None and app.cluster_of(subset) == view.name
                yield found.subset if in_place else None, (found.first_ordinal, found.first_ordinal + count)
    for name, stored in subject.status.subsets.items():
        subset = app.subsets.get(name)
        start, count = stored.ordinals_start, max(stored.replicas, stored.observed_replicas)
        gone = subset is None or app.cluster_of(subset) != stored.cluster
        if start is not None and count and gone:
            yield None, (start, start + count)


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
    """A range ends with its size, or before what comes next."""
    limits = [other for subset, other in starts.items() if subset != name and other > start]
    limits += [begin for subset, (begin, _) in running if subset != name and begin > start]
    return min([start + size, *limits])


def _range(start: int, end: int, wanted: int) -> Range:
    cut = "" if end - start == wanted else ", where the ordinals of another subset begin"
    note = f"its ordinals are {start} to {end - 1}{cut}" if end > start else "it has no range of ordinals"
    return Range(start, end - start, note)


def _is_ours(app: Application, found: Workload) -> bool:
    return found.metadata.annotations.get(names.ANNOTATION_OWNER_UID) == app.uid and found.kind.endswith("StatefulSet")


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
