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
    found = manifests.read(files, recursive=recursive)
    if not any(openkruise.is_openkruise(one.document) for one in found):
        wanted = " or ".join(openkruise.VERSIONS)
        raise CommandError(f"{', '.join(files)}: no {names.UNITED_DEPLOYMENT_KIND} of {wanted}", USAGE)
    made: list[dict[str, Any]] = []
    for one in found:
        if not openkruise.is_openkruise(one.document):
            made.append(one.document)
            say(f"note: {one.title}: not changed", error=True)
            continue
        try:
            converted = openkruise.convert(one.document)
        except InvalidObject as error:
            raise CommandError(f"{one.title} cannot be converted: {error}", USAGE) from None
        made.append(converted.document)
        for note in converted.notes:
            say(f"note: {one.title}: {note}", error=True)
    dump_all(made, output)
