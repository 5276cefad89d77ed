"""The JSONPath dialect of printer columns and selectable fields: ``.status.conditions[?(@.type=="Ready")].status``.

:func:`compile_path` compiles an expression to a function that returns all matches, :func:`simple_path` a path of names
to a function that reads one field.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

Step = Callable[[Iterable[Any]], Iterable[Any]]

_NAME: Final = re.compile(r"(?:[^.\[\]\\(){}'\"@?*\s]|\\.)+")
_INDEX: Final = re.compile(r"\[\s*(-?\d*)\s*(:\s*(-?\d*)\s*(?::\s*(-?\d*)\s*)?)?\]")
_QUOTED: Final = re.compile(r"""\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]""")
_FILTER: Final = re.compile(r"\[\?\((.*?)\)\]", re.DOTALL)
_COMPARISON: Final = re.compile(r"^\s*(.+?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?$", re.DOTALL)


class JSONPathError(ValueError):
    """The expression is invalid."""


def compile_path(expression: str) -> Callable[[Any], list[Any]]:
    """A function from an object to the matches of ``expression``."""
    text = expression.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    steps = _steps(text.removeprefix("$"))

    def find(obj: Any) -> list[Any]:
        values: Iterable[Any] = (obj,)
        for step in steps:
            values = step(values)
        return list(values)

    return find


def simple_path(dotted: str) -> Callable[[Any], Any]:
    """A function that follows the names of ``dotted`` through maps; it returns None for a missing field."""
    names = tuple(name for name in dotted.split(".") if name)

    def get(obj: Any) -> Any:
        for name in names:
            if not isinstance(obj, dict):
                return None
            obj = obj.get(name)
        return obj

    return get


def _steps(text: str) -> list[Step]:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        step, position = _step(text, position)
        steps.append(step)
    return steps


def _step(text: str, position: int) -> tuple[Step, int]:
    if text.startswith("..", position):
        name = _NAME.match(text, position + 2)
        return (_descend, position + 2) if name is None else (_below(name.group()), name.end())
    if text.startswith((".*", "[*]"), position):
        return _wildcard, position + (2 if text[position] == "." else 3)
    if text[position] == ".":
        if position + 1 == len(text) or text[position + 1] == "[":
            return _same, position + 1
        name = _NAME.match(text, position + 1)
        if name is None:
            raise JSONPathError(f"unexpected character in {text[position:]!r}")
        return _field(re.sub(r"\\(.)", r"\1", name.group())), name.end()
    for pattern, make in ((_QUOTED, _quoted), (_INDEX, _index), (_FILTER, _filter)):
        match = pattern.match(text, position)
        if match is not None:
            return make(match), match.end()
    name = _NAME.match(text, position)
    if name is not None and position == 0:
        return _field(name.group()), name.end()
    raise JSONPathError(f"unrecognized character in {text[position:]!r}")


def _same(values: Iterable[Any]) -> Iterable[Any]:
    return values


def _wildcard(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _descend(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield value
        yield from _descend(_wildcard((value,)))


def _field(name: str) -> Step:
    def step(values: Iterable[Any]) -> Iterable[Any]:
        for value in values:
            if isinstance(value, dict) and name in value:
                yield value[name]

    return step


def _below(name: str) -> Step:
    field = _field(name)
    return lambda values: field(_descend(values))


def _quoted(match: re.Match[str]) -> Step:
    text = match[1] if match[1] is not None else match[2]
    return _field(re.sub(r"\\(.)", r"\1", text))


def _index(match: re.Match[str]) -> Step:
    start, is_slice, stop, stride = match.groups()
    if not is_slice and not start:
        raise JSONPathError("an array index is missing")
    chosen = (
        slice(int(start) if start else None, int(stop) if stop else None, int(stride) if stride else None)
        if is_slice
        else slice(int(start), int(start) + 1 or None)
    )

    def step(values: Iterable[Any]) -> Iterable[Any]:
        for value in values:
            if isinstance(value, list):
                yield from value[chosen]

    return step


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def _filter(match: re.Match[str]) -> Step:
    comparison = _COMPARISON.match(match[1])
    if comparison is None:
        raise JSONPathError(f"the filter {match[1]!r} cannot be read")
    left, operator, right = comparison.groups()
    find = _operand(left)
    other = _operand(right) if operator else None

    def matches(item: Any) -> bool:
        ours = find(item)
        if other is None:
            return bool(ours)
        theirs = other(item)
        if not ours or not theirs:
            return False
        try:
            return _OPERATORS[operator](ours[0], theirs[0])
        except TypeError:
            return False

    def step(values: Iterable[Any]) -> Iterable[Any]:
        for value in values:
            if isinstance(value, list):
                yield from (item for item in value if matches(item))

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text.startswith("@"):
        return compile_path(text[1:]) if len(text) > 1 else lambda item: [item]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        constant: Any = text[1:-1]
    elif text in {"true", "false"}:
        constant = text == "true"
    else:
        try:
            constant = float(text) if "." in text else int(text)
        except ValueError:
            raise JSONPathError(f"the operand {text!r} cannot be read") from None
    return lambda _item: [constant]
