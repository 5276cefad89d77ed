"""String functions: the CEL extension library and Kubernetes' regular expressions."""

from datetime import datetime, timedelta
from typing import Any, Final

from uniteddeployment.embedded.crd.cel.functions import function
from uniteddeployment.embedded.crd.cel.operators import pattern_of, to_string
from uniteddeployment.embedded.crd.cel.values import CelError, NoOverloadError, is_number

_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise NoOverloadError


@function("startsWith", "string.(string) bool")
def starts_with(text: Any, prefix: Any) -> bool:
    return _text(text).startswith(_text(prefix))


@function("endsWith", "string.(string) bool")
def ends_with(text: Any, suffix: Any) -> bool:
    return _text(text).endswith(_text(suffix))


@function("contains", "string.(string) bool")
def contains(text: str, part: str) -> bool:
    return str.__contains__(text, part)


@function("charAt", "string.(int) string")
def char_at(text: Any, index: int) -> str:
    if not 0 <= index <= len(_text(text)):
        raise CelError(f"index out of range: {index}")
    return _text(text)[index : index + 1]


def _offset(text: str, offset: int) -> int:
    if not 0 <= offset <= len(text):
        raise CelError(f"index out of range: {offset}")
    return offset


@function("indexOf", "string.(string) int | string.(string,int) int")
def index_of(text: str, part: str, offset: int = 0) -> int:
    return str.find(text, part, _offset(text, offset))


@function("lastIndexOf", "string.(string) int | string.(string,int) int")
def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return str.rfind(text, part)
    return str.rfind(text, part, 0, _offset(text, offset) + len(part))


@function("lowerAscii", "string.() string")
def lower_ascii(text: Any) -> str:
    return _text(text).translate(_LOWER)


@function("upperAscii", "string.() string")
def upper_ascii(text: Any) -> str:
    return _text(text).translate(_UPPER)


@function("replace", "string.(string,string) string | string.(string,string,int) string")
def replace(text: Any, old: str, new: str, limit: int = -1) -> str:
    return _text(text).replace(old, new, limit)


@function("split", "string.(string) list<string> | string.(string,int) list<string>")
def split(text: Any, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        pieces = list(_text(text))
        return pieces if limit < 0 or limit >= len(pieces) else [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]
    return _text(text).split(separator, limit - 1 if limit > 0 else -1)


@function("substring", "string.(int) string | string.(int,int) string")
def substring(text: Any, start: int, end: int | None = None) -> str:
    stop = len(_text(text)) if end is None else end
    _offset(text, start)
    _offset(text, stop)
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return _text(text)[start:stop]


@function("trim", "string.() string")
def trim(text: Any) -> str:
    return _text(text).strip()


@function("join", "list<string>.() string | list<string>.(string) string")
def join(items: Any, separator: str = "") -> str:
    if type(items) is not list:
        raise NoOverloadError
    return separator.join(_text(item) for item in items)


@function("strings.quote", "(string) string")
def quote(text: Any) -> str:
    escapes = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    escapes |= {"\\": "\\\\", '"': '\\"'}
    return '"' + "".join(escapes.get(character, character) for character in _text(text)) + '"'


# Regular expressions


@function("find", "string.(string) string")
def find(text: Any, pattern: str) -> str:
    match = pattern_of(pattern).search(_text(text))
    return match.group() if match is not None else ""


@function("findAll", "string.(string) list<string> | string.(string,int) list<string>")
def find_all(text: Any, pattern: str, limit: int = -1) -> list[str]:
    matches = [match.group() for match in pattern_of(pattern).finditer(_text(text))]
    return matches if limit < 0 else matches[:limit]


# Formatting


@function("format", "string.(list<dyn>) string")
def format_text(text: Any, args: list[Any]) -> str:
    """``"%s is %d".format([a, b])``"""
    out: list[str] = []
    rest = iter(args)
    template = _text(text)
    position = 0
    while position < len(template):
        character = template[position]
        position += 1
        if character != "%":
            out.append(character)
            continue
        precision, position = _precision(template, position)
        if position >= len(template):
            raise CelError("unexpected end of string")
        verb = template[position]
        position += 1
        if verb == "%":
            out.append("%")
            continue
        try:
            value = next(rest)
        except StopIteration:
            raise CelError(f"index {len(args)} out of range") from None
        out.append(_formatted(verb, value, precision))
    return "".join(out)


def _precision(template: str, position: int) -> tuple[int, int]:
    if template[position : position + 1] != ".":
        return 6, position
    end = position + 1
    while end < len(template) and template[end].isdigit():
        end += 1
    return int(template[position + 1 : end] or 0), end


def _formatted(verb: str, value: Any, precision: int) -> str:
    if verb == "s":
        return _shown(value)
    if verb in "fe" and is_number(value):
        return f"{float(value):.{precision}{verb}}"
    if verb in "dbox" and type(value) is int:
        return format(value, verb)
    if verb == "X" and type(value) is int:
        return format(value, "X")
    if verb == "b" and type(value) is bool:
        return str(int(value))
    if verb in "xX" and isinstance(value, str | bytes):
        text = (value.encode() if isinstance(value, str) else value).hex()
        return text.upper() if verb == "X" else text
    raise CelError(f'error during formatting: unrecognized formatting clause "{verb}"')


def _shown(value: Any) -> str:
    if isinstance(value, str | bool | int | float | bytes | datetime | timedelta):
        return to_string(value)
    if isinstance(value, list):
        return f"[{', '.join(_shown(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value[key])}" for key in sorted(value)) + "}"
    return "null" if value is None else str(value)
