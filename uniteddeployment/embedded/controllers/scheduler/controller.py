"""The scheduler: assigns a node to each pending pod, or reports on the pod why no node fits.

Its model of the cluster follows changes (``state``). Decisions are pure functions (``placement``). It writes bindings,
PodScheduled conditions and, for preemption, deletions. A pod that fits nowhere is retried after a change that may help,
and nothing is written unless the result changed.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.label_selector import Labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.scheduler.model import PodInfo, pod_info, signature
from uniteddeployment.embedded.controllers.scheduler.placement import Placement, Placer, explain, explain_waiting
from uniteddeployment.embedded.controllers.scheduler.preemption import Victims, choose_victims
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState
from uniteddeployment.embedded.controllers.scheduler.writes import SchedulerWrites
from uniteddeployment.embedded.controllers.workloads.pods import is_finished
from uniteddeployment.embedded.errors import StatusError

NAME: Final = "default-scheduler"
CYCLE: Final[Key] = ("", "")
"""The only key: the scheduler has its own queue of pods, which is ordered."""

AT_ONCE: Final = 50
"""Pods placed per turn of the event loop."""

RETRY: Final = 1.0
"""Seconds until a pod whose binding failed is retried."""


class Scheduler(Controller):
    """Places pods whose ``schedulerName`` is ``default-scheduler``, by priority and then by age."""

    name: ClassVar[str] = "scheduler"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._state = ClusterState()
        self._placer = Placer(access, self._state, self._namespace_labels)
        self._writes = SchedulerWrites(access, clock, events)
        self._queue: list[tuple[int, int, Key]] = []
        self._queued: set[Key] = set()
        self._arrivals = 0
        self._stuck: dict[Key, PodInfo] = {}
        self._refused: dict[str, str] = {}
        """The messages of unschedulable pods by signature, valid until a change that may help."""

    # Changes

    def setup(self) -> None:
        self._state = ClusterState()
        self._placer = Placer(self.access, self._state, self._namespace_labels)
        for node in self.access.list("nodes"):
            self._state.set_node(node)
        self._unsubscribe += [
            self.access.subscribe("nodes", self._on_node),
            self.access.subscribe("pods", self._on_pod),
            self.access.subscribe("persistentvolumeclaims", self._on_volume),
            self.access.subscribe("persistentvolumes", self._on_volume),
            self.access.subscribe("storageclasses.storage.k8s.io", self._on_volume),
        ]
        for pod in self.access.list("pods"):
            self._queue_pod(pod)

    def stop(self) -> None:
        super().stop()
        self._queue.clear()
        self._queued.clear()
        self._stuck.clear()
        self._refused.clear()

    def _on_node(self, change: Change) -> None:
        if change.type == "DELETED":
            self._state.drop_node(change.obj["metadata"]["name"])
            self._retry()
        elif self._state.set_node(change.obj):
            self._retry()

    def _on_pod(self, change: Change) -> None:
        pod = change.obj
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if change.type == "DELETED":
            self._drop_pod(key)
        elif change.old is None or _changed(pod, change.old):
            self._queue_pod(pod)

    def _queue_pod(self, pod: Obj) -> None:
        """Queue a new or changed pod."""
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        before = self._state.pod(key)
        after = self._state.set_pod(pod)
        if after is not None:
            self._state.forget_nomination(key)
            self._stuck.pop(key, None)
            if before is not None:
                self._retry()
            else:
                self._retry(lambda waiting: waiting.relational)
        elif before is not None:
            self._retry()
        if _pending(pod):
            self._add_to_queue(key, pod["spec"].get("priority") or 0)
        elif after is None:
            self._stuck.pop(key, None)
            self._state.forget_nomination(key)

    def _drop_pod(self, key: Key) -> None:
        self._stuck.pop(key, None)
        self._state.forget_nomination(key)
        self._state.drop_pod(key)
        self._retry()

    def _on_volume(self, _: Change) -> None:
        self._retry(lambda waiting: bool(waiting.claims))

    def _retry(self, which: Callable[[PodInfo], bool] | None = None) -> None:
        """Retry pods that fit nowhere (all, or some) after a change that may help."""
        if which is None:
            self._refused.clear()
        for key, pod in list(self._stuck.items()):
            if which is None or which(pod):
                self._add_to_queue(key, pod.priority)

    def _add_to_queue(self, key: Key, priority: int) -> None:
        self._stuck.pop(key, None)
        if key not in self._queued:
            self._queued.add(key)
            self._arrivals += 1
            heappush(self._queue, (-priority, self._arrivals, key))
        self.enqueue(CYCLE)

    def _namespace_labels(self) -> dict[str, Labels]:
        namespaces = self.access.list("namespaces")
        return {namespace["metadata"]["name"]: namespace["metadata"].get("labels") or {} for namespace in namespaces}

    # Placement

    def sync(self, key: Key) -> None:
        """Place the next pods of the queue."""
        del key
        for _ in range(AT_ONCE):
            if not self._queue:
                return
            _, _, pod = heappop(self._queue)
            self._queued.discard(pod)
            self._schedule(pod)
        self.enqueue(CYCLE)

    def _schedule(self, key: Key) -> None:
        pod = self.access.get("pods", *key)
        if pod is None or not _pending(pod):
            return
        info = pod_info(pod)
        sign = signature(info)
        message = self._refused.get(sign)
        try:
            if message is not None and not info.nominated:
                self._writes.explain(pod, message)
            elif self._place(pod, info, sign):
                return
        except StatusError:
            # The pod changed, or its namespace is terminating. If the pod still exists it is retried.
            self.clock.call_later(RETRY, lambda: self._add_to_queue(key, info.priority) if self._running else None)
            return
        self._stuck[key] = info

    def _place(self, pod: Obj, info: PodInfo, sign: str) -> bool:
        """Try to place a pod; return whether it is done with."""
        placement = self._placer.place(info)
        if placement.node is not None:
            if placement.claims.waiting:
                self._writes.select_node(placement.claims.waiting, placement.node.name)
                return False
            self._writes.bind(pod, self.access.get("nodes", "", placement.node.name))
            return True
        if self._awaits_preemption(info):
            self._state.nominate(info, info.nominated)
            self._writes.explain(pod, explain_waiting(placement), nominated=info.nominated)
            return False
        victims = None if placement.general else choose_victims(info, placement, self._placer, self._state)
        if victims is None:
            message = explain(placement, preempts=info.preempts)
            if not info.relational and not info.claims:
                self._refused[sign] = message
            self._writes.explain(pod, message)
            return False
        self._preempt(pod, info, placement, victims)
        return False

    def _awaits_preemption(self, pod: PodInfo) -> bool:
        """Whether pods of lower priority are still leaving the node that was nominated for this pod."""
        node = self._state.node(pod.nominated) if pod.nominated else None
        return node is not None and any(o.terminating and o.priority < pod.priority for o in node.pods.values())

    def _preempt(self, pod: Obj, info: PodInfo, placement: Placement, victims: Victims) -> None:
        self._state.nominate(info, victims.node)
        self._writes.explain(pod, explain_waiting(placement), nominated=victims.node)
        for victim in victims.pods:
            self._writes.evict(victim, pod, victims.node)


def _pending(pod: Obj) -> bool:
    """Whether the scheduler is responsible for a pod."""
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", NAME) == NAME
        and not pod["metadata"].get("deletionTimestamp")
        and not is_finished(pod)
    )


def _changed(pod: Obj, old: Obj) -> bool:
    """Whether a write can affect placement; most status writes cannot."""
    metadata, before = pod["metadata"], old["metadata"]
    return (
        metadata.get("deletionTimestamp") != before.get("deletionTimestamp")
        or is_finished(pod) != is_finished(old)
        or metadata.get("labels") != before.get("labels")
        or pod["spec"] != old["spec"]
    )
