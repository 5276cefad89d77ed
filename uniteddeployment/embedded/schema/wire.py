"""Facts about the encoding of built-in kinds that their OpenAPI definitions do not contain.

``wire.json`` holds them by definition: optional scalars whose zero value is written out (``zero``: 0, false or empty),
and fields that are always written (``always``: embedded values of the real server's structs).
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec


@lru_cache(maxsize=1)
def wire() -> Mapping[str, Mapping[str, Any]]:
    """``zero`` and ``always`` by the last three parts of a definition's name (``core.v1.Container``)."""
    raw = resources.files(__package__).joinpath("wire.json").read_bytes()
    decoded: dict[str, dict[str, Any]] = msgspec.json.decode(raw)
    return decoded


@lru_cache(maxsize=1)
def always_written() -> frozenset[tuple[str, str]]:
    """Definition (``Container``) and name of each field that is always written."""
    return frozenset(
        (name.rpartition(".")[2], field) for name, facts in wire().items() for field in facts.get("always", ())
    )
