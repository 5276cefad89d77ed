"""Taint-based eviction: pods leave nodes with NoExecute taints, at once or after their toleration ends."""

from random import Random
from typing import Any, ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.conditions import disrupted
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.node.pods import PodsByNode
from uniteddeployment.embedded.controllers.scheduler.selectors import tolerates
from uniteddeployment.embedded.controllers.workloads.pods import is_finished

MANAGER: Final = "kube-controller-manager"
COMPONENT: Final = "taint-eviction-controller"


def evicting(node: Obj | None) -> list[Obj]:
    """The taints of a node that evict pods."""
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return [taint for taint in taints if taint["effect"] == "NoExecute"]


def tolerated_for(pod: Obj, taints: list[Obj]) -> float | None:
    """Seconds for which a pod tolerates these taints; None if it tolerates them forever."""
    shortest: float | None = None
    for taint in taints:
        toleration = tolerates(pod["spec"].get("tolerations") or (), taint)
        if toleration is None:
            return 0.0
        seconds: Any = toleration.get("tolerationSeconds")
        if seconds is not None:
            shortest = max(0.0, float(seconds)) if shortest is None else min(shortest, max(0.0, float(seconds)))
    return shortest


class NodeEviction(Controller):
    """Keys are pods."""

    name: ClassVar[str] = "taint-eviction"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._pods = PodsByNode(self._on_pod)
        self._tainted: dict[str, list[Obj]] = {}
        self._since: dict[Key, tuple[str, float]] = {}
        """Pods with a running toleration: uid and start time."""

    def setup(self) -> None:
        self._unsubscribe.append(self._pods.follow(self.access))
        self._unsubscribe.append(self.access.subscribe("nodes", self._on_node))
        for node in self.access.list("nodes"):
            self._update_taints(node)

    def _on_node(self, change: Change) -> None:
        if change.type == "DELETED":
            self._tainted.pop(change.obj["metadata"]["name"], None)
        else:
            self._update_taints(change.obj)

    def _update_taints(self, node: Obj) -> None:
        name, taints = node["metadata"]["name"], evicting(node)
        before = self._tainted.get(name, [])
        if taints == before:
            return
        self._tainted[name] = taints
        if not taints:
            del self._tainted[name]
        for key in self._pods.of(name):
            self.enqueue(key)

    def _on_pod(self, change: Change) -> None:
        key = (change.obj["metadata"]["namespace"], change.obj["metadata"]["name"])
        if change.type == "DELETED":
            self._since.pop(key, None)
        elif change.obj["spec"]["nodeName"] in self._tainted:
            self.enqueue(key)

    def sync(self, key: Key) -> None:
        pod = self.access.get("pods", *key)
        if pod is None or pod["metadata"].get("deletionTimestamp") or is_finished(pod):
            self._since.pop(key, None)
            return
        taints = self._tainted.get(pod["spec"].get("nodeName", ""))
        stays = tolerated_for(pod, taints) if taints else None
        uid, now = pod["metadata"]["uid"], self.clock.monotonic()
        if stays is None:
            if self._since.pop(key, None) is not None:
                self._record_event(pod, f"Cancelling deletion of Pod {key[0]}/{key[1]}")
            return
        if stays == 0:
            self._evict(key, pod)
            return
        since = self._since.get(key)
        if since is None or since[0] != uid:
            since = self._since[key] = (uid, now)
        left = since[1] + stays - now
        if left > 1e-6:
            self.enqueue(key, after=left)
        else:
            self._evict(key, pod)

    def _evict(self, key: Key, pod: Obj) -> None:
        self._since.pop(key, None)
        self._record_event(pod, f"Marking for deletion Pod {key[0]}/{key[1]}")
        message = "Taint manager: deleting due to NoExecute taint"
        status = disrupted(pod, "DeletionByTaintManager", message, self.clock.now())
        self.access.update("pods", {**pod, "status": status}, manager=MANAGER, subresource="status")
        self.access.delete("pods", *key, uid=pod["metadata"]["uid"])

    def _record_event(self, pod: Obj, message: str) -> None:
        self.events.event(pod, "Normal", "TaintManagerEviction", message, component=COMPONENT)
