"""``ud undo``: returns to an earlier pod template, as ``kubectl rollout undo`` does."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from uniteddeployment.cli.arguments import TITLE
from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.history import listing
from uniteddeployment.cli.history.revisions import Entry
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored, parse
from uniteddeployment.kube.errors import Conflict
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import InvalidObject, names, parse_united_deployment, revisions
from uniteddeployment_api.validation import stored_errors


def main(target: Target, name: str, to_revision: int, output: str, *, dry_run: bool) -> None:
    """Write the template of a revision into the spec; the previous revision if ``to_revision`` is 0."""
    check_output(output, ("text", "json"))
    logs.configure("console", "error")
    result = asyncio.run(_undo(target, name, to_revision, dry_run=dry_run))
    if output == "json":
        dump(result, output)
        return
    title, number = f"{TITLE}/{name}", result["revision"]
    if not result["changed"]:
        say(f"{title} skipped rollback (current template already matches revision {number})")
    else:
        say(f"{title} rolled back to revision {number}{' (dry run)' if dry_run else ''}")
    if result["changed"] and dry_run:
        dump(result["patch"], "yaml")
    if result["paused"] and not dry_run:
        say("The application is paused. Nothing changes in the clusters until spec.paused is false.", error=True)


async def _undo(target: Target, name: str, to_revision: int, *, dry_run: bool) -> dict[str, Any]:
    """Return what was done, for programs."""
    async with connected(target) as client:
        obj, listed = await listing.read(client, target.namespace, name)
        entry = _usable(_entry(name, obj, listed, to_revision))
        patch = _patch(obj, entry)
        changed = bool(patch.get("spec"))
        if changed and not dry_run:
            metadata = {**patch.get("metadata", {}), "resourceVersion": obj["metadata"]["resourceVersion"]}
            try:
                await client.merge_patch(
                    UNITED_DEPLOYMENTS, name, {**patch, "metadata": metadata}, PartialObject, namespace=target.namespace
                )
            except Conflict:
                raise CommandError(f"{TITLE}/{name} was changed at the same moment; try again") from None
    return {
        "name": name,
        "namespace": target.namespace,
        "revision": entry.record.number,
        "changed": changed,
        "dryRun": dry_run,
        "paused": bool(obj["spec"].get("paused")),
        "patch": patch if changed else {},
    }


def _entry(name: str, obj: Mapping[str, Any], listed: tuple[Entry, ...], to_revision: int) -> Entry:
    """The revision to return to. The previous one is the newest whose template is not the current template."""
    if to_revision:
        return listing.pick(listed, to_revision)
    current = _current(obj)
    earlier = [entry for entry in listed if entry.record.name != current]
    if not earlier:
        raise CommandError(f"no rollout history found for {name}: there is no revision before the current one")
    return earlier[-1]


def _usable(entry: Entry) -> Entry:
    """Raises CommandError if somebody has damaged the revision."""
    if entry.problem:
        raise CommandError(
            f"revision {entry.record.number} cannot be used: {entry.problem}; choose another one with --to-revision"
        )
    return entry


def _current(obj: Mapping[str, Any]) -> str:
    """The name of the revision of the current template; empty if the spec cannot be read."""
    metadata = msgspec.convert(obj["metadata"], Metadata)
    app, _ = parse(Stored(metadata, msgspec.Raw(msgspec.json.encode(obj["spec"]))))
    return app.revision_name if app is not None else ""


def _patch(obj: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """The smallest merge patch that returns to a revision. Raises InvalidObject if the result were invalid."""
    wanted = revisions.restored(obj["spec"], entry.content)
    if broken := stored_errors(parse_united_deployment({**obj, "spec": wanted})):
        raise InvalidObject(broken)
    patch = {}
    if spec := revisions.merge_diff(obj["spec"], wanted):
        patch["spec"] = spec
    annotations = obj["metadata"].get("annotations") or {}
    if annotations.get(names.ANNOTATION_CHANGE_CAUSE, "") != entry.record.cause:
        # As with kubectl, the change cause belongs to the template.
        patch["metadata"] = {"annotations": {names.ANNOTATION_CHANGE_CAUSE: entry.record.cause or None}}
    return patch
