"""What a CloneSet does next: a pure function of its pods.

1. Pods that are missing are made: at the current revision as many as the partition lacks, the others at the newest.
2. Pods that are too many go: old ones first, as far as there are more than the partition, then updated ones.
3. Old pods beyond the partition are deleted, to come back at the newest revision.

Rules 2 and 3 leave no more pods unavailable than ``maxUnavailable``. A partition that is raised takes nothing back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.label_index import labels_of
from uniteddeployment.embedded.controllers.statefulset.pods import revision_of
from uniteddeployment.embedded.controllers.workloads.pods import is_available, is_ready, phase_of

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A CloneSet and its active pods, as one moment shows them."""

    pods: Sequence[Obj]
    replicas: int
    partition: int
    max_unavailable: int
    current_revision: str
    update_revision: str
    min_ready_seconds: int = 0
    priorities: Sequence[Obj] = ()
    """Weights of labels: the pods that weigh most are updated first."""
    room: int | None = None
    """How many pods may be created now; None for as many as are missing."""
    held: bool = False
    """Whether updates are paused or wait for somebody to delete pods."""
    now: datetime

    def updated(self, pod: Obj) -> bool:
        return revision_of(pod) == self.update_revision

    def weight(self, pod: Obj) -> int:
        fitting = (one for one in self.priorities if matches_labels(one["matchSelector"], labels_of(pod)))
        return sum(one["weight"] for one in fitting)

    def available(self, pod: Obj) -> bool:
        return is_available(pod, self.min_ready_seconds, self.now)


@dataclass(frozen=True, slots=True)
class Steps:
    """What is to be done now; all empty when the set is as it should be or has to wait."""

    create_current: int = 0
    create_updated: int = 0
    delete: tuple[Obj, ...] = ()


def next_steps(view: View) -> Steps:
    """The first rule that has something to do decides."""
    old = [pod for pod in view.pods if not view.updated(pod)]
    new = [pod for pod in view.pods if view.updated(pod)]
    missing = view.replicas - len(view.pods)
    if missing > 0:
        made = missing if view.room is None else min(missing, view.room)
        current = min(made, max(view.partition - len(old), 0))
        return Steps(create_current=current, create_updated=made - current)
    beyond = max(len(old) - view.partition, 0)
    if missing < 0:
        of_old = min(beyond, -missing)
        chosen = _least_missed(old)[:of_old] + _least_missed(new)[: -missing - of_old]
        return Steps(delete=_within_budget(view, chosen))
    wanted = min(beyond, view.replicas - view.partition - len(new))
    if view.held or wanted <= 0:
        return Steps()
    order = sorted(_least_missed(old), key=view.weight, reverse=True)
    return Steps(delete=_within_budget(view, order[:wanted]))


def _within_budget(view: View, chosen: Sequence[Obj]) -> tuple[Obj, ...]:
    """A pod that is unavailable already costs nothing."""
    unavailable = sum(not view.available(pod) for pod in view.pods)
    budget = view.max_unavailable + len(view.pods) - view.replicas - unavailable
    allowed = []
    for pod in chosen:
        if view.available(pod):
            if budget <= 0:
                continue
            budget -= 1
        allowed.append(pod)
    return tuple(allowed)


def _least_missed(pods: Sequence[Obj]) -> list[Obj]:
    """Not placed, not running, not ready, ready for the shortest time, youngest: in this order. Names break ties."""
    by_name = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    by_age = sorted(by_name, key=lambda pod: pod["metadata"].get("creationTimestamp") or "", reverse=True)
    by_readiness = sorted(by_age, key=_ready_since, reverse=True)
    return sorted(
        by_readiness, key=lambda pod: (bool(pod["spec"].get("nodeName")), _PHASES.get(phase_of(pod), 2), is_ready(pod))
    )


def _ready_since(pod: Obj) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((c.get("lastTransitionTime") or "" for c in conditions if c["type"] == "Ready"), "")
