"""The ready pods of a subset, and how many of them stay when it shrinks.

The controllers of workloads choose the pods to remove. Those of StatefulSets remove the highest ordinals, ready or not.
The others remove pods that are not ready first, but only among pods of the same revision. Where the choice is not
known, the worst one is assumed.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import NO_PODS, MemberView, Observed, PodTally, Reach, Workload
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES, STATEFUL_SET_TEMPLATE


@dataclass(frozen=True, slots=True)
class Serving:
    """The ready pods of one subset."""

    ready: int = 0
    existing: int = 0
    """Number of pods, ready or not."""
    unready_first: bool = True
    """Whether pods that are not ready are removed before all others."""
    places: tuple[int, ...] | None = None
    """If the highest ordinals are removed first: the place of each ready pod in that order, from 0, sorted."""

    def kept(self, replicas: int) -> int:
        """Return how many ready pods certainly stay if the subset is scaled to so many replicas.

        >>> Serving(ready=2, existing=4).kept(2), Serving(ready=2, existing=4, unready_first=False).kept(2)
        (2, 0)

        Pods 0 and 3 of a StatefulSet are ready:

        >>> Serving(ready=2, existing=4, places=(0, 3)).kept(3)
        1
        """
        if self.places is not None:
            return bisect_left(self.places, replicas)
        if self.unready_first:
            return min(self.ready, replicas)
        return max(0, self.ready - max(0, self.existing - replicas))


NOBODY = Serving()


def serving(app: Application, view: MemberView | None, subset: str, given: int) -> Serving:
    """The ready pods of a subset that was assigned ``given`` replicas. A cluster that cannot be read shows none."""
    if view is None or view.reach is not Reach.READY or app.kind in view.unread:
        return NOBODY
    owned = [workload for workload in view.workloads if workload.subset == subset]
    owned = [workload for workload in owned if app.owner.owns(workload.metadata.annotations)]
    mine = [workload for workload in owned if workload.kind == app.kind]
    pods = view.pods.get(subset, NO_PODS)
    adopted = any(workload.metadata.name != app.workload_name(subset, workload.revision) for workload in mine)
    if adopted or len(owned) > len(mine):
        # The pods of adopted workloads do not have our labels, and those of two workloads may have the same ones.
        ready, existing = (sum(getattr(w.status, field) for w in mine) for field in ("ready_replicas", "replicas"))
        # The status counts pods that are being deleted until the workload's controller has noticed that.
        return Serving(ready if adopted else min(ready, sum(pods.ready.values())), existing, unready_first=False)
    if app.workload_kind.template in ORDINAL_TEMPLATES:
        return _by_ordinal(app, mine, pods, given)
    living = sum(pods.living.values())
    return Serving(sum(pods.ready.values()), living, unready_first=len(pods.living) < 2)


def ready_leftovers(app: Application, observed: Observed) -> int:
    """The ready pods of workloads that the topology does not include any more."""
    placed = {name: app.cluster_of(subset) for name, subset in app.subsets.items()}
    return sum(
        workload.status.ready_replicas
        for view in observed.members.values()
        if view.reach is Reach.READY
        for workload in view.workloads
        if app.owner.owns(workload.metadata.annotations)
        and (placed.get(workload.subset) != view.name or workload.kind != app.kind)
        and workload.metadata.deletion_timestamp is None
    )


def _by_ordinal(app: Application, mine: Iterable[Workload], pods: PodTally, given: int) -> Serving:
    first = min((workload.first_ordinal for workload in mine), default=0)
    existing = sorted(pod.ordinal for pod in pods.pods)
    ready = {pod.ordinal for pod in pods.pods if pod.ready}
    if app.workload_kind.template == STATEFUL_SET_TEMPLATE:
        places = sorted(max(0, ordinal - first) for ordinal in ready)
    else:
        # Reserved ordinals have no pods, so ordinals are not places. A missing pod may be one of the lowest.
        gap = bool(existing) and existing != list(range(first, first + len(existing)))
        missing = max(0, given - len(existing)) if gap else 0
        places = [place + missing for place, ordinal in enumerate(existing) if ordinal in ready]
    return Serving(len(ready), len(existing), places=tuple(places))
