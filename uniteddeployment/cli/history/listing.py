"""``ud history``: the revisions of an application, who runs them, and their templates."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.application import status_of
from uniteddeployment.cli.arguments import TITLE
from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.history.revisions import Entry, Kept, entries
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.documents import check_output, dump, to_yaml
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Screen, printable, program, say
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment_api import names

_PARTS = ("patches", "overrides")
_COLUMNS = (Column("REVISION"), Column("AGE"), Column("READY PODS", spill=True), Column("CHANGE-CAUSE", spill=True))
_WIDE = (Column("NAME"), Column("IMAGES"))


def main(target: Target, name: str, revision: int | None, output: str) -> None:
    """Show all revisions, or the pod template of one."""
    check_output(output, ("wide", "json", "yaml"))
    logs.configure("console", "error")
    listed = asyncio.run(_read(target, name))
    if revision is not None:
        _show_one(name, pick(listed, revision), output)
    elif output in ("json", "yaml"):
        document = {"name": name, "namespace": target.namespace, "revisions": [entry.as_dict() for entry in listed]}
        dump(document, output)
    elif not listed:
        say(f"{name} has no revisions yet. The controller creates them.", error=True)
    else:
        _show_all(listed, wide=output == "wide")


async def read(client: Client, namespace: str, name: str) -> tuple[dict[str, Any], tuple[Entry, ...]]:
    """A UnitedDeployment and its revisions, the newest last. Raises CommandError, StartError."""
    obj: dict[str, Any] = await read_application(client, namespace, name, dict[str, Any])
    selector = f"{names.LABEL_MANAGED_BY}={names.MANAGER},{names.LABEL_NAME}={names.label_value(name)}"
    kept = await client.list_all(CONTROLLERREVISIONS, Kept, namespace=namespace, label_selector=selector)
    return obj, entries(status_of(obj), kept)


def pick(listed: tuple[Entry, ...], revision: int) -> Entry:
    """The revision with this number. Raises CommandError if there is none."""
    for entry in listed:
        if entry.record.number == revision:
            return entry
    known = ", ".join(str(entry.record.number) for entry in listed) or "none"
    raise CommandError(f"unable to find specified revision {revision} in history (existing revisions: {known})")


async def _read(target: Target, name: str) -> tuple[Entry, ...]:
    async with connected(target) as client:
        return (await read(client, target.namespace, name))[1]


def _show_all(listed: tuple[Entry, ...], *, wide: bool) -> None:
    now, screen = datetime.now(UTC), Screen()
    rows = [
        Row(
            {
                "REVISION": f"{entry.record.number} ({entry.markers})" if entry.markers else str(entry.record.number),
                "AGE": age(entry.created, now),
                "READY PODS": _places(entry),
                "NAME": entry.record.name,
                "IMAGES": ",".join(entry.images),
                "CHANGE-CAUSE": entry.record.cause or "<none>",
            },
            indent="  ",
        )
        for entry in listed
    ]
    screen.show(table(_COLUMNS[:3] + (_WIDE if wide else ()) + _COLUMNS[3:], rows, None if wide else screen.width))


def _places(entry: Entry) -> str:
    return ", ".join(f"{place.subset} {place.ready}/{place.replicas}" for place in entry.places) or "<none>"


def _show_one(name: str, entry: Entry, output: str) -> None:
    content = entry.content
    parts: dict[str, Any] = {part: dict(value) for part in _PARTS if (value := getattr(content, part))}
    if "overrides" in parts:
        parts["overrides"] = {subset: list(operations) for subset, operations in parts["overrides"].items()}
    if output in ("json", "yaml"):
        dump({**entry.as_dict(), "template": content.template, **parts}, output)
        return
    if entry.problem:
        raise CommandError(f"revision {entry.record.number} cannot be shown: {entry.problem}")
    lines = [f"{TITLE}/{name} with revision #{entry.record.number}"]
    if entry.record.cause:
        lines.append(f"Change Cause: {printable(entry.record.cause)}")
    for title, value in {"Pod Template": content.template, **{part.title(): parts[part] for part in parts}}.items():
        lines.append(f"{title}:")
        lines += [f"  {line}" for line in to_yaml(value).splitlines()]
    program("\n".join(lines))  # people copy templates: no wrapping and no colour
