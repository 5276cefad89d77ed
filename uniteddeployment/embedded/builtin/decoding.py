"""Decoding as in the real server: unknown fields are dropped, empty ones are left out, values are normalized.

Contract: :func:`conform` works in place and returns the errors of strict decoding. A value that cannot be decoded
raises :class:`DecodeError`. Quantities and times get their canonical form, nulls are removed (or become the zero value
inside lists and maps), and fields that the real server always writes are added. The operation is idempotent.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.json_document import Document, complaint, distinct
from uniteddeployment.embedded.apimachinery.quantity import QuantityError, canonical
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.shapes import Field, Shape
from uniteddeployment.embedded.errors import StatusError

_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_MAX_INT = {32: 2**31 - 1, 64: 2**63 - 1}

_WALKED: Final = frozenset({shapes.STRUCT, shapes.MAP, shapes.ANY})
"""Tags of values that have fields of their own."""

_DROP: Final = object()
"""Marks a value that is left out because it is empty."""


class DecodeError(StatusError):
    """A body that cannot be decoded as its kind. ``detail`` is the text in errors of patches."""

    def __init__(self, kind: str, version: str, detail: str) -> None:
        super().__init__(400, "BadRequest", f'{kind} in version "{version}" cannot be handled as a {kind}: {detail}')
        self.detail = detail


class _MismatchError(Exception):
    """A value of the wrong JSON type. The innermost surrounding struct adds its name and the path."""

    def __init__(self, json_type: str, go: str) -> None:
        super().__init__(json_type)
        self.json_type = json_type
        self.go = go
        self.where = ""


class _MalformedError(Exception):
    """A value with a text format (time, quantity, base64) that does not parse."""


class _Walk:
    """The position in the object, and the errors of strict decoding."""

    __slots__ = ("path", "unknown")

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.unknown: list[str] = []

    def complain(self, key: str) -> None:
        text = ""
        for segment in (*self.path, key):
            text += f"[{segment}]" if isinstance(segment, int) else f".{segment}"
        self.unknown.append(complaint("unknown", text[1:]))

    def field(self, key: str) -> str:
        return ".".join([*(segment for segment in self.path if isinstance(segment, str)), key])


def conform(obj: Obj, shape: Shape, kind: str, version: str) -> list[str]:
    """Decode ``obj`` in place and return the errors of strict decoding."""
    walk = _Walk()
    empty = [key for key, zero in shape.always if zero is None and obj.get(key) == []]
    try:
        _struct(obj, shape, walk)
    except _MismatchError as error:
        text = f"json: cannot unmarshal {error.json_type} into Go {error.where or 'value'} of type {error.go}"
        raise DecodeError(kind, version, text) from None
    except _MalformedError as error:
        raise DecodeError(kind, version, str(error)) from None
    for key in empty:
        obj[key] = []
    return walk.unknown


def complaints(document: Any, made: Field) -> list[str]:
    """What strict decoding complains about in a JSON document, in the order of its text."""
    return distinct(_complaints(document, made, ""))


def _complaints(value: Any, made: Field, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _complaints(item, made.item or shapes.ANYTHING, f"{path}[{index}]")
    if not isinstance(value, Document) or made.tag not in _WALKED:
        return
    seen: set[str] = set()
    for key, item in value.pairs:
        at = f"{path}.{key}" if path else key
        field = made.shape.fields.get(key) if made.tag == shapes.STRUCT else made.item or shapes.ANYTHING
        if field is None:
            yield complaint("unknown", at)
            continue
        if key in seen:
            yield complaint("duplicate", at)
        seen.add(key)
        yield from _complaints(item, field, at)


def _struct(obj: Obj, shape: Shape, walk: _Walk) -> None:
    fields = shape.fields
    drop: list[str] | None = None
    key = ""
    try:
        for key, value in obj.items():
            field = fields.get(key)
            if field is None:
                walk.complain(key)
            elif value is not None:
                new = _value(value, field, walk, key)
                if new is value:
                    continue
                if new is not _DROP:
                    obj[key] = new
                    continue
            elif (key, None) in shape.always:
                continue
            if drop is None:
                drop = []
            drop.append(key)
    except _MismatchError as error:
        if not error.where:
            error.where = f"struct field {shape.name}.{walk.field(key)}"
        raise
    if drop is not None:
        for key in drop:
            del obj[key]
    for key, zero in shape.always:
        if key not in obj:
            obj[key] = _copied(zero) if zero.__class__ is dict else zero


def _copied(zero: Obj) -> Obj:
    return {key: _copied(value) if value.__class__ is dict else value for key, value in zero.items()}


def _value(value: Any, field: Field, walk: _Walk, key: str) -> Any:
    """The decoded form of a value that is not null: itself, another value, or _DROP."""
    tag = field.tag
    if tag == shapes.STRING:
        if value.__class__ is str:
            return value if value or field.keep else _DROP
        raise _MismatchError(_json_type(value), field.go)
    if tag == shapes.STRUCT:
        if value.__class__ is not dict:
            raise _MismatchError(_json_type(value), field.go)
        walk.path.append(key)
        _struct(value, field.shape, walk)
        walk.path.pop()
        return value
    return _DECODERS[tag](value, field, walk, key)


def _integer(value: Any, field: Field, _walk: _Walk, _key: str) -> Any:
    if value.__class__ is not int:
        json_type = f"number {value}" if value.__class__ is float else _json_type(value)
        raise _MismatchError(json_type, field.go)
    if not -_MAX_INT[field.bits] - 1 <= value <= _MAX_INT[field.bits]:
        raise _MismatchError(f"number {value}", field.go)
    return value if value or field.keep else _DROP


def _boolean(value: Any, field: Field, _walk: _Walk, _key: str) -> Any:
    if value.__class__ is not bool:
        raise _MismatchError(_json_type(value), field.go)
    return value if value or field.keep else _DROP


def _number(value: Any, field: Field, _walk: _Walk, _key: str) -> Any:
    if value.__class__ not in (int, float):
        raise _MismatchError(_json_type(value), field.go)
    return value if value or field.keep else _DROP


def _list(value: Any, field: Field, walk: _Walk, key: str) -> Any:
    if value.__class__ is not list:
        raise _MismatchError(_json_type(value), field.go)
    if not value:
        return value if field.keep else _DROP
    item = field.item or shapes.ANYTHING
    walk.path.append(key)
    if item.tag == shapes.STRUCT:
        for index, element in enumerate(value):
            if element.__class__ is not dict:
                if element is not None:
                    raise _MismatchError(_json_type(element), item.go)
                element = value[index] = {}  # noqa: PLW2901 - a null element is the zero value
            walk.path.append(index)
            _struct(element, item.shape, walk)
            walk.path.pop()
    else:
        for index, element in enumerate(value):
            value[index] = _element(element, item, walk, "")
    walk.path.pop()
    return value


def _map(value: Any, field: Field, walk: _Walk, key: str) -> Any:
    if value.__class__ is not dict:
        raise _MismatchError(_json_type(value), field.go)
    if not value:
        return value if field.keep else _DROP
    item = field.item or shapes.ANYTHING
    for name, element in value.items():
        if element.__class__ is not str or item.tag != shapes.STRING:
            value[name] = _element(element, item, walk, key)
    return value


def _element(element: Any, item: Field, walk: _Walk, key: str) -> Any:
    if element is None:
        return _EMPTY.get(item.tag)
    new = _value(element, item, walk, key)
    return element if new is _DROP else new


def _any(value: Any, _made: Field, _walk: _Walk, _key: str) -> Any:
    return value


def _quantity(value: Any, _made: Field, _walk: _Walk, _key: str) -> Any:
    text = value if value.__class__ is str else str(value) if value.__class__ in (int, float) else ""
    try:
        return canonical(text.strip())
    except QuantityError as error:
        raise _MalformedError(str(error)) from None


def _int_or_string(value: Any, _made: Field, _walk: _Walk, _key: str) -> Any:
    if value.__class__ is int or value.__class__ is str:
        return value
    raise _MismatchError(f"number {value}" if value.__class__ is float else _json_type(value), "int32")


def _time(value: Any, _made: Field, _walk: _Walk, _key: str) -> Any:
    moment = _parse_time(value, _TIME_LAYOUT)
    return value if len(value) == 20 and value[-1] == "Z" else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Any, _made: Field, _walk: _Walk, _key: str) -> Any:
    moment = _parse_time(value, _MICRO_LAYOUT)
    return value if len(value) == 27 and value[-1] == "Z" else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parse_time(value: Any, layout: str) -> datetime:
    if value.__class__ is not str:
        raise _MalformedError(f"json: cannot unmarshal {_json_type(value)} into Go value of type string")
    prefix = f'parsing time "{value}" as "{layout}": cannot parse '
    if layout is _MICRO_LAYOUT and len(value) > 19 and value[10:11] == "T" and value[19] != ".":
        raise _MalformedError(f'{prefix}"{value[19:]}" as ".000000"')
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise _MalformedError(f'{prefix}"{value}" as "2006"') from None
    if "T" not in value or moment.tzinfo is None:
        rest, wanted = (value[10:], "T") if "T" not in value else (value[19:], "Z07:00")
        raise _MalformedError(f'{prefix}"{rest}" as "{wanted}"')
    return moment.astimezone(UTC)


def _bytes(value: Any, field: Field, _walk: _Walk, _key: str) -> Any:
    if value.__class__ is not str:
        raise _MismatchError(_json_type(value), field.go)
    text = value.replace("\n", "").replace("\r", "")
    try:
        text = base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except binascii.Error:
        raise _MalformedError(f"illegal base64 data at input byte {_bad_byte(value)}") from None
    return text if text or field.keep else _DROP


def _bad_byte(text: str) -> int:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for index, char in enumerate(text):
        if char not in alphabet:
            return index
    return len(text) - len(text) % 4


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", list: "array", dict: "object"}.get(value.__class__, "null")


_DECODERS: dict[int, Callable[[Any, Field, _Walk, str], Any]] = {
    shapes.INTEGER: _integer,
    shapes.BOOLEAN: _boolean,
    shapes.NUMBER: _number,
    shapes.LIST: _list,
    shapes.MAP: _map,
    shapes.ANY: _any,
    shapes.QUANTITY: _quantity,
    shapes.INT_OR_STRING: _int_or_string,
    shapes.TIME: _time,
    shapes.MICRO_TIME: _micro_time,
    shapes.BYTES: _bytes,
}
_EMPTY: dict[int, Any] = {
    shapes.STRING: "",
    shapes.INTEGER: 0,
    shapes.BOOLEAN: False,
    shapes.NUMBER: 0,
    shapes.QUANTITY: "0",
    shapes.BYTES: "",
    shapes.INT_OR_STRING: 0,
}
