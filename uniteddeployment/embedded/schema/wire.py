"""What the OpenAPI definitions of the built-in kinds do not say, and what shows in every answer of the real server.

It stands in ``wire.json``, by definition: which zero values are written out (``zero``: optional scalars that may be 0,
false or empty) and what is there even if nobody set it (``always``: what the real server holds as embedded values).
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import msgspec


@lru_cache(maxsize=1)
def wire() -> Mapping[str, Mapping[str, Any]]:
    """``zero`` and ``always`` of each definition that has either, by its last three words (``core.v1.Container``)."""
    raw = resources.files(__package__).joinpath("wire.json").read_bytes()
    decoded: dict[str, dict[str, Any]] = msgspec.json.decode(raw)
    return decoded


_SAID_EMPTY: Final = frozenset({("ClusterRole", "rules"), ("Role", "rules")})
"""Lists that are written as null but are mostly said, if only to be empty: then they are owned."""


@lru_cache(maxsize=1)
def always_written() -> frozenset[tuple[str, str]]:
    """Definition (``Container``) and name of each field that an object is never without."""
    pairs = ((name.rpartition(".")[2], field) for name, said in wire().items() for field in said.get("always", ()))
    return frozenset(pairs) - _SAID_EMPTY
