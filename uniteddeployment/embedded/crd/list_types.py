"""Uniqueness of items in lists that are sets or maps."""

import json
from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.field_errors import Path
from uniteddeployment.embedded.crd.structural import Node
from uniteddeployment.embedded.errors import Cause

Check = Callable[[Any, Path, list[Cause]], None]


def compile_list_types(node: Node) -> Check | None:
    """The function that finds duplicates in all lists of a value; None if the schema has no such lists."""
    children = {name: inner for name, sub in node.properties.items() if (inner := compile_list_types(sub))}
    entry = compile_list_types(node.additional) if node.additional else None
    item = compile_list_types(node.items) if node.items else None
    own = _duplicates(node)
    if not (children or entry or item or own):
        return None

    def check(value: Any, path: Path, errors: list[Cause]) -> None:
        if type(value) is dict:
            for key, below in value.items():
                inner = children.get(key)
                if inner is not None:
                    inner(below, (path, f".{key}"), errors)
                elif entry is not None:
                    entry(below, (path, f"[{key}]"), errors)
        elif type(value) is list:
            if own is not None:
                own(value, path, errors)
            if item is not None:
                for index, below in enumerate(value):
                    item(below, (path, f"[{index}]"), errors)

    return check


def _duplicates(node: Node) -> Check | None:
    """The check of one list: items of a set compare as a whole, those of a map by their keys."""
    if node.list_type not in {"set", "map"}:
        return None
    keys = node.map_keys if node.list_type == "map" else None

    def check(value: list[Any], path: Path, errors: list[Cause]) -> None:
        seen: set[str] = set()
        reported: set[str] = set()
        for index, entry in enumerate(value):
            if keys is None:
                shown = entry
            elif type(entry) is dict:
                shown = {key: entry[key] for key in sorted(keys) if key in entry}
            else:
                continue
            text = json.dumps(shown, sort_keys=True)
            if text in seen and text not in reported:
                reported.add(text)
                errors.append(fe.duplicate((path, f"[{index}]"), shown))
            seen.add(text)

    return check
