"""Paths of single fields of an object, a small part of JSONPath: ``.status.phase``, ``.items[0]['a.b']``.

>>> value({"status": {"items": [{"a.b": 3}]}}, steps(".status.items[0]['a.b']"))
3
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_STEP: Final = re.compile(r"\.([A-Za-z0-9_/-]+)|\[([0-9]{1,6})\]|\['([^']{1,253})'\]")

Step = str | int


class InvalidPath(ValueError):  # noqa: N818  # named like InvalidObject
    """A text that is not a path; the message says where it ends to be one."""


def steps(path: str) -> tuple[Step, ...]:
    """Return the keys and indexes of a path; braces around it, as kubectl accepts them, are removed.

    Raises InvalidPath.
    """
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    found: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise InvalidPath(f"cannot be read at character {at + 1}; use steps such as .name, [0] and ['a.b']")
        key, index, quoted = match.groups()
        found.append(int(index) if index is not None else key or quoted)
        at = match.end()
    if not found:
        raise InvalidPath("must name a field, such as .status.phase")
    return tuple(found)


def value(obj: Any, path: Sequence[Step]) -> Any:
    """Return the value of the field. Raises KeyError if there is none."""
    node = obj
    for step in path:
        if not _has(node, step):
            raise KeyError(step)
        node = node[step]
    return node


def _has(node: Any, step: Step) -> bool:
    if isinstance(step, str):
        return isinstance(node, Mapping) and step in node
    return isinstance(node, list | tuple) and step < len(node)
