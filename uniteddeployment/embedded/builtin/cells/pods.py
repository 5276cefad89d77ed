"""Cells of pods: how many containers are ready, what the pod is up to, how often it was restarted."""

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
    """Init containers that go on running beside the others."""
    inits = (obj.get("spec") or {}).get("initContainers") or ()
    return {one.get("name", "") for one in inits if one.get("restartPolicy") == "Always"}


def _state(status: Obj, which: str) -> Obj | None:
    state: Obj | None = (status.get("state") or {}).get(which)
    return state


def pod_ready(obj: Obj, _now: datetime) -> str:
    sidecars = _sidecars(obj)
    status = _status(obj)
    ready = sum(
        1
        for one in status.get("initContainerStatuses") or ()
        if one.get("name") in sidecars and one.get("started") and one.get("ready")
    )
    ready += sum(
        1 for one in status.get("containerStatuses") or () if one.get("ready") and _state(one, "running") is not None
    )
    return f"{ready}/{len(_containers(obj)) + len(sidecars)}"


def pod_status(obj: Obj, _now: datetime) -> str:
    """The word that says most about the pod: the reason of a container before the phase of the pod."""
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
        one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated"
        for one in status.get("conditions") or ()
    )


def _is_initialized(status: Obj) -> bool:
    return any(
        one.get("type") == "Initialized" and one.get("status") == "True" for one in status.get("conditions") or ()
    )


def _initializing(obj: Obj) -> str | None:
    """What the first unfinished init container is waiting for; None when all are done."""
    sidecars = _sidecars(obj)
    inits = (obj.get("spec") or {}).get("initContainers") or ()
    for index, one in enumerate(_status(obj).get("initContainerStatuses") or ()):
        ended, waiting = _state(one, "terminated"), _state(one, "waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if one.get("name") in sidecars and one.get("started"):
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
    for one in reversed(status.get("containerStatuses") or ()):
        waiting, ended = _state(one, "waiting"), _state(one, "terminated")
        if waiting is not None and waiting.get("reason"):
            reason = str(waiting["reason"])
        elif ended is not None:
            reason = _exit(ended)
        elif one.get("ready") and _state(one, "running") is not None:
            some_running = True
    if reason == "Completed" and some_running:
        ready = any(
            one.get("type") == "Ready" and one.get("status") == "True" for one in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return reason


def pod_restarts(obj: Obj, now: datetime) -> str:
    status, sidecars = _status(obj), _sidecars(obj)
    inits = status.get("initContainerStatuses") or ()
    if _initializing(obj) is not None and not _is_initialized(status):
        counted = list(inits)
    else:
        counted = [one for one in inits if one.get("name") in sidecars]
        counted += status.get("containerStatuses") or ()
    restarts = sum(one.get("restartCount", 0) for one in counted)
    ends = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in counted]
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
    true = {one.get("type") for one in _status(obj).get("conditions") or () if one.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


_COMPLETED = [
    {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
]
_FAILED = [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]


def row_conditions(obj: Obj) -> list[dict[str, str]]:
    """What a row of a table says about the pod beside its cells: that it has run to its end."""
    phase = _status(obj).get("phase")
    return _COMPLETED if phase == "Succeeded" else _FAILED if phase == "Failed" else []


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function for function in (pod_ready, pod_status, pod_restarts, pod_ip, pod_readiness_gates)
}
