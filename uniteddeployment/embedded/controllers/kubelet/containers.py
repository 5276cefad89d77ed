"""The behavior of containers in simulated pods, which their images determine.

``fail:*`` crashes repeatedly, ``pullfail:*`` cannot be pulled, ``complete:*`` exits with 0 and ``exit1:*`` with 1 (the
last two only if the pod's restartPolicy lets containers terminate). All other images run.
"""

import hashlib
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj


class Behavior(Enum):
    """The behavior of a container."""

    RUNS = "runs"
    CRASHES = "crashes"
    NOT_PULLED = "not pulled"
    COMPLETES = "completes"
    EXITS = "exits"


_STEERED: Final = {"fail": Behavior.CRASHES, "pullfail": Behavior.NOT_PULLED}
_ENDING: Final = {"complete": Behavior.COMPLETES, "exit1": Behavior.EXITS}

CRASHES: Final = 3
"""Restart count reported for a crashing container."""


def behavior(image: str, *, may_end: bool) -> Behavior:
    """The behavior of a container with this image."""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    if may_end and name in _ENDING:
        return _ENDING[name]
    return _STEERED.get(name, Behavior.RUNS)


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod that has a node."""

    name: str
    image: str
    does: Behavior
    started: str
    """Start time as a timestamp."""
    settled: float
    """The time at which it becomes ready or ends, on the clock's monotonic scale."""
    restarts: int = 0
    ended_before: str = ""
    """The end of the previous run of a restarted container."""

    def restarted(self, image: str, does: Behavior, now: str, settled: float) -> "Container":
        """The container after a restart with another image."""
        return replace(
            self, image=image, does=does, started=now, settled=settled, restarts=self.restarts + 1, ended_before=now
        )


def container_status(container: Container, pod: Obj, *, now: float) -> Obj:
    """The status of a container whose image could be pulled."""
    uid = pod["metadata"]["uid"]
    container_id = f"embedded://{_digest(uid, container.name, str(container.restarts))}"
    status: Obj = {
        "name": container.name,
        "image": container.image,
        "imageID": f"embedded://sha256:{_digest(container.image)}",
        "containerID": container_id,
        "restartCount": container.restarts,
        "started": True,
        "ready": False,
        "lastState": {},
        "state": {"running": {"startedAt": container.started}},
    }
    if container.ended_before:
        status["lastState"] = {"terminated": _ended(container, 143, "Error", container.ended_before, container_id)}
    settled = is_settled(container, now)
    match container.does:
        case Behavior.NOT_PULLED:
            status |= {"imageID": "", "started": False, "state": _waiting_for_image(container.image)}
            del status["containerID"]
        case Behavior.CRASHES:
            status |= {
                "restartCount": container.restarts + CRASHES,
                "started": False,
                "lastState": {"terminated": _ended(container, 1, "Error", container.started, container_id)},
                "state": {"waiting": _crash_loop(container.name, pod)},
            }
        case Behavior.COMPLETES if settled:
            ended = _ended(container, 0, "Completed", container.started, container_id)
            status |= {"started": False, "state": {"terminated": ended}}
        case Behavior.EXITS if settled:
            ended = _ended(container, 1, "Error", container.started, container_id)
            status |= {"started": False, "state": {"terminated": ended}}
        case _:
            status["ready"] = settled
    return status


def is_settled(container: Container, now: float) -> bool:
    """Whether the time until readiness, or until the end, is over."""
    return container.settled - now < 1e-6


def has_ended(status: Obj) -> bool:
    """Whether a container has terminated."""
    return "terminated" in status["state"]


def waiting_status(name: str, image: str) -> Obj:
    """The status of a container that waits for the init containers."""
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "restartCount": 0,
        "started": False,
        "ready": False,
        "lastState": {},
        "state": {"waiting": {"reason": "PodInitializing"}},
    }


def killed(status: Obj, now: str, code: int) -> Obj:
    """The status of a container that was stopped."""
    if has_ended(status):
        return status
    running = status["state"].get("running") or {}
    ended = {"exitCode": code, "reason": "Error", "startedAt": running.get("startedAt", now), "finishedAt": now}
    if status.get("containerID"):
        ended["containerID"] = status["containerID"]
    return {**status, "ready": False, "started": False, "state": {"terminated": ended}}


def _ended(container: Container, code: int, reason: str, finished: str, container_id: str) -> Obj:
    return {
        "exitCode": code,
        "reason": reason,
        "startedAt": container.started,
        "finishedAt": finished,
        "containerID": container_id,
    }


def _waiting_for_image(image: str) -> Obj:
    return {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}}


def _crash_loop(name: str, pod: Obj) -> Obj:
    metadata = pod["metadata"]
    whose = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    return {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 40s restarting failed container={name} pod={whose}",
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()
