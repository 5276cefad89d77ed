"""The status of a pod as its node's agent reports it: pure functions of the pod, its containers and the time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import condition_of, merged
from uniteddeployment.embedded.controllers.kubelet.containers import (
    Behavior,
    Container,
    behavior,
    container_status,
    has_ended,
    is_settled,
    killed,
    waiting_status,
)


@dataclass(slots=True)
class Run:
    """An agent's record of a pod that it runs."""

    uid: str
    address: str
    host: str
    start: datetime
    containers: dict[str, Container] = field(default_factory=dict)
    stopping: float | None = None
    """The time at which the containers of a deleted pod have stopped."""


def pod_status(pod: Obj, run: Run, *, now: float, wall: datetime) -> Obj:
    """The whole status of a pod: the agent's part, and what others wrote."""
    spec = pod["spec"]
    before = pod.get("status") or {}
    ending = spec.get("restartPolicy", "Always") != "Always"
    inits, initialized = _init_statuses(pod, run, now=now, ending=ending)
    if initialized:
        mains = [container_status(run.containers[c["name"]], pod, now=now) for c in spec["containers"]]
    else:
        mains = [waiting_status(c["name"], c["image"]) for c in spec["containers"]]
    phase = _phase(mains, inits, ending=ending)
    generation = pod["metadata"].get("generation", 1)
    status: Obj = {
        **before,
        "observedGeneration": generation,
        "phase": phase,
        "startTime": timestamp(run.start),
        "hostIP": run.host,
        "hostIPs": [{"ip": run.host}],
        "podIP": run.address,
        "podIPs": [{"ip": run.address}],
        "containerStatuses": mains,
    }
    if inits:
        status["initContainerStatuses"] = inits
    own = _conditions(pod, phase, mains, inits, initialized=initialized)
    status["conditions"] = _ordered(before, own, generation, timestamp(wall))
    return status


def stopped_status(pod: Obj, wall: datetime, *, code: int, reason: str = "", message: str = "") -> Obj:
    """The status of a pod whose containers were stopped permanently."""
    before = pod.get("status") or {}
    moment = timestamp(wall)
    mains = [killed(status, moment, code) for status in before.get("containerStatuses") or ()]
    generation = pod["metadata"].get("generation", 1)
    status: Obj = {**before, "observedGeneration": generation, "phase": "Failed", "containerStatuses": mains}
    if reason:
        status |= {"reason": reason, "message": message}
    own = _conditions(pod, "Failed", mains, [], initialized=True)
    status["conditions"] = _ordered(before, own, generation, moment)
    return status


def next_turn(run: Run, now: float) -> float | None:
    """Seconds until the state of a container changes."""
    waits = [container.settled - now for container in run.containers.values() if not is_settled(container, now)]
    return min(waits) if waits else None


def _init_statuses(pod: Obj, run: Run, *, now: float, ending: bool) -> tuple[list[Obj], bool]:
    """The statuses of the init containers, and whether the other containers may start."""
    statuses: list[Obj] = []
    open_ = True
    for container in pod["spec"].get("initContainers") or ():
        name, image = container["name"], container["image"]
        if not open_:
            statuses.append(waiting_status(name, image))
            continue
        sidecar = container.get("restartPolicy") == "Always"
        does = behavior(image, may_end=ending and not sidecar)
        if does is Behavior.RUNS and not sidecar:
            does = Behavior.COMPLETES
        started = Container(name, image, does, timestamp(run.start), now)
        status = container_status(started, pod, now=now)
        if does is Behavior.COMPLETES:
            status["ready"] = True
        statuses.append(status)
        open_ = does in (Behavior.COMPLETES, Behavior.RUNS)
    return statuses, open_


def _phase(mains: Sequence[Obj], inits: Sequence[Obj], *, ending: bool) -> str:
    failed_init = any(has_ended(s) and s["state"]["terminated"]["exitCode"] for s in inits)
    if ending and failed_init:
        return "Failed"
    reasons = {status["state"].get("waiting", {}).get("reason") for status in mains}
    if reasons & {"PodInitializing", "ImagePullBackOff"}:
        return "Pending"
    if all(has_ended(status) for status in mains):
        return "Failed" if any(s["state"]["terminated"]["exitCode"] for s in mains) else "Succeeded"
    return "Running"


def _conditions(pod: Obj, phase: str, mains: Sequence[Obj], inits: Sequence[Obj], *, initialized: bool) -> list[Obj]:
    """The agent's four conditions in order, without times."""
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return [
            _condition("PodReadyToStartContainers", met=False),
            _condition("Initialized", met=True, reason="PodCompleted" if phase == "Succeeded" else ""),
            _condition("Ready", met=False, reason=reason),
            _condition("ContainersReady", met=False, reason=reason),
        ]
    not_started = [status["name"] for status in inits if not status["ready"]]
    unready = [status["name"] for status in mains if not status["ready"]]
    incomplete = f"containers with incomplete status: [{' '.join(not_started)}]"
    not_ready = f"containers with unready status: [{' '.join(unready)}]"
    containers_ready = _condition("ContainersReady", met=True)
    if unready:
        containers_ready = _condition("ContainersReady", met=False, reason="ContainersNotReady", message=not_ready)
    ready = {**containers_ready, "type": "Ready"}
    gates = _missing_gates(pod)
    if not unready and gates:
        ready = _condition("Ready", met=False, reason="ReadinessGatesNotReady", message=", ".join(gates))
    started = _condition("Initialized", met=True)
    if not initialized:
        started = _condition("Initialized", met=False, reason="ContainersNotInitialized", message=incomplete)
    return [_condition("PodReadyToStartContainers", met=True), started, ready, containers_ready]


def _missing_gates(pod: Obj) -> list[str]:
    """The messages about readiness gates whose condition is not true."""
    texts = []
    for gate in pod["spec"].get("readinessGates") or ():
        type_ = gate["conditionType"]
        condition = condition_of(pod.get("status"), type_)
        if not condition:
            texts.append(f'corresponding condition of pod readiness gate "{type_}" does not exist.')
        elif condition.get("status") != "True":
            texts.append(f'the status of pod readiness gate "{type_}" is not "True", but {condition.get("status")}')
    return texts


def _condition(type_: str, *, met: bool, reason: str = "", message: str = "") -> Obj:
    condition: Obj = {"type": type_, "status": "True" if met else "False"}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _ordered(before: Obj, new: Sequence[Obj], generation: int, moment: str) -> list[Obj]:
    """The agent's conditions followed by others, each with its times."""
    old = before.get("conditions") or ()
    dressed = [
        {"lastProbeTime": None, "lastTransitionTime": moment, "observedGeneration": generation, **condition}
        for condition in new
    ]
    own = {condition["type"] for condition in new}
    kept = [condition for condition in old if condition["type"] in own]
    together = {condition["type"]: condition for condition in merged(kept, dressed)}
    ours = [together[condition["type"]] for condition in new]
    return ours + [condition for condition in old if condition["type"] not in own]
