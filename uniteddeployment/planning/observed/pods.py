"""Pods as clusters show them, and why they are not ready: in bounded text, counted per reason.

Each change of the status is a write, so the status does not mention pods that are only starting. What every pod goes
through (its containers are created, then they run and are not ready yet) counts as a reason only if it lasts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import force_setattr

from uniteddeployment.planning.observed.values import (
    LABEL_LENGTH,
    MESSAGE_LIMIT,
    REASON_LIMIT,
    Count,
    Int32,
    Name,
    Word,
    check_path,
    chosen,
    since,
)
from uniteddeployment.text import shortened
from uniteddeployment_api import names

CONTROLLER_REVISION = "controller-revision-hash"
"""The label with which the controllers of StatefulSets and of OpenKruise's kinds mark the revision of a pod."""
_ORDINAL_DIGITS = 10
_POD_LABELS = (names.LABEL_NAME, names.LABEL_SUBSET, names.LABEL_REVISION, CONTROLLER_REVISION)
SLOW_SECONDS = 10
"""The time for which a pod may be starting before that counts as a reason."""
SHOWN = 2
"""The most reasons that are listed for one subset."""
_NAME_LIMIT = 63
_STARTING = ("", "ContainerCreating", "PodInitializing")


class Waiting(Struct, rename="camel", frozen=True, gc=False):
    """``state.waiting`` of a container that does not run."""

    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "reason", shortened(self.reason, REASON_LIMIT))
        force_setattr(self, "message", shortened(self.message, MESSAGE_LIMIT))


class Terminated(Struct, rename="camel", frozen=True, gc=False):
    """``state.terminated`` of a container that has ended."""

    reason: str = ""
    exit_code: Int32 = 0

    def __post_init__(self) -> None:
        force_setattr(self, "reason", shortened(self.reason, REASON_LIMIT))


class ContainerState(Struct, rename="camel", frozen=True, gc=False):
    """The state of a container. A running one has neither."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, rename="camel", frozen=True, gc=False):
    """The parts of a container's status that are read."""

    name: Name = ""
    restart_count: Count = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    @property
    def runs(self) -> bool:
        """Whether it runs or has completed."""
        ended = self.state.terminated
        return self.state.waiting is None and (ended is None or ended.exit_code == 0)


@dataclass(frozen=True, slots=True, order=True)
class Unready:
    """Why one pod is not ready."""

    reason: str
    """One word, as in the column STATUS of ``kubectl get pods``."""
    message: str = ""
    since: str | None = None
    """The time since when; only set if it counts as a reason only if it lasts."""
    restarts: int = 0


def of_containers(containers: Sequence[ContainerStatus]) -> Unready | None:
    """Return the reason that the first container which does not run gives; None if all run."""
    for container in containers:
        waiting, ended = container.state.waiting, container.state.terminated
        if waiting is not None and waiting.reason not in _STARTING:
            last = container.last_state.terminated
            message = _ended(container, last) if waiting.reason == "CrashLoopBackOff" and last else waiting.message
            return Unready(waiting.reason, message, restarts=container.restart_count)
        if ended is not None and ended.exit_code:
            return Unready(ended.reason or "Error", _ended(container, ended))
    return None


def starting(containers: Sequence[ContainerStatus], *, reason: str, message: str, begun: str | None) -> Unready | None:
    """Return the reason of a pod that is starting: of a container or, if all run, of the condition Ready."""
    if begun is None:
        return None
    for container in containers:
        if container.state.waiting is not None and container.state.waiting.reason:
            return Unready(container.state.waiting.reason, container.state.waiting.message, begun)
    return Unready(shortened(reason, REASON_LIMIT), shortened(message, MESSAGE_LIMIT), begun) if reason else None


def _ended(container: ContainerStatus, ended: Terminated) -> str:
    name = shortened(container.name, _NAME_LIMIT)
    return f"container {name} ended with {ended.reason or 'Error'}, exit code {ended.exit_code}"


def summary(pods: Iterable[Unready], now: str) -> str:
    """Return the most frequent reasons, each with its number of pods.

    >>> pods = [Unready("CrashLoopBackOff", "container a ended with Error, exit code 1", restarts=n) for n in (1, 4)]
    >>> summary([*pods, Unready("Unschedulable", "0/3 nodes")], "2026-01-01T00:00:00Z")
    '2 CrashLoopBackOff: container a ended with Error, exit code 1, 4 restarts; 1 Unschedulable: 0/3 nodes'
    """
    due = [pod for pod in pods if pod.since is None or since(pod.since, now) >= SLOW_SECONDS]
    counts = Counter(pod.reason for pod in due)
    order = sorted(counts, key=lambda reason: (-counts[reason], reason))
    parts = [_counted([pod for pod in due if pod.reason == reason]) for reason in order[:SHOWN]]
    if rest := sum(counts[reason] for reason in order[SHOWN:]):
        parts.append(f"{rest} more")
    return "; ".join(parts)


def next_due(pods: Iterable[Unready], now: str) -> int | None:
    """Return the seconds until another pod has been starting for too long; None if no pod is starting."""
    left = [SLOW_SECONDS - since(pod.since, now) for pod in pods if pod.since is not None]
    return min((seconds for seconds in left if seconds > 0), default=None)


def _counted(same: Sequence[Unready]) -> str:
    text = f"{len(same)} {same[0].reason}"
    if message := min(pod.message for pod in same):
        text += f": {message}"
    restarts = max(pod.restarts for pod in same)
    return f"{text}, {restarts} restarts" if restarts else text


class PodCondition(Struct, rename="camel", frozen=True, gc=False):
    """One condition of a pod."""

    type: str
    status: Word
    reason: str = ""
    message: str = ""
    last_transition_time: Word | None = None

    def bounded(self) -> "PodCondition":
        """Return the condition with its texts cut to what is kept."""
        if len(self.reason) <= REASON_LIMIT and len(self.message) <= MESSAGE_LIMIT:
            return self
        reason, message = shortened(self.reason, REASON_LIMIT), shortened(self.message, MESSAGE_LIMIT)
        return PodCondition(self.type, self.status, reason, message, self.last_transition_time)


MOST_RESTARTS = 100
"""The most restarts of a pod that are counted. A pod that restarts forever must not change the status forever."""
_READ_CONDITIONS = ("Ready", "PodScheduled")
_MOST_CONTAINERS = 8
"""The most containers of a pod that do not run and are kept; one of them is reported."""


class PodStatus(Struct, rename="camel", frozen=True, gc=False):
    """The parts of a pod's status that are read."""

    phase: Word = ""
    conditions: tuple[PodCondition, ...] = ()
    """Only the conditions that are read."""
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    """Only the containers that do not run: most do, and there are many."""
    restarts: int = 0
    """Restarts of all containers, at most :data:`MOST_RESTARTS`."""

    def __post_init__(self) -> None:
        containers = (*self.init_container_statuses, *self.container_statuses)
        force_setattr(self, "restarts", min(sum(container.restart_count for container in containers), MOST_RESTARTS))
        if self.conditions:
            read = [condition.bounded() for condition in self.conditions if condition.type in _READ_CONDITIONS]
            force_setattr(self, "conditions", tuple(read[: len(_READ_CONDITIONS)]))
        if self.init_container_statuses:
            force_setattr(self, "init_container_statuses", _stopped(self.init_container_statuses))
        if self.container_statuses:
            force_setattr(self, "container_statuses", _stopped(self.container_statuses))


def _stopped(containers: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
    return tuple([container for container in containers if not container.runs][:_MOST_CONTAINERS])


class PodMetadata(Struct, rename="camel", frozen=True, gc=False):
    """The parts of a pod's metadata that are read."""

    name: Name
    namespace: Name = ""
    uid: Word = ""
    resource_version: Word = ""
    deletion_timestamp: Word | None = None
    labels: dict[str, str] = {}

    def __post_init__(self) -> None:
        check_path(self.name, self.namespace)
        if self.labels:
            force_setattr(self, "labels", chosen(self.labels, _POD_LABELS, LABEL_LENGTH))


class Pod(Struct, rename="camel", frozen=True, gc=False):
    """A pod of one of our workloads."""

    metadata: PodMetadata
    status: PodStatus = PodStatus()

    @property
    def subset(self) -> str:
        return self.metadata.labels.get(names.LABEL_SUBSET, "")

    @property
    def revision(self) -> str:
        return self.metadata.labels.get(names.LABEL_REVISION, "")

    @property
    def ordinal(self) -> int:
        """The number at the end of the name of a StatefulSet's pod; -1 if there is none."""
        tail = self.metadata.name.rpartition("-")[2]
        return int(tail) if tail.isascii() and tail.isdecimal() and len(tail) <= _ORDINAL_DIGITS else -1

    @property
    def controller_revision(self) -> str:
        """The name that the controller of its workload has for its revision."""
        return self.metadata.labels.get(CONTROLLER_REVISION, "")

    @property
    def living(self) -> bool:
        """Whether it has neither ended nor is being deleted."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Failed", "Succeeded")

    @property
    def ready(self) -> bool:
        return self.metadata.deletion_timestamp is None and any(
            condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions
        )

    @property
    def unready(self) -> Unready | None:
        """Why it is not ready; None if the cluster does not say."""
        conditions = {condition.type: condition for condition in self.status.conditions}
        scheduled, ready = conditions.get("PodScheduled"), conditions.get("Ready")
        if scheduled is not None and scheduled.status == "False":
            return Unready(scheduled.reason or "Unschedulable", scheduled.message)
        containers = (*self.status.init_container_statuses, *self.status.container_statuses)
        reason = of_containers(containers)
        if reason is not None or ready is None:
            return reason
        begun = ready.last_transition_time
        return starting(containers, reason=ready.reason, message=ready.message, begun=begun)

    @property
    def unscheduled_since(self) -> str | None:
        """The time since when the scheduler has found no node for it; None if it has found one, or has yet to look."""
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
                return condition.last_transition_time or ""
        return None

    @property
    def ready_since(self) -> str | None:
        """The time when it became ready."""
        ready = (condition for condition in self.status.conditions if condition.type == "Ready")
        return next((condition.last_transition_time for condition in ready), None)
