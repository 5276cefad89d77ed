"""The next steps of a StatefulSet: a pure function of its pods.

The rules, in order:

1. An ordinal without a pod gets one; a finished pod is deleted so that it can be recreated. An ordered set proceeds
   from the first ordinal and waits at each pod until it is available.
2. Pods outside the ordinals are deleted, highest first. An ordered set waits for each to be gone, and deletes healthy
   pods only while all others are healthy.
3. Pods of an old revision are deleted, from the highest ordinal down to the partition, waiting at each pod until it is
   available; with ``maxUnavailable`` that many may be unavailable at once.

A set that has to wait in one rule does not proceed to the next. As with the real controller, a broken pod therefore
stops an ordered set even after its template was reverted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Literal

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.statefulset.pods import revision_of
from uniteddeployment.embedded.controllers.workloads.ownership import is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_available, is_finished


@dataclass(frozen=True, slots=True)
class Step:
    """One write: create the pod of ``ordinal`` at the current or the update revision, or delete ``pod``."""

    act: Literal["create", "recreate", "scale-down", "update"]
    ordinal: int
    pod: Obj | None = None
    newest: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A StatefulSet and its pods at one moment."""

    start: int
    count: int
    """Number of ordinals from ``start``; only those with pods use memory."""
    pods: Mapping[int, Obj]
    """The pods of these ordinals."""
    room: int
    """Number of pods that may be created now."""
    condemned: Sequence[tuple[int, Obj]]
    """Pods outside the ordinals, highest first."""
    current_revision: str
    update_revision: str
    ordered: bool
    min_ready_seconds: int
    partition: int
    current_replicas: int | None = None
    """Set if the strategy has no partition: the number of pods that are (re)created at the current revision."""
    max_unavailable: int | None = None
    on_delete: bool = False
    now: datetime

    def healthy(self, pod: Obj | None) -> bool:
        """Whether the pod is available and not terminating."""
        return pod is not None and not is_deleting(pod) and is_available(pod, self.min_ready_seconds, self.now)

    @property
    def end(self) -> int:
        """The ordinal after the last one."""
        return self.start + self.count

    def missing(self, number: int) -> list[int]:
        """The lowest ordinals without a pod, up to a limit."""
        return list(islice((ordinal for ordinal in range(self.start, self.end) if ordinal not in self.pods), number))

    def created_updated(self, ordinal: int) -> bool:
        """Whether a new pod for ``ordinal`` has the update revision; with OnDelete it always does."""
        if self.on_delete or self.current_revision == self.update_revision:
            return True
        held = self.partition if self.current_replicas is None else self.current_replicas
        return ordinal >= self.start + held


def next_steps(view: View) -> list[Step]:
    """The steps to take now; empty if the set is done or has to wait."""
    steps: list[Step] = []
    for stage in (_fill, _scale_down):
        held = False
        for step in stage(view):
            if step is None:
                held = True
                break
            steps.append(step)
            if view.ordered:
                held = True
                break
        if held:
            return steps
    if not view.on_delete:
        steps += _update(view)
    return steps


def _fill(view: View) -> Iterator[Step | None]:
    """Steps for missing and finished pods; None if an ordered set has to wait."""
    for ordinal in sorted([*view.pods, *view.missing(1 if view.ordered else view.room)]):
        pod = view.pods.get(ordinal)
        if pod is None:
            yield Step("create", ordinal, newest=view.created_updated(ordinal)) if view.room else None
        elif is_finished(pod) and not is_deleting(pod):
            yield Step("recreate", ordinal, pod)
        elif view.ordered and not view.healthy(pod):
            yield None


def _scale_down(view: View) -> Iterator[Step | None]:
    """Steps for surplus pods; None if an ordered set has to wait."""
    unhealthy = [ordinal for ordinal, pod in view.condemned if not view.healthy(pod)]
    unhealthy += [ordinal for ordinal, pod in view.pods.items() if not view.healthy(pod)] + view.missing(1)
    first_unhealthy = min(unhealthy, default=None)
    for ordinal, pod in view.condemned:
        if is_deleting(pod):
            if view.ordered:
                yield None
        elif view.ordered and not view.healthy(pod) and ordinal != first_unhealthy:
            yield None
        else:
            yield Step("scale-down", ordinal, pod)


def _update(view: View) -> list[Step]:
    if view.max_unavailable is not None:
        return _update_many(view, view.max_unavailable)
    for ordinal in reversed(range(view.start + view.partition, view.end)):
        pod = view.pods.get(ordinal)
        if pod is not None and not is_deleting(pod) and revision_of(pod) != view.update_revision:
            return [Step("update", ordinal, pod)]
        if not view.healthy(pod):
            return []
    return []


def _update_many(view: View, limit: int) -> list[Step]:
    budget = limit - view.count + sum(view.healthy(pod) for pod in view.pods.values())
    steps = []
    for ordinal, pod in sorted(view.pods.items(), reverse=True):
        held = ordinal < view.start + view.partition
        if held or is_deleting(pod) or revision_of(pod) == view.update_revision:
            continue
        # Replacing a pod that is unavailable already costs no availability.
        if view.healthy(pod):
            if budget <= 0:
                continue
            budget -= 1
        steps.append(Step("update", ordinal, pod))
    return steps
