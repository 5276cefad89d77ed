"""How commands write: tables for people, JSON and YAML for programs."""

import json
import re
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from uniteddeployment.cli.errors import USAGE, CommandError


def check_output(output: str, allowed: tuple[str, ...]) -> None:
    """Raises CommandError for an ``--output`` that the command does not know."""
    if output not in ("", *allowed):
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise CommandError(f"--output must be {listed}, not {output!r}", USAGE)


def console() -> Console:
    """Not a terminal: wide enough for every column, so that what is piped is never cut."""
    found = Console()
    return found if found.is_terminal else Console(width=240, soft_wrap=True)


def table(
    columns: tuple[str, ...], *, right: frozenset[str] = frozenset(), wrap: frozenset[str] = frozenset()
) -> Table:
    """A table in the manner of kubectl. Only the columns of ``wrap`` go over several lines where there is no room."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column not in wrap)
    return made


def to_yaml(document: Any) -> str:
    """As people write it: fields in the order they were given in, nothing by reference."""
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=120)


def dump(document: Any, output: str) -> None:
    """Print a document for programs: no wrapping, no colour."""
    text = json.dumps(document, indent=2) if output == "json" else to_yaml(document)
    print(text.rstrip())  # noqa: T201


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
