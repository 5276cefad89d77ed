"""What commands write for programs: JSON, and YAML that kubectl reads as it was meant."""

import json
import re
from typing import Any

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.terminal import program


def check_output(output: str, allowed: tuple[str, ...]) -> None:
    """Raises CommandError for an ``--output`` that the command does not know."""
    if output not in ("", *allowed):
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise CommandError(f"--output must be {listed}, not {output!r}", USAGE)


def to_yaml(document: Any) -> str:
    """As people write it: fields in the order they were given in, nothing by reference."""
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=120)


def dump(document: Any, output: str) -> None:
    """Print a document. Both formats escape control characters."""
    program(json.dumps(document, indent=2) if output == "json" else to_yaml(document))


class _Plain(yaml.SafeDumper):
    """Without anchors: manifests have the same value in several places and mean nothing by it."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # yaml's own signature
        return True


# Texts that kubectl would read as something else are quoted, also where this library would not: 1e3, 0o17, y.
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
_Plain.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?0o[0-7_]+$"), list("-+0"))
_Plain.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))
