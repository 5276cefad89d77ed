"""``ud convert``: manifests of OpenKruise as ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from uniteddeployment.cli import kruise, manifests, printing
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment_api import InvalidObject, names


def main(file: Path, output: str) -> None:
    """Print every object of the file, those of OpenKruise as ours; say on standard error what differs."""
    printing.check_output(output, ("yaml", "json"))
    made: list[dict[str, Any]] = []
    found = manifests.read(file)
    if not any(kruise.is_openkruise(document) for document in found):
        wanted = " or ".join(kruise.VERSIONS)
        raise CommandError(f"{file} has no {names.UNITED_DEPLOYMENT_KIND} of {wanted}", USAGE)
    for document in found:
        title = _title(document)
        if not kruise.is_openkruise(document):
            made.append(document)
            typer.echo(f"note: {title}: left as it is", err=True)
            continue
        try:
            converted = kruise.convert(document)
        except InvalidObject as error:
            raise CommandError(f"{title} cannot be converted: {error}", USAGE) from None
        made.append(converted.document)
        for note in converted.notes:
            typer.echo(f"note: {title}: {note}", err=True)
    if output == "json":
        printing.dump(made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made}, output)
        return
    typer.echo("---\n".join(printing.to_yaml(document) for document in made), nl=False)


def _title(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{document.get('kind') or 'object'} {name or '(without a name)'}"
