"""Why pods are not ready: what their containers and conditions say, in bounded text, counted per reason.

A pod that is only starting is not worth a word in status, and each word there is a write. So what every pod goes
through (its containers are created, they run and are not ready yet) is a reason only when it lasts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import force_setattr

from uniteddeployment.planning.bounded import Count, Int32, Name
from uniteddeployment.planning.times import since
from uniteddeployment.text import shortened

SLOW_SECONDS = 10
"""How long a pod may be starting before that is a reason."""
SHOWN = 2
"""How many reasons are told of one subset."""
REASON_LIMIT, MESSAGE_LIMIT, _NAME_LIMIT = 64, 256, 63
_STARTING = ("", "ContainerCreating", "PodInitializing")


class Waiting(Struct, rename="camel", frozen=True, gc=False):
    """``state.waiting`` of a container: it does not run."""

    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "reason", shortened(self.reason, REASON_LIMIT))
        force_setattr(self, "message", shortened(self.message, MESSAGE_LIMIT))


class Terminated(Struct, rename="camel", frozen=True, gc=False):
    """``state.terminated`` of a container: it ended."""

    reason: str = ""
    exit_code: Int32 = 0

    def __post_init__(self) -> None:
        force_setattr(self, "reason", shortened(self.reason, REASON_LIMIT))


class ContainerState(Struct, rename="camel", frozen=True, gc=False):
    """The state of a container. One that runs has neither."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, rename="camel", frozen=True, gc=False):
    """What is read of the status of a container."""

    name: Name = ""
    restart_count: Count = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    @property
    def runs(self) -> bool:
        """Whether it runs, or did all it had to do."""
        ended = self.state.terminated
        return self.state.waiting is None and (ended is None or ended.exit_code == 0)


@dataclass(frozen=True, slots=True, order=True)
class Unready:
    """Why one pod is not ready."""

    reason: str
    """One word, as ``kubectl get pods`` shows it."""
    message: str = ""
    since: str | None = None
    """Since when, for what is a reason only if it lasts."""
    restarts: int = 0


def of_containers(containers: Sequence[ContainerStatus]) -> Unready | None:
    """What the first container that does not run says; None when all of them do."""
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
    """What a pod that is starting goes through; the condition Ready says it of one whose containers run."""
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
    """The most frequent reasons with how many pods they are of."""
    due = [pod for pod in pods if pod.since is None or since(pod.since, now) >= SLOW_SECONDS]
    counts = Counter(pod.reason for pod in due)
    order = sorted(counts, key=lambda reason: (-counts[reason], reason))
    parts = [_told([pod for pod in due if pod.reason == reason]) for reason in order[:SHOWN]]
    if rest := sum(counts[reason] for reason in order[SHOWN:]):
        parts.append(f"{rest} more")
    return "; ".join(parts)


def next_due(pods: Iterable[Unready], now: str) -> int | None:
    """Seconds until another pod has been starting for too long."""
    left = [SLOW_SECONDS - since(pod.since, now) for pod in pods if pod.since is not None]
    return min((seconds for seconds in left if seconds > 0), default=None)


def _told(same: Sequence[Unready]) -> str:
    text = f"{len(same)} {same[0].reason}"
    if message := min(pod.message for pod in same):
        text += f": {message}"
    restarts = max(pod.restarts for pod in same)
    return f"{text}, {restarts} restarts" if restarts else text
