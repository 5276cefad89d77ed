"""Deep copies of JSON objects."""

from collections.abc import Mapping
from typing import Any

import msgspec

from uniteddeployment.embedded.apimachinery.resources import Obj

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


def clone(obj: Mapping[str, Any]) -> Obj:
    """A private deep copy of a JSON object; several times faster than ``copy.deepcopy``."""
    copied: Obj
    try:
        copied = _unpack(_pack(obj))
    except OverflowError:
        # Free-form fields of custom resources may hold integers beyond 64 bits.
        copied = msgspec.json.decode(msgspec.json.encode(obj))
    return copied
