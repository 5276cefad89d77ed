"""Output for programs: JSON, and YAML that kubectl reads back as it was meant."""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.terminal import program
from uniteddeployment_api import names


def check_output(output: str, allowed: tuple[str, ...]) -> None:
    """Raise CommandError if ``--output`` is neither empty nor among the formats that the command supports."""
    if output not in ("", *allowed):
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise CommandError(f"--output must be {listed}, not {output!r}", USAGE)


def to_yaml(document: Any) -> str:
    """YAML with the fields in their order and without anchors."""
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=120)


def dump(document: Any, output: str) -> None:
    """Print a document as ``json`` or ``yaml``. Both formats escape control characters."""
    program(json.dumps(document, indent=2) if output == "json" else to_yaml(document))


def dump_all(documents: list[Any], output: str) -> None:
    """Print several documents: as a List in JSON, as a stream in YAML. A single document is printed as it is."""
    if output == "json":
        dump(documents[0] if len(documents) == 1 else as_list(documents), output)
    else:
        program("---\n".join(to_yaml(document) for document in documents))


def complete(document: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """An object of this project without managedFields, and with its kind, which items of a list lack."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return {"apiVersion": names.API_VERSION, "kind": kind, **document, "metadata": metadata}


def as_list(items: list[Any]) -> dict[str, Any]:
    """A List in the way that kubectl prints several objects."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


class _Plain(yaml.SafeDumper):
    """Without anchors: a manifest may have the same value in several places."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # yaml's own signature
        return True


# Quote what kubectl would read as a number or a boolean and PyYAML would not: 1e3, 0o17, y.
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
_Plain.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?0o[0-7_]+$"), list("-+0"))
_Plain.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
