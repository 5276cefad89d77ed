"""Limits on the size and depth of fields with an open schema: templates, patches and overrides.

A small object can expand to a large one: an override that copies a list into itself doubles it, so 24 of them turn two
kilobytes into a gigabyte. Therefore the limits apply to the expanded workloads too. They do not exceed those of API
servers.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 64
"""Maximum nesting of lists and objects in a workload, a patch or a value. Pod templates need about 15 levels."""
MAX_WORKLOAD_BYTES: Final = 1 << 20
"""Maximum size of a workload as JSON. API servers store objects of up to about 1.5 MiB."""
MAX_COPIED_BYTES: Final = 1 << 18
"""Maximum total size of what the copy operations of one subset copy."""
MAX_IGNORED_PATHS: Final = 32
"""Maximum number of paths in the annotation ignore-differences. Every workload is compared at each of them."""
MAX_IGNORED_PATH_LENGTH: Final = 256
"""Maximum length of one of these paths, in characters."""
MAX_RENDERED_BYTES: Final = 16 << 20
"""Maximum total size of the template, multiplied by the number of subsets, and all patches and overrides: what the
controller has to build after a change."""


def deeper_than(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more than ``levels`` deep, without recursion."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [child for node in layer for child in _children(node)]
        if not layer:
            return False
    return True


def size(value: Any) -> int:
    """Return the number of bytes of the value as JSON. It must not be nested deeper than :data:`MAX_DEPTH`."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"))


def mebibytes(count: int) -> str:
    """Format a number of bytes in MiB or KiB."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def _children(node: Any) -> Any:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list | tuple) else ()
