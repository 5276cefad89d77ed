"""``ud plan``: what would be done to which cluster and why. It calls the controller's planner and writes nothing."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from uniteddeployment.cli import manifests, printing
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.get import Where, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import Parser, Stored, parse
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.revisions import load_template
from uniteddeployment.controller.run import check
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.planning.application import HOST
from uniteddeployment.planning.observed import MemberView, Metadata, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.status import where as place
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import InvalidObject, names

SYNC_SECONDS = 10.0


def main(file: Path, output: str, kubeconfig: Path | None, context: str | None, *, offline: bool) -> None:
    """Print the plan of each UnitedDeployment in the file."""
    if output not in ("text", "json"):
        raise CommandError(f"--output must be text or json, not {output!r}", USAGE)
    logs.configure("console", "error")
    documents = _read(file)
    results = []
    for document in documents:
        stored = _stored(document)
        if offline:
            results.append((document, _offline(stored)))
        else:
            results.append((document, asyncio.run(_live(Where(kubeconfig, context, None), stored))))
    if output == "json":
        print(json.dumps([_as_dict(document, result) for document, result in results], indent=2))  # noqa: T201
        return
    for document, result in results:
        _show(document, result)


def _read(file: Path) -> list[dict[str, Any]]:
    wanted = [one for one in manifests.read(file) if one.get("kind") == names.UNITED_DEPLOYMENT_KIND]
    if not wanted:
        raise CommandError(f"{file} has no {names.UNITED_DEPLOYMENT_KIND}", USAGE)
    return wanted


def _stored(document: Mapping[str, Any]) -> Stored:
    meta = document.get("metadata") or {}
    if not meta.get("name"):
        raise CommandError("metadata.name: required", USAGE)
    metadata = Metadata(name=meta["name"], namespace=meta.get("namespace") or "default", uid="planned", generation=1)
    stored = Stored(metadata, spec=msgspec.Raw(msgspec.json.encode(document.get("spec") or {})))
    app, errors = parse(stored)
    if app is None:
        raise InvalidObject(errors)
    return stored


def _offline(stored: Stored) -> Plan:
    """As if every cluster were there and empty."""
    subject = Parser().subject(stored)
    app = subject.app
    clusters = {app.cluster_of(subset) for subset in app.subsets.values()} if app else set()
    members = {cluster: MemberView(cluster, Reach.READY) for cluster in clusters}
    return plan(subject, Observed(now=_now().isoformat(), members=members))


async def _live(where: Where, wanted: Stored) -> Plan:
    """On what the clusters show now."""
    async with connected(where) as client:
        await check(client)
        host = Host(client, lambda _key, _by_user: None, wanted.metadata.namespace)
        fleet = Fleet(
            client,
            _connect,
            changed=lambda _cluster, _application: None,
            turned=lambda _cluster: None,
            now=_now,
            read_only=True,
        )
        tasks = [asyncio.create_task(one) for one in (host.deployments.run(), host.revisions.run(), fleet.run())]
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                await host.deployments.synced.wait()
                await host.revisions.synced.wait()
                await fleet.wait_synced()
            await fleet.wait_settled(SYNC_SECONDS)
            return await _plan(client, host, fleet, wanted)
        except TimeoutError:
            raise TimeoutError(f"{client.name} did not answer within {SYNC_SECONDS:g} s") from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _plan(client: Client, host: Host, fleet: Fleet, wanted: Stored) -> Plan:
    existing = host.get(wanted.key)
    if existing is not None:
        generation = existing.metadata.generation + 1
        metadata = msgspec.structs.replace(existing.metadata, generation=generation)
        wanted = msgspec.structs.replace(wanted, metadata=metadata, status=existing.status)
    subject: Subject = Parser().subject(wanted)
    observer = Observer(host, fleet, _now)
    result = plan(subject, observer.observe(subject))
    for name in result.missing:
        await load_template(client, host, observer, subject, name)
    return plan(subject, observer.observe(subject)) if result.missing else result


def _connect(connection: Connection) -> Client:
    return Client(AiohttpTransport(connection), connection.name)


def _now() -> datetime:
    return datetime.now(UTC)


def _as_dict(document: Mapping[str, Any], result: Plan) -> dict[str, Any]:
    steps = [step for steps in result.members.values() for step in steps]
    return {
        "name": document["metadata"]["name"],
        "deletionPolicy": _deletion_policy(document),
        "subsets": [
            {
                "name": row.name,
                "cluster": row.cluster,
                "reach": str(row.reach),
                "replicas": row.replicas,
                "partition": row.partition,
                "revision": row.revision,
                "reason": row.reason,
                "message": row.message,
            }
            for row in result.rows
        ],
        "steps": [
            {"cluster": step.cluster, "do": type(step).__name__, "kind": step.kind, "name": step.name, "why": step.why}
            for step in steps
        ],
        "host": [
            {"do": type(step).__name__, "why": step.why} for step in (*result.before, *result.host, *result.after)
        ],
        "conditions": (result.status or {}).get("conditions", []),
    }


def _deletion_policy(document: Mapping[str, Any]) -> str:
    return str((document.get("spec") or {}).get("deletionPolicy") or "Delete")


def _show(document: Mapping[str, Any], result: Plan) -> None:
    console = printing.console()
    console.print(f"{names.UNITED_DEPLOYMENT_KIND} {document['metadata']['name']}")
    columns = ("SUBSET", "CLUSTER", "REPLICAS", "PARTITION", "WHY")
    table = printing.table(columns, right=frozenset({"REPLICAS", "PARTITION"}), wrap=frozenset({"WHY"}))
    for row in result.rows:
        table.add_row(row.name, place(row.cluster), str(row.replicas), str(row.partition), row.reason or row.message)
    console.print(table)
    if _deletion_policy(document) == names.ORPHAN_POLICY:
        console.print("\nIts workloads stay when it is deleted (spec.deletionPolicy: Orphan).")
    if not result.writes:
        console.print("\nNothing to do.")
        return
    console.print("\nSteps")
    for step in (*result.before, *result.host):
        console.print(f"  {place(HOST)}: {type(step).__name__}: {step.why}", highlight=False)
    for steps in result.members.values():
        for one in steps:
            console.print(f"  {place(one.cluster)}: {one.kind} {one.name}: {one.why}", highlight=False)
