"""The agents of simulated nodes, as a program that runs beside a real API server.

    python -m tests.support.fake_kubelet --kubeconfig FILE --nodes 3 --zones z1,z2,z3

It registers nodes and keeps them alive, makes the pods that are bound to them Running and Ready, and removes those
that are deleted. Image names steer it as they steer the embedded cluster: ``fail:*`` never gets ready,
``pullfail:*`` cannot be pulled, ``complete:*`` ends well and ``exit1:*`` badly (where the restartPolicy lets it).
Level-triggered: what it does to a pod follows from the pod as it is.
"""

import argparse
import asyncio
import itertools
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from uniteddeployment.kube import kubeconfig, requests
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from uniteddeployment.kube.meta import ObjectMeta, PartialObject, micro_time, utc_now
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.requests import PatchType, Request
from uniteddeployment.kube.resource import LEASES, NODES, PODS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.kube.workqueue import WorkQueue

WORKERS = 8
HEARTBEAT_SECONDS = 10.0
LEASE_NAMESPACE = "kube-node-lease"
VERSION = "v1.36.0"
ENDED = ("Succeeded", "Failed")

Key = tuple[str, str]


class Container(Struct, frozen=True):
    name: str
    image: str = ""


class PodSpec(Struct, rename="camel", frozen=True):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[Container, ...] = ()
    node_selector: dict[str, str] = {}


class Condition(Struct, frozen=True):
    type: str
    status: str


class PodStatus(Struct, rename="camel", frozen=True):
    phase: str = ""
    start_time: str | None = None
    address: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()

    @property
    def ready(self) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in self.conditions)


class Pod(Struct, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def node(name: str, zone: str, *, cpu: str = "8", memory: str = "32Gi") -> dict[str, Any]:
    """A Node as its agent registers it: with room, and well."""
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    labels |= {"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "region-1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": node_conditions(),
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": VERSION,
                "operatingSystem": "linux",
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "fake://1",
                "kernelVersion": "",
                "kubeProxyVersion": "",
                "machineID": "",
                "osImage": "",
                "systemUUID": "",
            },
        },
    }


def node_conditions() -> list[dict[str, Any]]:
    """What the agent of a healthy node says of it."""
    now = _timestamp()
    bad = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return [{"type": type_, "status": status, "reason": "Simulated", **times} for type_, status in bad.items()]


def behaviour(image: str, restart_policy: str) -> str:
    """What a container does, as its image says: runs, fail, pullfail, complete or exit1."""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    if name in ("complete", "exit1"):
        return name if restart_policy != "Always" else "runs"
    return name if name in ("fail", "pullfail") else "runs"


def container_status(container: Container, does: str, *, ready: bool, started: str) -> dict[str, Any]:
    """The status of one container."""
    status: dict[str, Any] = {
        "name": container.name,
        "image": container.image,
        "imageID": "" if does == "pullfail" else f"fake://{container.image}",
        "restartCount": 3 if does == "fail" else 0,
        "ready": ready,
        "started": does == "runs",
    }
    match does:
        case "fail":
            message = f"back-off 40s restarting failed container={container.name}"
            status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        case "pullfail":
            message = f'Back-off pulling image "{container.image}"'
            status["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        case "complete" | "exit1":
            code, reason = (0, "Completed") if does == "complete" else (1, "Error")
            ended = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": _timestamp()}
            status["state"] = {"terminated": ended}
        case _:
            status["state"] = {"running": {"startedAt": started}}
    return status


def pod_status(pod: Pod, address: str, *, settled: bool) -> dict[str, Any]:
    """The status that the agent reports for a pod. ``settled``: the time until readiness is over."""
    started = pod.status.start_time or _timestamp()
    does = [behaviour(one.image, pod.spec.restart_policy) for one in pod.spec.containers]
    pairs = list(zip(pod.spec.containers, does, strict=True))
    phase, ready = _phase(does), settled and all(one == "runs" for one in does)
    now = _timestamp()
    reason = {} if ready else {"reason": "PodCompleted" if phase in ENDED else "ContainersNotReady"}
    said = {
        "Initialized": True,
        "PodReadyToStartContainers": phase not in ENDED,
        "ContainersReady": ready,
        "Ready": ready,
    }
    conditions = []
    for type_, met in said.items():
        why = reason if type_ in ("ContainersReady", "Ready") else {}
        conditions.append({"type": type_, "status": str(met), "lastTransitionTime": now, **why})
    return {
        "phase": phase,
        "startTime": started,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions,
        "containerStatuses": [
            container_status(one, what, ready=settled and what == "runs", started=started) for one, what in pairs
        ],
    }


def _phase(does: list[str]) -> str:
    if "pullfail" in does:
        return "Pending"
    if does and all(one in ("complete", "exit1") for one in does):
        return "Failed" if "exit1" in does else "Succeeded"
    return "Running"


class Kubelets:
    """All simulated nodes of one cluster. ``bind`` places pods on nodes when there is no scheduler."""

    def __init__(self, client: Client, nodes: dict[str, str], *, ready_after: float = 0.0, bind: bool = False) -> None:
        self._client = client
        self._nodes = nodes
        self._ready_after = ready_after
        self._bind = bind
        self._turns = itertools.cycle(nodes)
        self._addresses = _addresses()
        self._due: dict[str, float] = {}
        self._queue: WorkQueue[Key] = WorkQueue()
        self._pods = Reflector(client, PODS, Pod, Cache[Pod](self._changed))

    async def run(self) -> None:
        """Until cancelled."""
        for name, zone in self._nodes.items():
            await self._register(name, zone)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pods.run())
            tasks.create_task(self._beat())
            for _ in range(WORKERS):
                tasks.create_task(self._work())

    async def _register(self, name: str, zone: str) -> None:
        try:
            await self._client.create(NODES, node(name, zone), PartialObject)
        except AlreadyExists:
            status = {"status": {"conditions": node_conditions()}}
            await self._client.merge_patch(NODES, name, status, PartialObject, subresource="status")
        # A new node is tainted until somebody has seen that it is well.
        await self._client.merge_patch(NODES, name, {"spec": {"taints": None}}, PartialObject)

    async def _beat(self) -> None:
        """Renew the Lease of every node, by which a cluster knows that its agent lives."""
        while True:
            for name in self._nodes:
                spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_time(utc_now())}
                lease = {
                    "apiVersion": LEASES.api_version,
                    "kind": LEASES.kind,
                    "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
                    "spec": spec,
                }
                await self._try(
                    self._client.apply(
                        LEASES,
                        name,
                        lease,
                        PartialObject,
                        field_manager="kubelet",
                        force=True,
                        namespace=LEASE_NAMESPACE,
                    )
                )
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _try(self, write: Any) -> None:
        """A heartbeat that fails is followed by the next."""
        try:
            await write
        except KubeError as error:
            print(f"heartbeat: {error}", flush=True)  # noqa: T201  # the log of a test

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None:
            self._queue.add((new.metadata.namespace, new.metadata.name))
        elif old is not None:
            self._due.pop(old.metadata.uid, None)

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._sync(key)
            except (NotFound, Conflict):
                self._queue.forget(key)  # it has changed; its event brings it back
            except KubeError as error:
                print(f"{key}: {error}", flush=True)  # noqa: T201  # the log of a test
                self._queue.add_rate_limited(key)
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key)

    async def _sync(self, key: Key) -> None:
        pod = self._pods.cache.objects.get(key)
        if pod is None or (pod.status.phase in ENDED and not pod.metadata.deletion_timestamp):
            return
        if not pod.spec.node_name:
            if self._bind and not pod.metadata.deletion_timestamp:
                await self._place(pod)
            return
        if pod.spec.node_name not in self._nodes:
            return
        if pod.metadata.deletion_timestamp:
            meta = pod.metadata
            await self._client.delete(PODS, meta.name, namespace=meta.namespace, uid=meta.uid, grace_period_seconds=0)
            return
        await self._report(key, pod)

    async def _place(self, pod: Pod) -> None:
        """Bind a pod to the next node that its nodeSelector allows."""
        allowed = [name for name in self._nodes if self._matches(name, pod.spec.node_selector)]
        if not allowed:
            return
        name = next(one for one in self._turns if one in allowed)
        meta = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": name},
        }
        built = requests.create(PODS, binding, meta.namespace)
        path = PODS.path(meta.namespace, meta.name, "binding")
        await self._client.send(Request("POST", path, (), built.headers, built.body, "create", "pods/binding"))

    def _matches(self, name: str, selector: dict[str, str]) -> bool:
        labels = node(name, self._nodes[name])["metadata"]["labels"]
        return all(labels.get(key) == value for key, value in selector.items())

    async def _report(self, key: Key, pod: Pod) -> None:
        """Start a pod; when its time has come, make it ready."""
        now = asyncio.get_running_loop().time()
        due = self._due.setdefault(pod.metadata.uid, now + self._ready_after)
        settled = due <= now
        address = pod.status.address or next(self._addresses)
        status = pod_status(pod, address, settled=settled)
        ready = status["conditions"][-1]["status"] == "True"
        if (pod.status.phase, pod.status.ready, pod.status.address) != (status["phase"], ready, address):
            meta = pod.metadata
            patch = requests.patch(
                PODS,
                meta.name,
                {"metadata": {"uid": meta.uid}, "status": status},
                meta.namespace,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
            await self._client.send(patch)
        if not settled:
            self._queue.add_after(key, due - now)


def _addresses() -> Iterator[str]:
    for number in itertools.count(1):
        yield f"10.244.{number // 250 % 250}.{number % 250 + 1}"


def _timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def serve(file: Path, nodes: dict[str, str], *, ready_after: float, bind: bool) -> None:
    """Run until SIGTERM."""
    client = Client(AiohttpTransport(kubeconfig.load(file)), "kubelet", field_manager="kubelet")
    running = asyncio.create_task(Kubelets(client, nodes, ready_after=ready_after, bind=bind).run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        return
    finally:
        await client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--zones", default="z1,z2,z3")
    parser.add_argument("--ready-after", type=float, default=0.0)
    parser.add_argument("--bind", action="store_true", help="place pods on nodes: there is no scheduler")
    options = parser.parse_args()
    zones = options.zones.split(",")
    nodes = {f"node-{number + 1}": zones[number % len(zones)] for number in range(options.nodes)}
    asyncio.run(serve(options.kubeconfig, nodes, ready_after=options.ready_after, bind=options.bind))


if __name__ == "__main__":
    main()
