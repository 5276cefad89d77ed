"""``ud plan``: what would be done to which cluster and why. It calls the controller's planner and writes nothing."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from uniteddeployment.cli import manifests, printing, rehearsal, snapshot
from uniteddeployment.cli.errors import BLOCKED, USAGE, CommandError, fail_with
from uniteddeployment.cli.layout import Column, Row, table
from uniteddeployment.cli.manifests import Manifest
from uniteddeployment.cli.steps import title, verb
from uniteddeployment.cli.terminal import Screen, program, say
from uniteddeployment.cli.where import Where
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import Stored, parse
from uniteddeployment.planning.observed import HOST, Metadata, Reach
from uniteddeployment.planning.observed import cluster_label as place
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.status import STALLED
from uniteddeployment.planning.stored import NO_STATUS, to_document
from uniteddeployment_api import (
    FieldError,
    InvalidObject,
    UnitedDeployment,
    names,
    parse_united_deployment,
    validate_united_deployment,
)

_COLUMNS = (
    Column("SUBSET"),
    Column("CLUSTER", drop=2),
    Column("REPLICAS", right=True),
    Column("PARTITION", right=True, drop=1),
    Column("WHY", spill=True),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a part of a plan cannot be carried out."""

    subset: str
    """Empty when it is about the whole application."""
    message: str


@dataclass(frozen=True, slots=True)
class Planned:
    """One object of the files: its plan and what is in the way, or why it is refused."""

    namespace: str
    name: str
    plan: Plan | None = None
    troubles: tuple[Trouble, ...] = ()
    errors: tuple[str, ...] = ()
    deletion_policy: str = ""

    @property
    def title(self) -> str:
        return f"{names.UNITED_DEPLOYMENT_KIND} {self.name} (namespace {self.namespace})"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One object of the files as it is planned for."""

    title: str
    stored: Stored
    model: UnitedDeployment | None = None
    errors: tuple[FieldError, ...] = field(default=())

    @property
    def namespace(self) -> str:
        return self.stored.metadata.namespace

    def planned(self, result: Plan, refused: dict[str, str] | None = None) -> Planned:
        policy = self.model.spec.deletion_policy if self.model is not None else ""
        troubles = _troubles(result, refused or {})
        return Planned(self.namespace, self.stored.metadata.name, result, troubles, deletion_policy=policy)

    def refused(self, errors: Sequence[FieldError]) -> Planned:
        return Planned(self.namespace, self.stored.metadata.name, errors=tuple(str(error) for error in errors))


def main(files: Sequence[str], where: Where, output: str, *, named: str, recursive: bool, live: bool) -> None:
    """Print the plan of each UnitedDeployment in the files.

    ``named`` is the namespace that was asked for; objects of another one are refused. Raises CommandError at the end
    if an object is refused or a part of a plan cannot be carried out.
    """
    printing.check_output(output, ("text", "json"))
    logs.configure("console", "error")
    wanted = [_wanted(one, where.namespace or "default", named) for one in _read(files, recursive=recursive)]
    results = asyncio.run(_live(where, wanted)) if live else [_offline(one) for one in wanted]
    if output == "json":
        program(json.dumps([_as_dict(one) for one in results], indent=2))
    else:
        _show(results)
    _conclude(results)


def _read(files: Sequence[str], *, recursive: bool) -> list[Manifest]:
    found = [one for one in manifests.read(files, recursive=recursive) if one.kind == names.UNITED_DEPLOYMENT_KIND]
    for one in found:
        version = one.document.get("apiVersion")
        if version != names.API_VERSION:
            hint = "; ud convert turns OpenKruise's into ours" if "kruise" in str(version) else ""
            raise CommandError(f"{one.file}: {one.title} is of {version}, not of {names.API_VERSION}{hint}", USAGE)
    if not found:
        raise CommandError(f"no {names.UNITED_DEPLOYMENT_KIND} in {', '.join(files)}", USAGE)
    return found


def _wanted(manifest: Manifest, default: str, named: str) -> _Wanted:
    document = {key: value for key, value in manifest.document.items() if key != "status"}
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise CommandError(f"{manifest.file}: {manifest.title}: metadata.name: required", USAGE)
    namespace = metadata.get("namespace") or default
    if not isinstance(namespace, str) or (named and namespace != named):
        raise CommandError(f"{manifest.file}: {manifest.title} is in namespace {namespace}, not in {named}", USAGE)
    meta = Metadata(name=metadata["name"], namespace=namespace, uid="planned", generation=1)
    bare = _Wanted(manifest.title, Stored(meta))
    try:
        model = parse_united_deployment(document)
    except InvalidObject as error:
        return replace(bare, errors=error.errors)
    meta = msgspec.structs.replace(meta, annotations=dict(model.metadata.annotations))
    stored = Stored(meta, spec=msgspec.Raw(msgspec.json.encode(document["spec"])))
    return replace(bare, stored=stored, model=model, errors=parse(stored)[1])


def _offline(wanted: _Wanted) -> Planned:
    return wanted.refused(wanted.errors) if wanted.errors else wanted.planned(snapshot.offline(wanted.stored))


async def _live(where: Where, wanted: Sequence[_Wanted]) -> list[Planned]:
    """On what the clusters show now; one look for each namespace."""
    found: dict[int, Planned] = {}
    for namespace in dict.fromkeys(one.namespace for one in wanted if not one.errors):
        async with snapshot.taken(where, namespace) as seen:
            for index, one in enumerate(wanted):
                if not one.errors and one.namespace == namespace:
                    found[index] = await _on(seen, one)
    return [found.get(index) or one.refused(one.errors) for index, one in enumerate(wanted)]


async def _on(seen: snapshot.Snapshot, wanted: _Wanted) -> Planned:
    existing = seen.stored(wanted.stored)
    if existing is not None and wanted.model is not None:
        app, _ = parse(existing)
        changes = validate_united_deployment(wanted.model, app.model) if app is not None else ()
        broken = [error for error in changes if not error.feasibility]
        if broken:
            return wanted.refused(broken)
    result = await seen.plan(wanted.stored)
    return wanted.planned(result, await rehearsal.refusals(seen.fleet, wanted.namespace, result))


def _troubles(result: Plan, refused: dict[str, str]) -> tuple[Trouble, ...]:
    found = [Trouble(row.name, row.message) for row in result.results if row.stalled or row.reach is not Reach.READY]
    known = {trouble.subset for trouble in found}
    found += [Trouble(subset, message) for subset, message in refused.items() if subset not in known]
    if not any(row.stalled for row in result.results):
        stalled = (result.status or NO_STATUS).condition(STALLED)
        if stalled is not None and stalled.status == "True":
            found.append(Trouble("", stalled.message))
    if result.missing:
        found.append(Trouble("", f"the revision {', '.join(sorted(result.missing))} cannot be read"))
    return tuple(found)


def _conclude(results: Sequence[Planned]) -> None:
    """Raises CommandError with the exit code, unless everything can be carried out."""
    invalid = [f"{one.title} is invalid: {error}" for one in results for error in one.errors]
    if invalid:
        fail_with(invalid, USAGE)
    troubles = sum(len(one.troubles) for one in results)
    if troubles:
        parts = "1 part of the plan" if troubles == 1 else f"{troubles} parts of the plan"
        raise CommandError(f"{parts} cannot be carried out", BLOCKED)


def _as_dict(planned: Planned) -> dict[str, Any]:
    """For programs."""
    made: dict[str, Any] = {"name": planned.name, "namespace": planned.namespace}
    result = planned.plan
    if result is None:
        return made | {"errors": list(planned.errors)}
    return made | {
        "deletionPolicy": planned.deletion_policy,
        "subsets": [
            {
                "name": row.name,
                "cluster": row.cluster,
                "reach": str(row.reach),
                "state": str(row.state),
                "replicas": row.replicas,
                "partition": row.partition,
                "revision": row.revision,
                "reason": row.reason,
                "message": row.message,
            }
            for row in result.results
        ],
        "steps": [
            {"cluster": step.cluster, "do": verb(step), "kind": step.kind, "name": step.name, "why": step.why}
            for steps in result.members.values()
            for step in steps
        ],
        "host": [{"do": verb(step), "why": step.why} for step in (*result.before, *result.host, *result.after)],
        "troubles": [{"subset": one.subset, "message": one.message} for one in planned.troubles],
        "conditions": to_document(result.status or NO_STATUS).get("conditions", []),
    }


def _show(results: Sequence[Planned]) -> None:
    screen = Screen()
    shown = [one for one in results if one.plan is not None]
    for index, one in enumerate(shown):
        if index:
            say("")
        _show_one(screen, one)


def _show_one(screen: Screen, planned: Planned) -> None:
    result = planned.plan
    if result is None:
        return
    say(planned.title)
    troubles: dict[str, list[str]] = {}
    for trouble in planned.troubles:
        troubles.setdefault(trouble.subset, []).append(f"{screen.glyphs.bad} {trouble.message}")
    rows = [
        Row(
            {
                "SUBSET": row.name,
                "CLUSTER": place(row.cluster),
                "REPLICAS": str(row.replicas),
                "PARTITION": str(row.partition),
                "WHY": row.reason,
            },
            troubles.get(row.name, ()),
            "  ",
        )
        for row in result.results
    ]
    screen.show(table(_COLUMNS, rows, screen.width))
    for message in troubles.get("", ()):
        say(message)
    if planned.deletion_policy == names.ORPHAN_POLICY:
        say("")
        say("Its workloads stay when it is deleted (spec.deletionPolicy: Orphan).")
    if not result.writes:
        say("")
        say("Nothing to do." if not troubles else "Nothing can be done.")
        return
    say("")
    say("Steps")
    for host_step in (*result.before, *result.host, *result.after):
        say(f"  {place(HOST)}: {title(host_step)}: {host_step.why}")
    for steps in result.members.values():
        for step in steps:
            say(f"  {place(step.cluster)}: {title(step)}: {step.why}")
