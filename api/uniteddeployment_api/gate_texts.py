"""Variables in texts of gates, such as ``{{revision}}`` and ``{{args.service}}``.

>>> filled('up{version="{{revision}}", job="{{args.job}}"}', {"revision": "a1", "args.job": "web"})
'up{version="a1", job="web"}'
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

VARIABLES: Final = frozenset({"cluster", "subset", "revision", "stableRevision", "namespace", "name"})
"""Names of the variables beside the arguments."""
ARGS: Final = "args."
"""Prefix of the arguments."""

_VARIABLE: Final = re.compile(r"\{\{([^{}]*)\}\}")


def variables(text: str) -> tuple[str, ...]:
    """Return the names of the variables in a text."""
    return tuple(name.strip() for name in _VARIABLE.findall(text))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its variables replaced. Raises KeyError for a variable that has no value."""
    return _VARIABLE.sub(lambda found: values[found.group(1).strip()], text)


def filled_all(node: Any, values: Mapping[str, str]) -> Any:
    """Return a JSON value with the variables in all its texts replaced, but not those in keys. Raises KeyError."""
    if isinstance(node, str):
        return filled(node, values)
    if isinstance(node, Mapping):
        return {key: filled_all(value, values) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [filled_all(value, values) for value in node]
    return node


def texts(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the value of each text in a JSON value."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            yield from texts(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            yield from texts(value, f"{path}[{index}]")
