"""``ud history``: the revisions of an application, who runs them, and what they are."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli import printing, tree
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.layout import Column, Row, table
from uniteddeployment.cli.revisions import Entry, Kept, entries
from uniteddeployment.cli.terminal import Screen, printable, program, say
from uniteddeployment.cli.where import Where, check, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment_api import names

_PARTS = ("patches", "overrides")
_COLUMNS = (Column("REVISION"), Column("AGE"), Column("READY PODS", spill=True), Column("CHANGE-CAUSE", spill=True))
_WIDE = (Column("NAME"), Column("IMAGES"))


def main(where: Where, name: str, revision: int | None, output: str) -> None:
    """Show all revisions, or the pod template of one."""
    printing.check_output(output, ("wide", "json", "yaml"))
    logs.configure("console", "error")
    found = asyncio.run(_read(where, name))
    if revision is not None:
        _show_one(name, pick(found, revision), output)
    elif output in ("json", "yaml"):
        document = {"name": name, "namespace": where.namespace, "revisions": [entry.as_dict() for entry in found]}
        printing.dump(document, output)
    elif not found:
        say(f"No revisions of {name} yet: the controller makes them.", error=True)
    else:
        _show_all(found, wide=output == "wide")


async def read(client: Client, namespace: str, name: str) -> tuple[dict[str, Any], tuple[Entry, ...]]:
    """A UnitedDeployment and its revisions, the newest last. Raises CommandError or StartError."""
    try:
        obj: dict[str, Any] = await client.get(UNITED_DEPLOYMENTS, name, dict[str, Any], namespace=namespace)
    except NotFound as error:
        await check(client)
        raise CommandError(f"{error.message} (namespace {namespace})") from None
    selector = f"{names.LABEL_MANAGED_BY}={names.MANAGER},{names.LABEL_NAME}={names.label_value(name)}"
    kept = await client.list_all(CONTROLLERREVISIONS, Kept, namespace=namespace, label_selector=selector)
    return obj, entries(tree.status_of(obj), kept)


def pick(found: tuple[Entry, ...], revision: int) -> Entry:
    """The revision with that number. Raises CommandError if there is none."""
    for entry in found:
        if entry.record.number == revision:
            return entry
    known = ", ".join(str(entry.record.number) for entry in found) or "none"
    raise CommandError(f"unable to find specified revision {revision} in history (there are: {known})")


async def _read(where: Where, name: str) -> tuple[Entry, ...]:
    async with connected(where) as client:
        return (await read(client, where.namespace or "default", name))[1]


def _show_all(found: tuple[Entry, ...], *, wide: bool) -> None:
    now, screen = datetime.now(UTC), Screen()
    rows = [
        Row(
            {
                "REVISION": f"{entry.record.number} ({entry.markers})" if entry.markers else str(entry.record.number),
                "AGE": tree.age(entry.created, now),
                "READY PODS": _places(entry),
                "NAME": entry.record.name,
                "IMAGES": ",".join(entry.images),
                "CHANGE-CAUSE": entry.record.cause or "<none>",
            },
            indent="  ",
        )
        for entry in found
    ]
    screen.show(table(_COLUMNS[:3] + (_WIDE if wide else ()) + _COLUMNS[3:], rows, None if wide else screen.width))


def _places(entry: Entry) -> str:
    return ", ".join(f"{place.subset} {place.ready}/{place.replicas}" for place in entry.places) or "<none>"


def _show_one(name: str, entry: Entry, output: str) -> None:
    content = entry.content
    parts: dict[str, Any] = {part: dict(found) for part in _PARTS if (found := getattr(content, part))}
    if "overrides" in parts:
        parts["overrides"] = {subset: list(operations) for subset, operations in parts["overrides"].items()}
    if output in ("json", "yaml"):
        printing.dump({**entry.as_dict(), "template": content.template, **parts}, output)
        return
    lines = [f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}/{name} with revision #{entry.record.number}"]
    if entry.record.cause:
        lines.append(f"Change Cause: {printable(entry.record.cause)}")
    for title, value in {"Pod Template": content.template, **{part.title(): parts[part] for part in parts}}.items():
        lines.append(f"{title}:")
        lines += [f"  {line}" for line in printing.to_yaml(value).splitlines()]
    program("\n".join(lines))  # a template is to be copied: no wrapping, no colour
