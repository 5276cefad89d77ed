"""``ud clusters cordon``, ``uncordon``, ``suspend`` and ``resume``: change the spec of Clusters."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from uniteddeployment.cli.arguments import CLUSTER
from uniteddeployment.cli.clusters.objects import Document, read_cluster
from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import FAILED, CommandError, fail_with
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Conflict
from uniteddeployment.planning.observed.clusters import NO_EXECUTE
from uniteddeployment_api import names

_ATTEMPTS = 5
Change = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Returns the fields of the spec to change; none if the spec is as it should be."""


def cordon(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Take no new replicas."""
    return {} if spec.get("unschedulable") else {"unschedulable": True}


def drain(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Take no new replicas, and move those that are there to other clusters."""
    taints = spec.get("taints") or []
    changes = cordon(spec)
    if not any(_drains(taint) for taint in taints):
        changes["taints"] = [*taints, {"key": names.TAINT_DRAIN, "effect": NO_EXECUTE}]
    return changes


def uncordon(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Take new replicas again, and end a drain."""
    taints = spec.get("taints") or []
    changes: dict[str, Any] = {"unschedulable": False} if spec.get("unschedulable") else {}
    if any(_drains(taint) for taint in taints):
        changes["taints"] = [taint for taint in taints if not _drains(taint)]
    return changes


def suspend(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Disconnect the controller."""
    return {} if spec.get("suspended") else {"suspended": True}


def resume(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Connect the controller again."""
    return {"suspended": False} if spec.get("suspended") else {}


def _drains(taint: Mapping[str, Any]) -> bool:
    return bool(taint.get("key") == names.TAINT_DRAIN)


def main(target: Target, texts: Sequence[str], change: Change, done: str) -> None:
    """Change Clusters, and report each. Raises CommandError at the end if one does not exist."""
    logs.configure("console", "error")
    missing = asyncio.run(_change_all(target, texts, change, done))
    if missing:
        fail_with(missing, FAILED)


async def _change_all(target: Target, texts: Sequence[str], change: Change, done: str) -> list[str]:
    missing = []
    async with connected(target) as client:
        for name in texts:
            try:
                _, changed = await apply(client, target.namespace, name, change)
            except CommandError as error:
                missing.append(str(error))
            else:
                say(f"{CLUSTER.title}/{name} {'' if changed else 'already '}{done}")
    return missing


async def apply(client: Client, namespace: str, name: str, change: Change) -> tuple[Document, bool]:
    """Change the spec of a Cluster. Return it, and whether it was changed. Raises CommandError, KubeError."""
    attempts = 0
    while True:
        attempts += 1
        cluster = await read_cluster(client, namespace, name)
        changes = change(cluster.get("spec") or {})
        if not changes:
            return cluster, False
        metadata = {"resourceVersion": cluster["metadata"]["resourceVersion"], "uid": cluster["metadata"]["uid"]}
        patch = {"metadata": metadata, "spec": changes}
        try:
            return await client.merge_patch(CLUSTERS, name, patch, Document, namespace=namespace), True
        except Conflict:
            if attempts == _ATTEMPTS:
                raise
