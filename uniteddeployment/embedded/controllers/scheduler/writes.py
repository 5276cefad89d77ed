"""The scheduler's writes, with the real one's messages: bindings, conditions, selected nodes of claims, evictions."""

from collections.abc import Iterable
from typing import Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.conditions import condition_of, disrupted, with_condition
from uniteddeployment.embedded.controllers.framework.controller import EventSink
from uniteddeployment.embedded.controllers.scheduler.model import REGION, ZONE, PodInfo
from uniteddeployment.embedded.controllers.scheduler.volumes import SELECTED_NODE

COMPONENT: Final = "default-scheduler"
MANAGER: Final = "kube-scheduler"


class SchedulerWrites:
    """Writes only what differs from the stored object."""

    def __init__(self, access: Access, clock: Clock, events: EventSink) -> None:
        self._access = access
        self._clock = clock
        self._events = events

    def bind(self, pod: Obj, node: Obj | None) -> None:
        """Bind a pod to a node, and add the node's topology labels."""
        if node is None:
            return
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        where = {key: labels[key] for key in (ZONE, REGION) if key in labels}
        status = {key: value for key, value in (pod.get("status") or {}).items() if key != "nominatedNodeName"}
        bound = {
            **pod,
            "metadata": {**pod["metadata"], "labels": {**where, **(pod["metadata"].get("labels") or {})}},
            "spec": {**pod["spec"], "nodeName": name},
            "status": with_condition(status, self._condition("True")),
        }
        if not bound["metadata"]["labels"]:
            del bound["metadata"]["labels"]
        self._access.update("pods", bound, manager=MANAGER, subresource="binding")
        namespace, own = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self._events.event(
            pod, "Normal", "Scheduled", f"Successfully assigned {namespace}/{own} to {name}", component=COMPONENT
        )

    def explain(self, pod: Obj, message: str, *, nominated: str = "") -> None:
        """Report on a pod why it has no node; ``nominated`` is the node of a preemption."""
        status = pod.get("status") or {}
        before = condition_of(status, "PodScheduled")
        reported = (before.get("status"), before.get("reason"), before.get("message"))
        if reported == ("False", "Unschedulable", message) and status.get("nominatedNodeName", "") == nominated:
            return
        condition = {
            **self._condition("False"),
            "reason": "Unschedulable",
            "message": message,
            "observedGeneration": pod["metadata"].get("generation", 1),
        }
        updated = with_condition(status, condition)
        if nominated:
            updated["nominatedNodeName"] = nominated
        else:
            updated.pop("nominatedNodeName", None)
        stored = self._access.update("pods", {**pod, "status": updated}, manager=MANAGER, subresource="status")
        self._events.event(stored, "Warning", "FailedScheduling", message, component=COMPONENT)

    def select_node(self, claims: Iterable[tuple[Obj, Obj]], node: str) -> None:
        """Record on claims the node of their first pod, for the volume binder."""
        for claim, _ in claims:
            metadata = claim["metadata"]
            annotations = metadata.get("annotations") or {}
            if annotations.get(SELECTED_NODE) != node:
                chosen = {**claim, "metadata": {**metadata, "annotations": {**annotations, SELECTED_NODE: node}}}
                self._access.update("persistentvolumeclaims", chosen, manager=MANAGER)

    def evict(self, victim: PodInfo, preemptor: Obj, node: str) -> None:
        """Evict a pod for one of higher priority."""
        pod = self._access.get("pods", *victim.key)
        if pod is None or pod["metadata"]["uid"] != victim.uid or pod["metadata"].get("deletionTimestamp"):
            return
        why = f"{COMPONENT}: preempting to accommodate a higher priority pod"
        evicted = {**pod, "status": disrupted(pod, "PreemptionByScheduler", why, self._clock.now())}
        self._access.update("pods", evicted, manager=MANAGER, subresource="status")
        self._access.delete("pods", *victim.key, uid=victim.uid)
        message = f"Preempted by pod {preemptor['metadata']['uid']} on node {node}"
        self._events.event(pod, "Normal", "Preempted", message, component=COMPONENT)

    def _condition(self, status: str) -> Obj:
        moment = timestamp(self._clock.now())
        return {"type": "PodScheduled", "status": status, "lastProbeTime": None, "lastTransitionTime": moment}
