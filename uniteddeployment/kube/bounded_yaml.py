"""Loads untrusted YAML within bounds: no anchors, aliases and tags, and a limited size, depth and number of values.

A few hundred bytes with aliases can expand to gigabytes, and the usual loader builds all of them. So the events of the
parser are checked first, which builds nothing, and only a document within the bounds is loaded.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 32
MAX_NODES: Final = 20_000
_PLAIN_TAGS: Final = tuple(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BoundsError(ValueError):
    """The reason why a text is not loaded. It quotes nothing of the text, which may be a secret."""


class _Loader(_Base):  # type: ignore[misc]  # the base is chosen when this is imported
    """Loads only the types of JSON. Dates, for example, stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _PLAIN_TAGS]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}


def load(data: bytes, *, max_bytes: int) -> Any:
    """The value of an untrusted document. Raises BoundsError."""
    if len(data) > max_bytes:
        raise BoundsError(f"is larger than {max_bytes >> 10} KiB")
    with _errors_as_bounds():
        _check(data)
    return load_trusted(data)


def load_trusted(data: bytes) -> Any:
    """The value of a document without limits, such as a file of the user. Raises BoundsError if it is not YAML."""
    with _errors_as_bounds():
        return yaml.load(data, Loader=_Loader)  # noqa: S506  # a SafeLoader with fewer types


@contextlib.contextmanager
def _errors_as_bounds() -> Iterator[None]:
    try:
        yield
    except BoundsError:
        raise
    except yaml.YAMLError as error:
        raise BoundsError(f"is not YAML{_line(getattr(error, 'problem_mark', None))}") from None
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise BoundsError("is not YAML: it has an unreadable value") from None


def _check(data: bytes) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(data, Loader=_Loader)):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BoundsError(f"has an anchor or an alias{_line(event.start_mark)}: write the value in full")
        if getattr(event, "tag", None) is not None:
            raise BoundsError(f"has a tag{_line(event.start_mark)}: plain values only")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BoundsError(f"is nested deeper than {MAX_DEPTH} levels")
        if count > MAX_NODES:
            raise BoundsError(f"has more than {MAX_NODES} values")


def _line(mark: Any) -> str:
    return "" if mark is None else f" (line {mark.line + 1})"
