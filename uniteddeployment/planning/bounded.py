"""Bounds of what is kept of objects that clusters show: a member may send anything, and a hundred thousand of it.

A number or a name beyond its bound makes the whole object unreadable, which its reflector notes; a label or an
annotation that nobody reads is left out.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Final

from msgspec import Meta

_INT32_MAX: Final = 2**31 - 1

Name = Annotated[str, Meta(max_length=253)]
Word = Annotated[str, Meta(max_length=128)]
"""A uid, a resource version, a phase, a type: one word for programs."""
Count = Annotated[int, Meta(ge=0, le=_INT32_MAX)]
Int32 = Annotated[int, Meta(ge=-_INT32_MAX - 1, le=_INT32_MAX)]
Generation = Annotated[int, Meta(ge=0, le=2**48)]
"""Status has sums of them, and the API takes 63 bits."""

LABEL_LENGTH: Final = 63
_OTHER_THAN_A_PATH: Final = ("/", "%")


def chosen(entries: Mapping[str, str], keys: Collection[str], longest: int) -> dict[str, str]:
    """The entries of these keys, without those that are too long to be ours."""
    return {key: entries[key] for key in keys if key in entries and len(entries[key]) <= longest}


def check_path(*names: str) -> None:
    """Refuses names that cannot be a part of a path. Raises ValueError, which decoding makes an error of the object."""
    for name in names:
        if name in (".", "..") or any(mark in name for mark in _OTHER_THAN_A_PATH):
            raise ValueError("a name or a namespace cannot be part of a path")
