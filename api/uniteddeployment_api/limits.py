"""How large and how deep may be what the schema of the definitions leaves open: templates, patches and overrides.

A small object can stand for a large one: an override that copies a list into itself doubles it, and 24 of them make a
gigabyte of two kilobytes. So what is made of an object has limits, too. They are those of API servers, or below them.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 64
"""Levels of lists and objects, from the root of a workload, a patch or a value. Pod templates need about 15."""
MAX_WORKLOAD_BYTES: Final = 1 << 20
"""The size of a workload as JSON. API servers store about 1.5 MiB of an object."""
MAX_COPIED_BYTES: Final = 1 << 18
"""What the copy operations of one subset may copy together."""
MAX_RENDERED_BYTES: Final = 16 << 20
"""The template, its patch and its overrides, for all subsets together: so much is built when any of it changes."""


def deeper_than(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than that. Does not recurse, whatever the value is."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [child for node in layer for child in _children(node)]
        if not layer:
            return False
    return True


def size(value: Any) -> int:
    """Bytes as JSON. The value may not be deeper than :data:`MAX_DEPTH`."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"))


def mebibytes(count: int) -> str:
    """A size in words."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def _children(node: Any) -> Any:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list | tuple) else ()
