"""Manifests as they come from files, folders and standard input: the objects in them, one after the other."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError

_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN = "-"


class _Loader(yaml.SafeLoader):
    """Dates stay text, as in JSON, which manifests are made into."""


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and the file that it is from."""

    file: str
    document: dict[str, Any]

    @property
    def kind(self) -> str:
        found = self.document.get("kind")
        return found if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        """How messages call it."""
        metadata = self.document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{self.kind or 'object'} {name if isinstance(name, str) and name else '(without a name)'}"


def read(files: Sequence[str], *, recursive: bool = False) -> list[Manifest]:
    """The objects of all documents of all files, those in a List too.

    ``-`` is standard input. Of a folder these are its files with manifests, in the order of their names; of the
    folders in it only with ``recursive``. Raises CommandError.
    """
    found: list[Manifest] = []
    for file in _files(files, recursive=recursive):
        found += [Manifest(file, one) for document in _documents(file) for one in _objects(file, document)]
    return found


def _files(files: Sequence[str], *, recursive: bool) -> list[str]:
    if files.count(_STDIN) > 1:
        raise CommandError("standard input can be read only once", USAGE)
    made: list[str] = []
    for file in files:
        if file.startswith(("http://", "https://")):
            raise CommandError(f"{file}: URLs are not read; use curl {file} | ud … -f -", USAGE)
        path = Path(file)
        if file == _STDIN or not path.is_dir():
            made.append(file)
            continue
        inside = path.rglob("*") if recursive else path.iterdir()
        manifests = sorted(str(one) for one in inside if one.suffix in _SUFFIXES and one.is_file())
        if not manifests:
            raise CommandError(f"{file} has no files that end with {', '.join(_SUFFIXES)}", USAGE)
        made += manifests
    return made


def _documents(file: str) -> list[Any]:
    try:
        text = sys.stdin.read() if file == _STDIN else Path(file).read_text(encoding="utf-8-sig")
        loaded = yaml.load_all(text, Loader=_Loader)  # it is a SafeLoader
        return [one for one in loaded if one is not None]
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not text in UTF-8", USAGE) from None
    except (yaml.YAMLError, ValueError) as error:
        raise CommandError(f"{file} is not YAML: {' '.join(str(error).split())}", USAGE) from None
    except RecursionError:
        raise CommandError(f"{file} is nested too deeply", USAGE) from None


def _objects(file: str, document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict):
        raise CommandError(f"{file} has a document that is not an object", USAGE)
    items, kind = document.get("items"), document.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        return [document]
    if not all(isinstance(one, dict) for one in items):
        raise CommandError(f"{file} has a {kind} with an item that is not an object", USAGE)
    return items
