"""``ud undo``: an earlier pod template again, in the words of ``kubectl rollout undo``."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from uniteddeployment.cli import history, printing, rollback
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.revisions import Entry
from uniteddeployment.cli.terminal import say
from uniteddeployment.cli.where import Where, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored, parse
from uniteddeployment.kube.errors import Conflict
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import InvalidObject, names, parse_united_deployment, validate_united_deployment


def main(where: Where, name: str, to_revision: int, *, dry_run: bool) -> None:
    """Put the template of a revision back into spec; of the last but one, if none is named."""
    logs.configure("console", "error")
    asyncio.run(_undo(where, name, to_revision, dry_run=dry_run))


async def _undo(where: Where, name: str, to_revision: int, *, dry_run: bool) -> None:
    namespace = where.namespace or "default"
    title = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}/{name}"
    async with connected(where) as client:
        obj, found = await history.read(client, namespace, name)
        target = _target(name, obj, found, to_revision)
        patch = _patch(obj, target)
        number = target.record.number
        if not patch.get("spec"):
            say(f"{title} skipped rollback (current template already matches revision {number})")
            return
        if dry_run:
            say(f"{title} rolled back to revision {number} (dry run)")
            printing.dump(patch, "yaml")
            return
        patch.setdefault("metadata", {})["resourceVersion"] = obj["metadata"]["resourceVersion"]
        try:
            await client.merge_patch(UNITED_DEPLOYMENTS, name, patch, PartialObject, namespace=namespace)
        except Conflict:
            raise CommandError(f"{title} was changed by somebody else at the same moment; try again") from None
    say(f"{title} rolled back to revision {number}")
    if obj["spec"].get("paused"):
        say("it is paused: nothing changes in the clusters until spec.paused is false again", error=True)


def _target(name: str, obj: Mapping[str, Any], found: tuple[Entry, ...], to_revision: int) -> Entry:
    """The revision to go back to. The newest that is not the present template is what came before it."""
    if to_revision:
        return history.pick(found, to_revision)
    present = _present(obj)
    earlier = [entry for entry in found if entry.record.name != present]
    if not earlier:
        raise CommandError(f"no rollout history found for {name}: there is no revision before the present one")
    return earlier[-1]


def _present(obj: Mapping[str, Any]) -> str:
    """The name of the revision of the template as it is; nothing if spec cannot be read."""
    metadata = msgspec.convert(obj["metadata"], Metadata)
    app, _ = parse(Stored(metadata, msgspec.Raw(msgspec.json.encode(obj["spec"]))))
    return app.revision_name if app is not None else ""


def _patch(obj: Mapping[str, Any], target: Entry) -> dict[str, Any]:
    """The merge patch, of exactly what differs. Raises InvalidObject if the result could not be served."""
    wanted = rollback.restored(obj["spec"], target.content)
    errors = validate_united_deployment(parse_united_deployment({**obj, "spec": wanted}))
    broken = tuple(error for error in errors if not error.feasibility)
    if broken:
        raise InvalidObject(broken)
    patch = {}
    if spec := rollback.merge_diff(obj["spec"], wanted):
        patch["spec"] = spec
    annotations = obj["metadata"].get("annotations") or {}
    if annotations.get(names.ANNOTATION_CHANGE_CAUSE, "") != target.record.cause:
        # As kubectl does: the reason goes with the template.
        patch["metadata"] = {"annotations": {names.ANNOTATION_CHANGE_CAUSE: target.record.cause or None}}
    return patch
