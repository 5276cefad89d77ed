"""Deletes pods whose node does not exist."""

from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.conditions import disrupted
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.node.pods import PodsByNode
from uniteddeployment.embedded.controllers.workloads.pods import is_finished
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kube-controller-manager"

QUARANTINE: Final = 40.0
"""Seconds for which a node must be missing, because it may register again."""


class NodeOrphans(Controller):
    """Keys are nodes that have pods."""

    name: ClassVar[str] = "podgc"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._pods = PodsByNode(self._on_pod)
        self._missing: dict[str, float] = {}

    def setup(self) -> None:
        self._unsubscribe.append(self._pods.follow(self.access))
        self._unsubscribe.append(self.access.subscribe("nodes", self._on_node))
        for node in self._pods.nodes():
            self.enqueue(("", node))

    def _on_node(self, change: Change) -> None:
        name = change.obj["metadata"]["name"]
        if change.type == "DELETED":
            self.enqueue(("", name))
        elif change.type == "ADDED":
            self._missing.pop(name, None)

    def _on_pod(self, change: Change) -> None:
        if change.type == "ADDED" or (change.old is not None and not change.old["spec"].get("nodeName")):
            self.enqueue(("", change.obj["spec"]["nodeName"]))

    def sync(self, key: Key) -> None:
        name = key[1]
        pods = self._pods.of(name)
        if not pods or self.access.get("nodes", "", name) is not None:
            self._missing.pop(name, None)
            return
        since = self._missing.setdefault(name, self.clock.monotonic())
        left = since + QUARANTINE - self.clock.monotonic()
        if left > 1e-6:
            self.enqueue(key, after=left)
            return
        for pod in pods:
            self._remove(pod)

    def _remove(self, key: Key) -> None:
        pod = self.access.get("pods", *key)
        if pod is None:
            return
        if not is_finished(pod):
            self.access.update("pods", {**pod, "status": self._failed(pod)}, manager=MANAGER, subresource="status")
        try:
            self.access.delete("pods", *key, uid=pod["metadata"]["uid"], grace_seconds=0)
        except StatusError as error:
            if error.code != 404:
                raise

    def _failed(self, pod: Obj) -> Obj:
        status = disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", self.clock.now())
        return {**status, "phase": "Failed"}
