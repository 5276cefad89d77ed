"""P0: what one application costs the host's API server, in milliseconds of its CPU.

On a real API server when KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver, else on an embedded one. The
same writes are measured with the rules of the CRD and without any, so the price of the rules is a figure of its own.
"""

import asyncio
import copy
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench.definitions import define
from tests.support import envtest
from tests.support.planning import manifest
from tests.support.processes import Process, ud
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube import kubeconfig
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions

APPLICATIONS = int(os.environ.get("UD_BENCH_WRITES", "150"))

Definition = dict[str, Any]


def run() -> list[tuple[str, str]]:
    rows = []
    for title, change in _variants().items():
        with tempfile.TemporaryDirectory(prefix="ud-bench-") as folder, server(Path(folder)) as (process, config):
            rows += [(f"{title}: {what}", figure) for what, figure in asyncio.run(_measure(process, config, change))]
    return rows


def _variants() -> dict[str, Callable[[Definition], None]]:
    return {"as shipped": _unchanged, "without rules": _without_rules}


def _unchanged(_definition: Definition) -> None:
    """The definition as it is."""


def _without_rules(node: Any) -> None:
    """Take every CEL rule out of a definition."""
    if isinstance(node, dict):
        node.pop("x-kubernetes-validations", None)
        for value in node.values():
            _without_rules(value)
    elif isinstance(node, list):
        for value in node:
            _without_rules(value)


@contextmanager
def server(folder: Path) -> Iterator[tuple[Process, Path]]:
    """One API server of its own process, and its kubeconfig."""
    if os.environ.get(envtest.ASSETS):
        binaries = replace(envtest.find(), controller_manager=None, scheduler=None)
        with envtest.control_planes(["host"], folder, binaries) as (plane,):
            assert plane.process is not None
            yield plane.process, folder / "host" / "kubeconfig"
    else:
        config = folder / "kubeconfig"
        with ud("embedded", "--no-controllers", "--kubeconfig", str(config), log=folder / "log") as process:
            process.wait_for("export KUBECONFIG")
            yield process, config


async def _measure(process: Process, config: Path, change: Callable[[Definition], None]) -> list[tuple[str, str]]:
    client = Client(AiohttpTransport(kubeconfig.load(config)), "host", field_manager="bench")
    try:
        await _define(client, change)
        return await _writes(client, process)
    finally:
        await client.close()


async def _define(client: Client, change: Callable[[Definition], None]) -> None:
    definitions = copy.deepcopy(custom_resource_definitions())
    for definition in definitions:
        change(definition)
    await define(client, definitions, UNITED_DEPLOYMENTS)
    await client.create(UNITED_DEPLOYMENTS, _application("first"), PartialObject, namespace="default")


def _application(name: str) -> dict[str, Any]:
    document = manifest()
    document["metadata"]["name"] = name
    return document


async def _writes(client: Client, process: Process) -> list[tuple[str, str]]:
    status = _status()

    async def create(name: str) -> None:
        await client.create(UNITED_DEPLOYMENTS, _application(name), PartialObject, namespace="default")

    async def finalizer(name: str) -> None:
        patch = {"metadata": {"finalizers": [names.FINALIZER]}}
        await client.merge_patch(UNITED_DEPLOYMENTS, name, patch, PartialObject, namespace="default")

    async def report(name: str) -> None:
        await client.merge_patch(
            UNITED_DEPLOYMENTS, name, {"status": status}, PartialObject, namespace="default", subresource="status"
        )

    async def image(name: str) -> None:
        patch = {"spec": {"template": {"statefulSetTemplate": {"spec": {"template": _pod("app:2")}}}}}
        await client.merge_patch(UNITED_DEPLOYMENTS, name, patch, PartialObject, namespace="default")

    async def revision(name: str) -> None:
        body = {"metadata": {"name": name}, "data": {"template": _pod("app:1")}, "revision": 1}
        await client.create(CONTROLLERREVISIONS, body, PartialObject, namespace="default")

    await _cost(process, create, "warm")
    rows, total = [], 0.0
    for what, write in (("POST", create), ("finalizer", finalizer), ("status", report), ("new image", image)):
        cost = await _cost(process, write, "app")
        total += cost
        rows.append((what, f"{cost:.1f} ms"))
    rows.append(("all four", f"{total:.1f} ms"))
    rows.append(("a ControllerRevision, to compare", f"{await _cost(process, revision, 'app'):.1f} ms"))
    return rows


async def _cost(process: Process, write: Callable[[str], Awaitable[None]], prefix: str) -> float:
    """Milliseconds of the server's CPU for one write."""
    before = process.cpu_seconds()
    for number in range(APPLICATIONS):
        await write(f"{prefix}-{number}")
    return (process.cpu_seconds() - before) * 1000 / APPLICATIONS


def _pod(image: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}}


def _status() -> dict[str, Any]:
    """A status of the size that the controller writes for three subsets."""
    moment = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "reason": "Settled", "message": "", "lastTransitionTime": moment}
        for kind in ("Ready", "Reconciling", "Stalled")
    ]
    subsets = [
        {
            "name": name,
            "cluster": f"default/{name}",
            "workload": f"StatefulSet/app-{name}",
            "replicas": 2,
            "observedReplicas": 2,
            "readyReplicas": 2,
            "updatedReplicas": 2,
            "partition": 0,
            "reason": "an equal share of the rest",
        }
        for name in ("member-1", "member-2", "member-3")
    ]
    return {"observedGeneration": 1, "replicas": 6, "conditions": conditions, "subsetStatuses": subsets}
