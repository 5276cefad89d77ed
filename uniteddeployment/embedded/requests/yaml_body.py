"""YAML bodies, with the types of JSON and the limit on nesting."""

import re
from typing import Any, Final

import yaml

from uniteddeployment.embedded.apimachinery.nesting import MAX_DEPTH, NestingError, check_value

_PREFIX: Final = re.compile(rb"(?:^|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])([ \t?\-\xef\xbb\xbf]+)")
"""What precedes the content of a line: block collections begin here and nowhere else."""


def _loader() -> type[yaml.SafeLoader]:
    """A safe loader without dates: a manifest means the text that it contains."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # which base there is depends on how PyYAML was built
        pass

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return Loader


_Loader = _loader()


def parse_yaml(body: bytes) -> Any:
    """Any value in YAML (of which JSON is a part). Raises ValueError with the message of the real server's parser."""
    try:
        _check_nesting(body)
        value = yaml.load(body, Loader=_Loader)  # noqa: S506  # derived from the safe loader
        if b"*" in body:
            check_value(value)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"error converting YAML to JSON: yaml: line {line}: {error.problem}") from error
    except (yaml.YAMLError, NestingError) as error:
        raise ValueError(f"error converting YAML to JSON: yaml: {error}") from error
    return value


def _check_nesting(body: bytes) -> None:
    """Check a body before it is loaded: the loader recurses in C, where too many levels end the process.

    The events of the parser are exact and slow. They are needed only if a bound that is cheap exceeds the limit.
    """
    if b"\0" not in body and _bound(body) <= MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(body, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise NestingError(f"exceeded max depth of {MAX_DEPTH}")


def _bound(body: bytes) -> int:
    """The most levels that UTF-8 text can have: two per column of indentation, and one per bracket."""
    prefix = max(map(len, _PREFIX.findall(body)), default=0)
    return 2 * (prefix + 1) + body.count(b"[") + body.count(b"{")
