"""Reads the objects of manifests from files, directories and standard input."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment_api import names

_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN = "-"


class _Loader(yaml.SafeLoader):
    """Keeps dates as text, since manifests are converted to JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object and the file that it comes from."""

    file: str
    document: dict[str, Any]

    @property
    def kind(self) -> str:
        kind = self.document.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def title(self) -> str:
        """The kind and the name, for messages."""
        metadata = self.document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{self.kind or 'object'} {name if isinstance(name, str) and name else '(without a name)'}"


def read(files: Sequence[str], *, recursive: bool = False) -> list[Manifest]:
    """The objects of all documents of all files, including the items of Lists.

    ``-`` is standard input. A directory stands for its manifest files in the order of their names, including those of
    subdirectories if ``recursive``. Raises CommandError.
    """
    objects: list[Manifest] = []
    for file in _files(files, recursive=recursive):
        objects += [Manifest(_source(file), obj) for document in _documents(file) for obj in _objects(file, document)]
    return objects


def united_deployments(files: Sequence[str], *, recursive: bool = False) -> list[Manifest]:
    """The manifests of UnitedDeployments; other objects are skipped. Raises CommandError if there are none."""
    applications = [
        manifest for manifest in read(files, recursive=recursive) if manifest.kind == names.UNITED_DEPLOYMENT_KIND
    ]
    for manifest in applications:
        version = manifest.document.get("apiVersion")
        if version != names.API_VERSION:
            hint = "; ud convert converts manifests of OpenKruise" if "kruise" in str(version) else ""
            raise CommandError(
                f"{manifest.file}: {manifest.title} has apiVersion {version}, not {names.API_VERSION}{hint}", USAGE
            )
        metadata = manifest.document.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise CommandError(f"{manifest.file}: {manifest.title}: metadata.name: required", USAGE)
    if not applications:
        raise CommandError(f"no {names.UNITED_DEPLOYMENT_KIND} in {', '.join(map(_source, files))}", USAGE)
    return applications


def _files(files: Sequence[str], *, recursive: bool) -> list[str]:
    if files.count(_STDIN) > 1:
        raise CommandError("standard input can be read only once", USAGE)
    expanded: list[str] = []
    for file in files:
        if file.startswith(("http://", "https://")):
            raise CommandError(f"{file}: URLs are not supported; use curl {file} | ud ... -f -", USAGE)
        path = Path(file)
        if file == _STDIN or not path.is_dir():
            expanded.append(file)
            continue
        inside = path.rglob("*") if recursive else path.iterdir()
        manifests = sorted(str(entry) for entry in inside if entry.suffix in _SUFFIXES and entry.is_file())
        if not manifests:
            raise CommandError(f"{file} contains no files that end with {', '.join(_SUFFIXES)}", USAGE)
        expanded += manifests
    return expanded


def _source(file: str) -> str:
    """What messages call a file."""
    return "standard input" if file == _STDIN else file


def _documents(file: str) -> list[Any]:
    try:
        text = sys.stdin.read() if file == _STDIN else Path(file).read_text(encoding="utf-8-sig")
        loaded = yaml.load_all(text, Loader=_Loader)  # it is a SafeLoader
        return [document for document in loaded if document is not None]
    except OSError as error:
        raise CommandError(f"cannot read {_source(file)}: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{_source(file)} is not UTF-8 text", USAGE) from None
    except (yaml.YAMLError, ValueError) as error:
        raise CommandError(f"{_source(file)} is not YAML: {' '.join(str(error).split())}", USAGE) from None
    except RecursionError:
        raise CommandError(f"{_source(file)} is nested too deeply", USAGE) from None


def _objects(file: str, document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict):
        raise CommandError(f"{_source(file)} contains a document that is not an object", USAGE)
    items, kind = document.get("items"), document.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        return [document]
    if not all(isinstance(item, dict) for item in items):
        raise CommandError(f"{_source(file)} contains a {kind} with an item that is not an object", USAGE)
    return items
