"""The state of a Job: the counts that its pods add, whether it is finished, and how many pods it needs.

Pure functions of the Job, its pods and the time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of
from uniteddeployment.embedded.controllers.framework.times import seconds_since
from uniteddeployment.embedded.controllers.job.indexes import Indexes
from uniteddeployment.embedded.controllers.workloads.ownership import is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_active, is_finished, is_ready, phase_of

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FIRST_BACKOFF: Final = 10.0
LAST_BACKOFF: Final = 600.0
BACKOFF_EXCEEDED: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_EXCEEDED: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")
COMPLETED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods of a Job, by their effect on its counts."""

    active: Sequence[Obj]
    terminating: Sequence[Obj]
    ended: Sequence[Obj]
    """Finished pods that are not in the Job's counts yet."""
    succeeded: int
    failed: int
    indexes: Indexes
    """The completed indexes of an Indexed Job."""

    @property
    def ready(self) -> int:
        """The number of active pods that are ready."""
        return sum(is_ready(pod) for pod in self.active)


def is_indexed(job: Obj) -> bool:
    """Whether each completion has an index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_tracked(pod: Obj) -> bool:
    """Whether the tracking finalizer holds the pod."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def index_of(pod: Obj) -> int | None:
    """The completion index of a pod of an Indexed Job."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def tally(job: Obj, pods: Iterable[Obj]) -> Tally:
    """Add ``pods`` to the Job's earlier counts."""
    status = job.get("status") or {}
    succeeded, failed = status.get("succeeded", 0), status.get("failed", 0)
    completed: list[int] = []
    active, terminating, ended = [], [], []
    for pod in pods:
        if is_active(pod):
            active.append(pod)
            continue
        removed = is_deleting(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0
        if not is_finished(pod) and not removed:
            terminating.append(pod)
            continue
        if not is_tracked(pod):
            continue
        ended.append(pod)
        if phase_of(pod) != "Succeeded":
            failed += 1
        elif not is_indexed(job):
            succeeded += 1
        elif (index := index_of(pod)) is not None and index < (job["spec"].get("completions") or 0):
            completed.append(index)
    indexes = Indexes.read(status.get("completedIndexes", "")).union(completed)
    if is_indexed(job):
        succeeded = len(indexes)
    return Tally(active, terminating, ended, succeeded, failed, indexes)


def finish_of(job: Obj) -> Obj | None:
    """The condition of a finished Job."""
    for type_ in ("Complete", "Failed"):
        condition = condition_of(job.get("status"), type_)
        if condition.get("status") == "True":
            return condition
    return None


def outcome(job: Obj, counts: Tally, now: datetime) -> tuple[str, str, str] | None:
    """(``Complete`` or ``Failed``, reason, message) of a Job that is finished; None while it runs."""
    spec, status = job["spec"], job.get("status") or {}
    target = condition_of(status, "FailureTarget")
    if target.get("status") == "True":
        return "Failed", target["reason"], target["message"]
    restarts = _restarts(counts.active) if spec["template"]["spec"].get("restartPolicy") == "OnFailure" else 0
    if counts.failed + restarts > spec.get("backoffLimit", 6):
        return "Failed", *BACKOFF_EXCEEDED
    left = seconds_to_deadline(job, now)
    if left is not None and left <= 0:
        return "Failed", *DEADLINE_EXCEEDED
    completions = spec.get("completions")
    if counts.succeeded < (1 if completions is None else completions):
        return None
    return None if completions is None and counts.active else ("Complete", *COMPLETED)


def seconds_to_deadline(job: Obj, now: datetime) -> float | None:
    """Seconds until the active deadline; None without one."""
    limit = job["spec"].get("activeDeadlineSeconds")
    start = (job.get("status") or {}).get("startTime")
    return None if limit is None or not start else limit - seconds_since(start, now)


def wanted_pods(job: Obj, counts: Tally) -> int:
    """The number of pods that should be active."""
    spec = job["spec"]
    parallelism: int = spec.get("parallelism", 1)
    if spec.get("suspend"):
        return 0
    if spec.get("completions") is None:
        return min(parallelism, len(counts.active)) if counts.succeeded else parallelism
    left: int = spec["completions"] - counts.succeeded
    return max(0, min(parallelism, left))


def free_indexes(job: Obj, counts: Tally, number: int) -> list[int]:
    """The lowest indexes that are neither completed nor active."""
    busy = {index_of(pod) for pod in counts.active}
    if job["spec"].get("podReplacementPolicy") == "Failed":
        busy |= {index_of(pod) for pod in counts.terminating}
    free = (index for index in counts.indexes.others(job["spec"].get("completions") or 0) if index not in busy)
    return list(islice(free, number))


def backoff_left(pods: Iterable[Obj], now: datetime) -> float:
    """Seconds until new pods may be created after failures: 10 s, 20 s, 40 s and so on, up to ten minutes."""
    ended = [(_finished_at(pod, now), phase_of(pod)) for pod in pods if is_finished(pod)]
    last_success = max((at for at, phase in ended if phase == "Succeeded"), default="")
    failures = [at for at, phase in ended if phase == "Failed" and at > last_success]
    if not failures:
        return 0.0
    wait: float = min(FIRST_BACKOFF * 2.0 ** (len(failures) - 1), LAST_BACKOFF)
    return max(0.0, wait - seconds_since(max(failures), now))


def _finished_at(pod: Obj, now: datetime) -> str:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    ends = [((s.get("state") or {}).get("terminated") or {}).get("finishedAt") for s in statuses]
    known = [end for end in ends if end]
    return max(known) if known else timestamp(now)


def _restarts(pods: Iterable[Obj]) -> int:
    statuses = (status for pod in pods for status in (pod.get("status") or {}).get("containerStatuses") or ())
    return sum(status.get("restartCount", 0) for status in statuses)
