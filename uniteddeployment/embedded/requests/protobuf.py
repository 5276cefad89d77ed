"""Kubernetes' protobuf in request bodies, which kubectl sends to create built-in kinds. Responses never use it.

Contract: the result equals the decoded JSON, except that zero values of non-pointer fields are present; decoding by the
kind's definition drops them. ``protobuf.json`` describes the wire format: number, name and type of each message's
fields (``[]`` repeated, ``{}`` a map with string keys; a field without a name is inlined).
"""

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj

MAGIC: Final = b"k8s\x00"

_GROUPS: Final = {"": "core", "rbac.authorization.k8s.io": "rbac", "meta.k8s.io": "apis.meta"}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Fields = Mapping[str, tuple[str, str]]
"""Name and type by field number, which is a string in JSON."""


@lru_cache(maxsize=1)
def _messages() -> Mapping[str, Fields]:
    raw = resources.files(__package__).joinpath("protobuf.json").read_bytes()
    messages: Mapping[str, Fields] = json.loads(raw)
    return messages


def decode(body: bytes) -> Obj:
    """The object in a body. Raises ValueError if it is not the protobuf of a known kind."""
    if not body.startswith(MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = {number: value for number, _, value in _fields(memoryview(body)[len(MAGIC) :])}
    meta = {number: bytes(value).decode() for number, _, value in _fields(envelope.get(1, b""))}
    api_version, kind = meta.get(1, ""), meta.get(2, "")
    message = _message_of(api_version, kind)
    if message not in _messages():
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **_read(message, envelope.get(2, b""))}


def _message_of(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    if kind == "DeleteOptions":
        return "apis.meta.v1.DeleteOptions"
    return f"{_GROUPS.get(group) or group.split('.', 1)[0]}.{version}.{kind}"


def _read(message: str, data: memoryview | bytes) -> Obj:
    """One message as an object."""
    fields = _messages()[message]
    obj: Obj = {}
    for number, _, value in _fields(data):
        known = fields.get(str(number))
        if known is None:
            continue
        name, type_ = known
        if not name:
            obj.update(_read(type_, value))
        elif type_.startswith("[]"):
            obj.setdefault(name, []).append(_value(type_[2:], value))
        elif type_.startswith("{}"):
            key, item = _pair(type_[2:], value)
            obj.setdefault(name, {})[key] = item
        else:
            decoded = _value(type_, value)
            if decoded is not None:
                obj[name] = decoded
    return obj


def _pair(type_: str, data: memoryview | bytes) -> tuple[str, Any]:
    parts = {number: value for number, _, value in _fields(data)}
    return bytes(parts.get(1, b"")).decode(), _value(type_, parts.get(2, 0 if type_ in ("int", "bool") else b""))


def _value(type_: str, raw: Any) -> Any:
    special = _SPECIAL.get(type_)
    return _read(type_, raw) if special is None else special(raw)


# Wire format


def _fields(data: memoryview | bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and raw value of each field: an int, or bytes."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == _VARINT:
            value, position = _varint(data, position)
        elif wire == _BYTES:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
            value, position = data[position : position + length], position + length
        else:
            raise ValueError(f"proto: illegal wireType {wire}")
        if position > end:
            raise ValueError("unexpected EOF")
        yield number, wire, value


def _varint(data: memoryview | bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise ValueError("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("proto: integer overflow")


# Values


def _integer(raw: int) -> int:
    return raw - (1 << 64) if raw >> 63 else raw


def _double(raw: Any) -> float:
    number: float = struct.unpack("<d", bytes(raw))[0]
    return number


def _numbers(raw: Any) -> dict[int, Any]:
    return {number: value for number, _, value in _fields(raw)}


def _moment(raw: Any) -> datetime | None:
    """A time; the zero time means none."""
    parts = _numbers(raw)
    seconds, nanos = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    if not parts or seconds == 0:
        return None
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=nanos // 1000)


def _time(raw: Any) -> str | None:
    moment = _moment(raw)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(raw: Any) -> str | None:
    moment = _moment(raw)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _int_or_string(raw: Any) -> int | str:
    parts = _numbers(raw)
    if parts.get(1, 0):
        return bytes(parts.get(3, b"")).decode()
    return _integer(parts.get(2, 0))


def _quantity(raw: Any) -> str:
    return bytes(_numbers(raw).get(1, b"")).decode()


def _json(raw: Any) -> Any:
    text = bytes(_numbers(raw).get(1, b""))
    return json.loads(text) if text else None


_SPECIAL: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": lambda raw: bytes(raw).decode(),
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "int": _integer,
    "bool": bool,
    "double": _double,
    "apis.meta.v1.Time": _time,
    "apis.meta.v1.MicroTime": _micro_time,
    "apis.meta.v1.FieldsV1": _json,
    "runtime.RawExtension": _json,
    "util.intstr.IntOrString": _int_or_string,
    "api.resource.Quantity": _quantity,
}
