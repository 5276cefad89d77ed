"""The agents of the simulated nodes: bound pods run, become ready, restart, end, and stop when they are deleted.

One controller acts for all kubelets. Annotations of nodes determine which nodes have an agent and how fast it is
(``nodes``); images determine what containers do (``containers``). A pod costs one write when it starts, a second one if
it takes time to become ready, and its deletion. A node reports its health when it is created and every five minutes.
"""

from collections import defaultdict
from datetime import timedelta
from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.meta import parse_timestamp, timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.kubelet.containers import Container, behavior
from uniteddeployment.embedded.controllers.kubelet.nodes import (
    HEARTBEAT,
    LEASE_NAMESPACE,
    LEASES,
    Agent,
    agent_of,
    healthy_status,
    internal_ip,
    is_healthy,
    renewed_lease,
)
from uniteddeployment.embedded.controllers.kubelet.status import Run, next_turn, pod_status, stopped_status
from uniteddeployment.embedded.controllers.workloads.pods import is_finished
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kubelet"

TERMINATED: Final = 143
"""Exit code of a container that was asked to stop."""

OVERDUE: Final = 137
"""Exit code of a container that was stopped because its pod exceeded its active deadline."""


class Kubelets(Controller):
    """Keys are pods, and nodes with an empty namespace."""

    name: ClassVar[str] = "kubelets"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._agents: dict[str, Agent] = {}
        self._pods: dict[str, dict[Key, None]] = defaultdict(dict)
        self._runs: dict[Key, Run] = {}
        self._reported: dict[str, float] = {}
        self._addresses = _Addresses()
        self._writing = False

    def setup(self) -> None:
        self._agents.clear()
        self._pods.clear()
        self._unsubscribe.append(self.access.subscribe("nodes", self._on_node))
        self._unsubscribe.append(self.access.subscribe("pods", self._on_pod))
        for node in self.access.list("nodes"):
            self._addresses.take(internal_ip(node))
            self._know(node)
        for pod in self.access.list("pods"):
            self._addresses.take((pod.get("status") or {}).get("podIP", ""))
            self._see(pod)

    def _on_node(self, change: Change) -> None:
        name = change.obj["metadata"]["name"]
        if change.type == "DELETED":
            self._agents.pop(name, None)
            self._reported.pop(name, None)
        elif not self._writing:
            self._know(change.obj)

    def _know(self, node: Obj) -> None:
        name = node["metadata"]["name"]
        before, agent = self._agents.get(name), agent_of(node)
        if agent is None:
            self._agents.pop(name, None)
            return
        self._agents[name] = agent
        if not agent.running:
            return
        self.enqueue(("", name))
        if before is None or not before.running:
            for key in self._pods.get(name, ()):
                self.enqueue(key)

    def _on_pod(self, change: Change) -> None:
        if change.type == "DELETED":
            self._forget(change.obj)
        elif not self._writing:
            self._see(change.obj)

    def _see(self, pod: Obj) -> None:
        node = pod["spec"].get("nodeName")
        if not node:
            return
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        self._pods[node][key] = None
        agent = self._agents.get(node)
        if agent is not None and agent.running:
            self.enqueue(key)

    def _forget(self, pod: Obj) -> None:
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        run = self._runs.pop(key, None)
        if run is not None and run.address != run.host:
            self._addresses.give_back(run.address)
        node = pod["spec"].get("nodeName", "")
        pods = self._pods.get(node)
        if pods is not None:
            pods.pop(key, None)
            if not pods:
                del self._pods[node]

    def sync(self, key: Key) -> None:
        namespace, name = key
        if not namespace:
            self._report(name)
            return
        pod = self.access.get("pods", namespace, name)
        agent = self._agents.get(pod["spec"].get("nodeName", "")) if pod is not None else None
        if pod is None or agent is None or not agent.running:
            return
        if pod["metadata"].get("deletionTimestamp"):
            self._stop(key, pod, agent)
        elif not is_finished(pod):
            self._run(key, pod, agent)

    # Nodes

    def _report(self, name: str) -> None:
        """Report a node as healthy, unless its status says so already and is recent."""
        node = self.access.get("nodes", "", name)
        agent = self._agents.get(name)
        if node is None or agent is None or not agent.running:
            return
        now = self.clock.monotonic()
        due = self._reported.get(name, now - HEARTBEAT) + HEARTBEAT
        if due > now + 1e-6 and is_healthy(node):
            self.enqueue(("", name), after=due - now)
            return
        address = internal_ip(node) or self._addresses.node()
        self._write("nodes", {**node, "status": healthy_status(node, address, self.clock.now())})
        self._reported[name] = now
        self.enqueue(("", name), after=HEARTBEAT)
        self._renew_lease(node)

    def _renew_lease(self, node: Obj) -> None:
        """Renew the node's Lease, if its namespace exists."""
        if self.access.get("namespaces", "", LEASE_NAMESPACE) is None:
            return
        stored = self.access.get(LEASES, LEASE_NAMESPACE, node["metadata"]["name"])
        lease = renewed_lease(node, stored, self.clock.now())
        if stored is None:
            self.access.create(LEASES, lease, manager=MANAGER)
        else:
            self.access.update(LEASES, lease, manager=MANAGER)

    # Running pods

    def _run(self, key: Key, pod: Obj, agent: Agent) -> None:
        """Start new containers, restart those whose image changed, and report."""
        now = self.clock.monotonic()
        run = self._runs.get(key)
        if run is None or run.uid != pod["metadata"]["uid"]:
            run = self._runs[key] = self._begin(pod)
        if self._overdue(key, pod, run):
            return
        self._set_containers(pod, run, agent, now)
        self._write("pods", {**pod, "status": pod_status(pod, run, now=now, wall=self.clock.now())})
        wait = next_turn(run, now)
        if wait is not None:
            self.enqueue(key, after=wait)

    def _begin(self, pod: Obj) -> Run:
        """Start to run a pod; if it ran before this agent did, continue from its status."""
        status = pod.get("status") or {}
        name = pod["spec"]["nodeName"]
        if not internal_ip(self.access.get("nodes", "", name)):
            # A pod that names its node can exist before the node's first report.
            self._report(name)
        host = internal_ip(self.access.get("nodes", "", name))
        address = host if pod["spec"].get("hostNetwork") else status.get("podIP") or self._addresses.pod()
        start = parse_timestamp(status["startTime"]) if status.get("startTime") else self.clock.now()
        run = Run(pod["metadata"]["uid"], address, host, start)
        ending = pod["spec"].get("restartPolicy", "Always") != "Always"
        for reported in status.get("containerStatuses") or ():
            does = behavior(reported["image"], may_end=ending)
            started = (reported["state"].get("running") or {}).get("startedAt", timestamp(start))
            run.containers[reported["name"]] = Container(
                reported["name"],
                reported["image"],
                does,
                started,
                self.clock.monotonic(),
                reported.get("restartCount", 0),
            )
        return run

    def _set_containers(self, pod: Obj, run: Run, agent: Agent, now: float) -> None:
        ending = pod["spec"].get("restartPolicy", "Always") != "Always"
        moment = timestamp(self.clock.now())
        for spec in pod["spec"]["containers"]:
            name, image = spec["name"], spec["image"]
            running = run.containers.get(name)
            if running is not None and running.image == image:
                continue
            probe = spec.get("readinessProbe") or {}
            settled = now + max(agent.ready_after, float(probe.get("initialDelaySeconds") or 0))
            does = behavior(image, may_end=ending)
            if running is None:
                run.containers[name] = Container(name, image, does, moment, settled)
            else:
                run.containers[name] = running.restarted(image, does, moment, settled)

    def _overdue(self, key: Key, pod: Obj, run: Run) -> bool:
        """End a pod that exceeded its active deadline; return whether it did."""
        limit = pod["spec"].get("activeDeadlineSeconds")
        if limit is None:
            return False
        left = (run.start + timedelta(seconds=limit) - self.clock.now()).total_seconds()
        if left > 0:
            self.enqueue(key, after=left)
            return False
        message = "Pod was active on the node longer than the specified deadline"
        status = stopped_status(pod, self.clock.now(), code=OVERDUE, reason="DeadlineExceeded", message=message)
        self._write("pods", {**pod, "status": status})
        return True

    # Stopping pods

    def _stop(self, key: Key, pod: Obj, agent: Agent) -> None:
        """Stop the containers of a deleted pod, then remove the pod."""
        metadata = pod["metadata"]
        run = self._runs.get(key)
        now = self.clock.monotonic()
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        if run is not None and run.uid == metadata["uid"] and not is_finished(pod):
            due = run.stopping if run.stopping is not None else now + min(grace, agent.stop_after)
            run.stopping = due
            if due > now + 1e-6:
                self.enqueue(key, after=due - now)
                return
        if metadata.get("finalizers") and not is_finished(pod):
            self._write("pods", {**pod, "status": stopped_status(pod, self.clock.now(), code=TERMINATED)})
        if grace:
            self.access.delete("pods", *key, uid=metadata["uid"], grace_seconds=0)

    def _write(self, resource: str, obj: Obj) -> None:
        """Update a status, and ignore the resulting event."""
        self._writing = True
        try:
            self.access.update(resource, obj, manager=MANAGER, subresource="status")
        except StatusError as error:
            if error.code != 404:
                raise
        finally:
            self._writing = False


class _Addresses:
    """Addresses of pods and nodes, assigned in order, so that equal histories yield equal addresses."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._pods = 0
        self._nodes = 1

    def take(self, address: str) -> None:
        if address:
            self._taken.add(address)

    def give_back(self, address: str) -> None:
        self._taken.discard(address)

    def pod(self) -> str:
        while True:
            self._pods = self._pods % 0xFFFFFE + 1
            address = f"10.{self._pods >> 16 & 255}.{self._pods >> 8 & 255}.{self._pods & 255}"
            if address not in self._taken:
                self._taken.add(address)
                return address

    def node(self) -> str:
        while True:
            self._nodes += 1
            address = f"172.18.{self._nodes >> 8 & 255}.{self._nodes & 255}"
            if address not in self._taken:
                self._taken.add(address)
                return address
