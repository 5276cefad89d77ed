"""JSON bodies, with the syntax errors of Go's decoder."""

import re
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery import nesting
from uniteddeployment.embedded.apimachinery.json_document import document

_decode = msgspec.json.Decoder().decode

_COLONS: Final = re.compile(rb'"\s*:')
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_HEX: Final = re.compile(rb"[0-9a-fA-F]{0,4}")
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?P<fraction>\.[0-9]*)?(?P<exponent>[eE][+-]?[0-9]*)?")
_LITERALS: Final = (b"true", b"false", b"null")
_EOF: Final = "unexpected end of JSON input"


def parse_json(body: bytes) -> Any:
    """Any JSON value. Raises ValueError with the message of Go's decoder."""
    nesting.check_json(body)
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(json_error(body)) from error


def repeated(body: bytes, value: Any) -> Any:
    """The document of a body with duplicate fields; None if there are none, which is cheap to find out."""
    return document(body) if len(_COLONS.findall(body)) > _keys(value) else None


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(item) for item in value.values() if isinstance(item, (dict, list)))
    if isinstance(value, list):
        return sum(_keys(item) for item in value if isinstance(item, (dict, list)))
    return 0


class _MistakeError(Exception):
    """The first invalid byte; None if the text ends early."""

    def __init__(self, byte: int | None = None, where: str = "") -> None:
        super().__init__(_EOF if byte is None else f"invalid character {_quoted(byte)} {where}")


def _quoted(byte: int) -> str:
    """A byte in Go's messages."""
    char = chr(byte)
    if char in "'\"":
        return "'\\''" if char == "'" else "'\"'"
    escapes = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}
    escape = f"\\u{byte:04x}" if byte >= 0x80 else f"\\x{byte:02x}"
    shown = char if char.isprintable() and char not in escapes else escapes.get(char, escape)
    return f"'{shown}'"


def json_error(body: bytes) -> str:
    """Go's error message for a body that is not valid JSON."""
    try:
        _scan(body)
    except _MistakeError as mistake:
        return str(mistake)
    return "invalid UTF-8 in string"


def _scan(body: bytes) -> None:
    """Read a text up to its first syntax error."""
    open_: list[int] = []
    position = _value(body, 0, open_)
    empty = bool(open_)
    while open_:
        in_object = open_[-1] == ord("{")
        position = _skip(body, position)
        byte = _byte(body, position)
        if byte == ord("}" if in_object else "]"):
            open_.pop()
            position, empty = position + 1, False
            continue
        if not empty:
            if byte != ord(","):
                raise _MistakeError(byte, "after object key:value pair" if in_object else "after array element")
            position = _skip(body, position + 1)
        if in_object:
            position = _key(body, position)
        depth = len(open_)
        position = _value(body, position, open_)
        empty = len(open_) > depth
    position = _skip(body, position)
    if position < len(body):
        raise _MistakeError(body[position], "after top-level value")


def _skip(body: bytes, position: int) -> int:
    match = _SPACE.match(body, position)
    return match.end() if match else position


def _byte(body: bytes, position: int) -> int:
    if position >= len(body):
        raise _MistakeError
    return body[position]


def _key(body: bytes, position: int) -> int:
    """Read a key and its colon."""
    byte = _byte(body, position)
    if byte != ord('"'):
        raise _MistakeError(byte, "looking for beginning of object key string")
    position = _skip(body, _string(body, position))
    byte = _byte(body, position)
    if byte != ord(":"):
        raise _MistakeError(byte, "after object key")
    return position + 1


def _value(body: bytes, position: int, open_: list[int]) -> int:
    """Read a value. Of an object or a list it reads only the bracket, and makes it the innermost open one."""
    position = _skip(body, position)
    byte = _byte(body, position)
    if byte in b"{[":
        open_.append(byte)
        return position + 1
    if byte == ord('"'):
        return _string(body, position)
    if byte in b"-0123456789":
        return _number(body, position)
    for literal in _LITERALS:
        if byte == literal[0]:
            return _literal(body, position, literal)
    raise _MistakeError(byte, "looking for beginning of value")


def _string(body: bytes, position: int) -> int:
    match = _STRING.match(body, position)
    end = match.end() if match else position
    byte = _byte(body, end)
    if byte == ord('"'):
        return end + 1
    if byte != ord("\\"):
        raise _MistakeError(byte, "in string literal")
    byte = _byte(body, end + 1)
    if byte != ord("u"):
        raise _MistakeError(byte, "in string escape code")
    digits = _HEX.match(body, end + 2)
    raise _MistakeError(_byte(body, digits.end() if digits else end + 2), "in \\u hexadecimal character escape")


def _number(body: bytes, position: int) -> int:
    match = _NUMBER.match(body, position)
    text = match[0] if match else b""
    end = position + len(text)
    where = ""
    if text == b"-":
        where = "in numeric literal"
    elif text.endswith(b"."):
        where = "after decimal point in numeric literal"
    elif text[-1:] in b"eE" or (text[-1:] in b"+-" and text[-2:-1] in b"eE"):
        where = "in exponent of numeric literal"
    if where:
        # At the end of a text the real scanner reads a space.
        raise _MistakeError(body[end] if end < len(body) else ord(" "), where)
    return end


def _literal(body: bytes, position: int, literal: bytes) -> int:
    for offset, wanted in enumerate(literal):
        byte = _byte(body, position + offset)
        if byte != wanted:
            raise _MistakeError(byte, f"in literal {literal.decode()} (expecting {_quoted(wanted)})")
    return position + len(literal)
