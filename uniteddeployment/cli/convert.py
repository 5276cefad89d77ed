"""``ud convert``: manifests of OpenKruise as ours."""

from collections.abc import Sequence
from typing import Any

from uniteddeployment.cli import kruise, manifests, printing
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.terminal import program, say
from uniteddeployment_api import InvalidObject, names


def main(files: Sequence[str], output: str, *, recursive: bool) -> None:
    """Print every object of the files, those of OpenKruise as ours; say on standard error what differs."""
    printing.check_output(output, ("yaml", "json"))
    made: list[dict[str, Any]] = []
    found = manifests.read(files, recursive=recursive)
    if not any(kruise.is_openkruise(one.document) for one in found):
        wanted = " or ".join(kruise.VERSIONS)
        raise CommandError(f"{', '.join(files)}: no {names.UNITED_DEPLOYMENT_KIND} of {wanted}", USAGE)
    for one in found:
        if not kruise.is_openkruise(one.document):
            made.append(one.document)
            say(f"note: {one.title}: left as it is", error=True)
            continue
        try:
            converted = kruise.convert(one.document)
        except InvalidObject as error:
            raise CommandError(f"{one.title} cannot be converted: {error}", USAGE) from None
        made.append(converted.document)
        for note in converted.notes:
            say(f"note: {one.title}: {note}", error=True)
    if output == "json":
        printing.dump(made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made}, output)
        return
    program("---\n".join(printing.to_yaml(document) for document in made))
