"""Cells of pods: ready containers, status, restarts."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.duration import since
from uniteddeployment.embedded.apimachinery.resources import Obj


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}


def _containers(obj: Obj) -> Sequence[Obj]:
    return (obj.get("spec") or {}).get("containers") or ()


def _sidecars(obj: Obj) -> set[str]:
    """Init containers that keep running beside the other containers."""
    inits = (obj.get("spec") or {}).get("initContainers") or ()
    return {container.get("name", "") for container in inits if container.get("restartPolicy") == "Always"}


def _state(status: Obj, which: str) -> Obj | None:
    state: Obj | None = (status.get("state") or {}).get(which)
    return state


def pod_ready(obj: Obj, _now: datetime) -> str:
    sidecars = _sidecars(obj)
    status = _status(obj)
    ready = sum(
        1
        for container in status.get("initContainerStatuses") or ()
        if container.get("name") in sidecars and container.get("started") and container.get("ready")
    )
    ready += sum(
        1
        for container in status.get("containerStatuses") or ()
        if container.get("ready") and _state(container, "running") is not None
    )
    return f"{ready}/{len(_containers(obj)) + len(sidecars)}"


def pod_status(obj: Obj, _now: datetime) -> str:
    """The status column: the reason of a container if there is one, else the phase of the pod."""
    status = _status(obj)
    reason = str(status.get("reason") or status.get("phase") or "")
    if _gated(status):
        reason = "SchedulingGated"
    initializing = _initializing(obj)
    waits = initializing is not None and not _is_initialized(status)
    reason = str(initializing) if waits else _running(status, reason)
    if obj["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _gated(status: Obj) -> bool:
    return any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
        for condition in status.get("conditions") or ()
    )


def _is_initialized(status: Obj) -> bool:
    return any(
        condition.get("type") == "Initialized" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _initializing(obj: Obj) -> str | None:
    """The state of the first unfinished init container; None when all are done."""
    sidecars = _sidecars(obj)
    inits = (obj.get("spec") or {}).get("initContainers") or ()
    for index, container in enumerate(_status(obj).get("initContainerStatuses") or ()):
        ended, waiting = _state(container, "terminated"), _state(container, "waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            continue
        if ended is not None:
            return f"Init:{_exit(ended)}"
        if waiting is not None and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(inits)}"
    return None


def _exit(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _running(status: Obj, reason: str) -> str:
    some_running = False
    for container in reversed(status.get("containerStatuses") or ()):
        waiting, ended = _state(container, "waiting"), _state(container, "terminated")
        if waiting is not None and waiting.get("reason"):
            reason = str(waiting["reason"])
        elif ended is not None:
            reason = _exit(ended)
        elif container.get("ready") and _state(container, "running") is not None:
            some_running = True
    if reason == "Completed" and some_running:
        ready = any(
            container.get("type") == "Ready" and container.get("status") == "True"
            for container in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return reason


def pod_restarts(obj: Obj, now: datetime) -> str:
    status, sidecars = _status(obj), _sidecars(obj)
    inits = status.get("initContainerStatuses") or ()
    if _initializing(obj) is not None and not _is_initialized(status):
        counted = list(inits)
    else:
        counted = [container for container in inits if container.get("name") in sidecars]
        counted += status.get("containerStatuses") or ()
    restarts = sum(container.get("restartCount", 0) for container in counted)
    ends = [((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for container in counted]
    last = max((end for end in ends if end), default=None)
    return f"{restarts} ({since(last, now)} ago)" if restarts and last else str(restarts)


def pod_ip(obj: Obj, _now: datetime) -> str:
    status = _status(obj)
    addresses = status.get("podIPs") or ()
    return str(addresses[0].get("ip")) if addresses else str(status.get("podIP") or "<none>")


def pod_readiness_gates(obj: Obj, _now: datetime) -> str:
    gates = (obj.get("spec") or {}).get("readinessGates") or ()
    if not gates:
        return "<none>"
    true = {
        condition.get("type") for condition in _status(obj).get("conditions") or () if condition.get("status") == "True"
    }
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


_COMPLETED = [
    {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
]
_FAILED = [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]


def row_conditions(obj: Obj) -> list[dict[str, str]]:
    """The conditions of a row: whether the pod has completed."""
    phase = _status(obj).get("phase")
    return _COMPLETED if phase == "Succeeded" else _FAILED if phase == "Failed" else []


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function for function in (pod_ready, pod_status, pod_restarts, pod_ip, pod_readiness_gates)
}
