"""``ud adopt NAME --owner-lost``: takes back the workloads of a UnitedDeployment that was lost with its host.

Workloads in members name the lost UnitedDeployment by namespace, name and uid. The object that is printed has that uid
in spec.topology.adopt. The controller then takes the workloads over.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli import manifests, snapshot
from uniteddeployment.cli.adopt.store import create
from uniteddeployment.cli.arguments import TITLE, application_name
from uniteddeployment.cli.connect import Target, read_application
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Screen, say
from uniteddeployment.cli.snapshot import Snapshot
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.planning.observed import Reach, cluster_label
from uniteddeployment_api import InvalidObject, names, parse_united_deployment, validate_united_deployment

_COLUMNS = (
    Column("CLUSTER"),
    Column("KIND", drop=1),
    Column("NAME"),
    Column("REPLICAS", right=True, drop=2),
    Column("OWNER UID"),
)
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Request:
    """The UnitedDeployment that takes workloads back."""

    application: str
    """``NAME`` or ``ud/NAME``"""
    files: tuple[str, ...] = ()
    """Its manifest; empty to use the object on the host."""
    owner_uid: str = ""
    """The uid of the lost UnitedDeployment; empty if there is only one."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A workload whose UnitedDeployment was lost."""

    cluster: str
    kind: str
    name: str
    replicas: int
    owner_uid: str


def check_options(*, name: str, cluster: object, subset: str) -> None:
    """Raise CommandError for options that --owner-lost does not have."""
    if name or cluster or subset:
        raise CommandError("--owner-lost cannot be combined with --name, --cluster or --subset", USAGE)


def main(target: Target, request: Request, output: str, *, apply: bool) -> None:
    """Print the UnitedDeployment with the field set, or write it to the host with ``apply``."""
    check_output(output, ("yaml", "json"))
    name = application_name(request.application)
    logs.configure("console", "error")
    asyncio.run(_take_back(target, name, request, output or "yaml", apply=apply))


async def _take_back(target: Target, name: str, request: Request, output: str, *, apply: bool) -> None:
    key = f"{target.namespace}/{name}"
    given = _manifest(request.files, target.namespace, name) if request.files else None
    async with snapshot.taken(target, target.namespace) as seen:
        document = given or _written(await read_application(seen.client, target.namespace, name, dict[str, Any]))
        workloads = list(_search(seen, target.namespace, name))
        _show(workloads)
        uid = choose(key, workloads, request.owner_uid)
        document = _with_owner_uid(document, uid)
        say(
            f"warning: if a UnitedDeployment {key} with the uid {uid} still exists on another host, that host loses "
            "these workloads",
            error=True,
        )
        if not apply:
            dump(document, output)
        elif given is not None:
            await create(seen.client, target.namespace, document, "leave out --filename to change it")
        else:
            await _patch(seen.client, target.namespace, name, uid)


def _manifest(files: Sequence[str], namespace: str, name: str) -> dict[str, Any]:
    """The UnitedDeployment of that namespace and name in files. Raises CommandError if there is none."""
    for manifest in manifests.united_deployments(files):
        document = {key: value for key, value in manifest.document.items() if key != "status"}
        metadata = document["metadata"]
        if (metadata.get("namespace") or namespace, metadata["name"]) == (namespace, name):
            return {**document, "metadata": {**metadata, "namespace": namespace}}
    raise CommandError(
        f"no {names.UNITED_DEPLOYMENT_KIND} {name} of namespace {namespace} in {', '.join(files)}", USAGE
    )


def _written(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an object that a user wrote, as a manifest."""
    metadata = {key: obj["metadata"][key] for key in _KEPT_METADATA if obj["metadata"].get(key)}
    annotations = {key: value for key, value in metadata.pop("annotations", {}).items() if key != _LAST_APPLIED}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": metadata | ({"annotations": annotations} if annotations else {}),
        "spec": obj["spec"],
    }


def _search(seen: Snapshot, namespace: str, name: str) -> Iterator[Lost]:
    """The workloads of lost UnitedDeployments of that namespace and name. Clusters that cannot be read are reported."""
    existing = seen.host.get((namespace, name))
    own_uid = existing.metadata.uid if existing is not None else ""
    for cluster in sorted(seen.fleet.clusters()):
        view = seen.fleet.view(cluster, (namespace, names.label_value(name)))
        if view.reach is not Reach.READY and view.same_as is None:
            say(f"warning: {cluster_label(cluster)} was not searched: {view.detail or view.reach}", error=True)
        for workload in view.workloads:
            annotations = workload.metadata.annotations
            uid = annotations.get(names.ANNOTATION_OWNER_UID, "")
            if annotations.get(names.ANNOTATION_OWNER) == f"{namespace}/{name}" and uid not in ("", own_uid):
                yield Lost(cluster, workload.kind, workload.metadata.name, workload.spec.replicas, uid)


def _show(workloads: Sequence[Lost]) -> None:
    """Print the workloads on standard error: the manifest goes to standard output."""
    if not workloads:
        return
    screen = Screen(error=True)
    rows = [
        Row(
            {
                "CLUSTER": cluster_label(workload.cluster),
                "KIND": workload.kind,
                "NAME": workload.name,
                "REPLICAS": str(workload.replicas),
                "OWNER UID": workload.owner_uid,
            }
        )
        for workload in workloads
    ]
    screen.show(table(_COLUMNS, rows, screen.width))


def choose(key: str, workloads: Sequence[Lost], wanted: str) -> str:
    """The uid of the lost UnitedDeployment. Raises CommandError if there is none, or more than one to choose from."""
    counts = Counter(workload.owner_uid for workload in workloads)
    listed = ", ".join(f"{uid} ({_workloads(count)})" for uid, count in sorted(counts.items()))
    if not counts:
        raise CommandError(f"no workload belongs to a lost UnitedDeployment {key}: there is nothing to take back")
    if wanted:
        if wanted not in counts:
            raise CommandError(f"no workload of {key} has the owner uid {wanted}; there are: {listed}")
        return wanted
    if len(counts) > 1:
        raise CommandError(
            f"the workloads of {key} have {len(counts)} different owners: {listed}. Choose one with --owner-uid"
        )
    return next(iter(counts))


def _workloads(count: int) -> str:
    return "1 workload" if count == 1 else f"{count} workloads"


def _with_owner_uid(document: Mapping[str, Any], uid: str) -> dict[str, Any]:
    """The manifest with the field set. Raises InvalidObject if the manifest is not valid."""
    spec = document.get("spec") or {}
    topology = {**(spec.get("topology") or {}), "adopt": {"ownerUID": uid}}
    result = {**document, "spec": {**spec, "topology": topology}}
    errors = validate_united_deployment(parse_united_deployment(result))
    broken = tuple(error for error in errors if not error.feasibility)
    if broken:
        raise InvalidObject(broken)
    return result


async def _patch(host: Client, namespace: str, name: str, uid: str) -> None:
    """Set the field in the existing object."""
    patch = {"spec": {"topology": {"adopt": {"ownerUID": uid}}}}
    await host.merge_patch(UNITED_DEPLOYMENTS, name, patch, PartialObject, namespace=namespace)
    say(f"{TITLE}/{name} patched")
