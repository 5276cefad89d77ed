"""YAML bodies, with the types of JSON and the limit on nesting."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from uniteddeployment.embedded.apimachinery.nesting import MAX_DEPTH, NestingError, check_value
from uniteddeployment.embedded.requests.json_body import parse_json, repeated

MISTAKES: Final = "yaml: unmarshal errors:\n  "
"""The first line of a message about invalid values; each error has a line of its own."""
TO_JSON: Final = "error converting YAML to JSON: "

_PREFIX: Final = re.compile(rb"(?:^|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])([ \t?\-\xef\xbb\xbf]+)")
"""The characters before the content of a line: block collections can begin only here."""

_SCALARS: Final = (
    ("bool", r"y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
     "-+0123456789."),
)  # fmt: skip
"""Plain scalars that are not strings, as in the real server's parser: no dates, and no base-60 numbers."""


def _loader() -> type[yaml.SafeLoader]:
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # which base there is depends on how PyYAML was built
        bool_values = {**base.bool_values, "y": True, "n": False}  # noqa: RUF012  # declared by PyYAML

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:  # as in PyYAML
            self.flatten_mapping(node)
            return {
                _text(self.construct_object(key, deep=True)): self.construct_object(value, deep=deep)
                for key, value in node.value
            }

    kept = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in kept]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    for name, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"(?:{pattern})$"), list(first))
    return Loader


_Loader = _loader()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A value, and its duplicate keys (``line 5: key "a" already set in map``)."""

    value: Any
    repeated: tuple[str, ...] = ()


def load(body: bytes) -> Loaded:
    """The first document of a text. Raises ValueError with the real server's message (``yaml: ...``).

    JSON, which most clients send as YAML, is decoded directly.
    """
    if body[:1] == b"{":
        try:
            value = parse_json(body)
        except ValueError:
            return _load(body)
        if repeated(body, value) is None:
            return Loaded(value)
    return _load(body)


def _load(body: bytes) -> Loaded:
    try:
        _check_nesting(body)
        loader = _Loader(body)
        try:
            node = loader.get_node() if loader.check_node() else None
            if node is None:
                return Loaded(None)
            repeated = tuple(_repeated(node, set()))
            value = loader.construct_document(node)
        finally:
            loader.dispose()
        if b"*" in body:
            check_value(value)
        return Loaded(value, repeated)
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"yaml: {_line(error)}{error.problem}") from error
    except (yaml.YAMLError, NestingError, ValueError) as error:
        raise ValueError(f"yaml: {error}") from error


def _line(error: yaml.MarkedYAMLError) -> str:
    """The line of an error; the real server's parser counts from 0, except for invalid characters."""
    mark = error.problem_mark
    line = (mark.line if mark else 0) + isinstance(error, yaml.scanner.ScannerError)
    return f"line {line}: " if line else ""


def _repeated(node: yaml.Node, visited: set[int]) -> Iterator[str]:
    """The duplicate keys of a mapping, in the order of the text. Anchored nodes are visited once."""
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[tuple[str, str]] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    shown = json.dumps(key.value) if key.tag.endswith(":str") else key.value
                    yield f"line {key.start_mark.line + 1}: key {shown} already set in map"
                seen.add((key.tag, key.value))
            yield from _repeated(value, visited)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item, visited)


def _text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float):
        return json.dumps(key)
    raise ValueError(f"Unsupported map key of type: {type(key).__name__}")


def _check_nesting(body: bytes) -> None:
    """Check a body before it is loaded: the loader recurses in C, where too many levels crash the process.

    The parser's events are exact but slow. They are needed only if a cheap upper bound exceeds the limit.
    """
    if b"\0" not in body and _bound(body) <= MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(body, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise NestingError(f"exceeded max depth of {MAX_DEPTH}")


def _bound(body: bytes) -> int:
    """An upper bound of the levels of UTF-8 text: two per column of indentation, and one per bracket."""
    prefix = max(map(len, _PREFIX.findall(body)), default=0)
    return 2 * (prefix + 1) + body.count(b"[") + body.count(b"{")
