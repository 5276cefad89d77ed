"""Manifests as they come from files: the objects in them, one after the other."""

import sys
from pathlib import Path
from typing import Any

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError


class _Loader(yaml.SafeLoader):
    """Dates stay text, as in JSON, which manifests are made into."""


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(file: Path) -> list[dict[str, Any]]:
    """The objects of all documents of a file (``-`` is standard input), those in a List too. Raises CommandError."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        loaded = yaml.load_all(text, Loader=_Loader)  # it is a SafeLoader
        documents = [one for one in loaded if one is not None]
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not text", USAGE) from None
    except yaml.YAMLError as error:
        raise CommandError(f"{file} is not YAML: {' '.join(str(error).split())}", USAGE) from None
    objects: list[dict[str, Any]] = []
    for document in documents:
        if not isinstance(document, dict):
            raise CommandError(f"{file} has a document that is not an object", USAGE)
        items = document.get("items")
        is_list = document.get("kind") == "List" and isinstance(items, list)
        objects += [one for one in items or () if isinstance(one, dict)] if is_list else [document]
    return objects
