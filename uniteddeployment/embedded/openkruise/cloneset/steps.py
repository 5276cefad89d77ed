"""The next steps of a CloneSet: a pure function of its pods.

1. Missing pods are created: up to the partition at the current revision, the others at the update revision.
2. Surplus pods are deleted: first old ones beyond the partition, then updated ones.
3. Old pods beyond the partition are deleted, to be recreated at the update revision.

Rules 2 and 3 leave no more than ``maxUnavailable`` pods unavailable. Raising the partition reverts nothing.
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
    """A CloneSet and its active pods at one moment."""

    pods: Sequence[Obj]
    replicas: int
    partition: int
    max_unavailable: int
    current_revision: str
    update_revision: str
    min_ready_seconds: int = 0
    priorities: Sequence[Obj] = ()
    """Weights of labels: pods with the highest weight are updated first."""
    room: int | None = None
    """Number of pods that may be created now; None for no limit."""
    held: bool = False
    """Whether updates are paused or use OnDelete."""
    now: datetime

    def updated(self, pod: Obj) -> bool:
        return revision_of(pod) == self.update_revision

    def weight(self, pod: Obj) -> int:
        fitting = (
            priority for priority in self.priorities if matches_labels(priority["matchSelector"], labels_of(pod))
        )
        return sum(priority["weight"] for priority in fitting)

    def available(self, pod: Obj) -> bool:
        return is_available(pod, self.min_ready_seconds, self.now)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps to take now; all empty if the set is done or has to wait."""

    create_current: int = 0
    create_updated: int = 0
    delete: tuple[Obj, ...] = ()


def next_steps(view: View) -> Steps:
    """The steps of the first rule that applies."""
    old = [pod for pod in view.pods if not view.updated(pod)]
    new = [pod for pod in view.pods if view.updated(pod)]
    missing = view.replicas - len(view.pods)
    if missing > 0:
        created = missing if view.room is None else min(missing, view.room)
        current = min(created, max(view.partition - len(old), 0))
        return Steps(create_current=current, create_updated=created - current)
    beyond = max(len(old) - view.partition, 0)
    if missing < 0:
        of_old = min(beyond, -missing)
        chosen = _by_deletion_order(old)[:of_old] + _by_deletion_order(new)[: -missing - of_old]
        return Steps(delete=_within_budget(view, chosen))
    wanted = min(beyond, view.replicas - view.partition - len(new))
    if view.held or wanted <= 0:
        return Steps()
    order = sorted(_by_deletion_order(old), key=view.weight, reverse=True)
    return Steps(delete=_within_budget(view, order[:wanted]))


def _within_budget(view: View, chosen: Sequence[Obj]) -> tuple[Obj, ...]:
    """Select pods within the budget; pods that are unavailable already cost nothing."""
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


def _by_deletion_order(pods: Sequence[Obj]) -> list[Obj]:
    """Sort key of deletion: unassigned, not running, not ready, most recently ready, youngest; names break ties."""
    by_name = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    by_age = sorted(by_name, key=lambda pod: pod["metadata"].get("creationTimestamp") or "", reverse=True)
    by_readiness = sorted(by_age, key=_ready_since, reverse=True)
    return sorted(
        by_readiness, key=lambda pod: (bool(pod["spec"].get("nodeName")), _PHASES.get(phase_of(pod), 2), is_ready(pod))
    )


def _ready_since(pod: Obj) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((c.get("lastTransitionTime") or "" for c in conditions if c["type"] == "Ready"), "")
