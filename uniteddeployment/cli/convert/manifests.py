"""``ud convert``: converts manifests of OpenKruise."""

from collections.abc import Sequence
from typing import Any

from uniteddeployment.cli import manifests
from uniteddeployment.cli.convert import openkruise
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump_all
from uniteddeployment.cli.output.terminal import say
from uniteddeployment_api import InvalidObject, names


def main(files: Sequence[str], output: str, *, recursive: bool) -> None:
    """Print every object of the files, those of OpenKruise converted; print notes on standard error."""
    check_output(output, ("yaml", "json"))
    objects = manifests.read(files, recursive=recursive)
    if not any(openkruise.is_openkruise(obj.document) for obj in objects):
        wanted = " or ".join(openkruise.VERSIONS)
        raise CommandError(f"{', '.join(files)}: no {names.UNITED_DEPLOYMENT_KIND} of {wanted}", USAGE)
    documents: list[dict[str, Any]] = []
    for obj in objects:
        if not openkruise.is_openkruise(obj.document):
            documents.append(obj.document)
            say(f"note: {obj.title}: not changed", error=True)
            continue
        try:
            converted = openkruise.convert(obj.document)
        except InvalidObject as error:
            raise CommandError(f"{obj.title} cannot be converted: {error}", USAGE) from None
        documents.append(converted.document)
        for note in converted.notes:
            say(f"note: {obj.title}: {note}", error=True)
    dump_all(documents, output)
