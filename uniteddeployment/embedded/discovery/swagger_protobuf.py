"""The OpenAPI v2 document in protobuf, which is the only encoding of it that kubectl reads.

The messages are those of gnostic's ``OpenAPIv2.proto``. Values of any type (enumerations, extensions) are YAML there;
JSON is YAML.
"""

import json
from collections.abc import Iterable, Mapping
from struct import pack
from typing import Any, Final

_STRINGS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_INTEGERS: Final = {
    "exclusiveMaximum": 8,
    "exclusiveMinimum": 10,
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "uniqueItems": 16,
    "maxProperties": 17,
    "minProperties": 18,
}
_REQUIRED: Final = 19
_ENUM: Final = 20
_ADDITIONAL_PROPERTIES: Final = 21
_TYPE: Final = 22
_ITEMS: Final = 23
_PROPERTIES: Final = 25
_EXTENSION: Final = 31


def encode(document: Mapping[str, Any]) -> bytes:
    """A document without paths."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    definitions = _named_schemas(document["definitions"])
    return _text(1, document["swagger"]) + _message(2, info) + _message(8, b"") + _message(9, definitions)


def _schema(schema: Mapping[str, Any]) -> bytes:
    return b"".join(_fields(schema))


def _fields(schema: Mapping[str, Any]) -> Iterable[bytes]:
    for key, value in schema.items():
        if key in _STRINGS:
            yield _text(_STRINGS[key], value)
        elif key in _DOUBLES:
            yield _varint(_DOUBLES[key] << 3 | 1) + pack("<d", value)
        elif key in _INTEGERS:
            yield _varint(_INTEGERS[key] << 3) + _varint(int(value))
        elif key == "required":
            yield b"".join(_text(_REQUIRED, name) for name in value)
        elif key == "enum":
            yield b"".join(_message(_ENUM, _any(item)) for item in value)
        elif key == "type":
            yield _message(_TYPE, _text(1, value))
        elif key == "items":
            yield _message(_ITEMS, _message(1, _schema(value)))
        elif key == "properties":
            yield _message(_PROPERTIES, _named_schemas(value))
        elif key == "additionalProperties":
            allowed = _varint(2 << 3) + _varint(value) if isinstance(value, bool) else _message(1, _schema(value))
            yield _message(_ADDITIONAL_PROPERTIES, allowed)
        elif key.startswith("x-"):
            yield _message(_EXTENSION, _text(1, key) + _message(2, _any(value)))


def _named_schemas(schemas: Mapping[str, Mapping[str, Any]]) -> bytes:
    named = (_text(1, name) + _message(2, _schema(schema)) for name, schema in schemas.items())
    return b"".join(_message(1, member) for member in named)


def _any(value: Any) -> bytes:
    return _text(2, json.dumps(value))


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
