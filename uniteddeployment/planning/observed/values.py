"""Bounded texts and numbers of what clusters show, and their times.

A member may send anything, in any amount. A number or a name beyond its bound makes the whole object unreadable, which
its reflector notes. A label or an annotation that nobody reads is dropped.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
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
REASON_LIMIT: Final = 64
MESSAGE_LIMIT: Final = 256
"""Characters of the reason and of the message of a condition."""
_DOTS: Final = (".", "..")


def chosen(entries: Mapping[str, str], keys: Iterable[str], longest: int) -> dict[str, str]:
    """The entries of these keys, without those that are too long to be ours."""
    kept = {}
    for key in keys:
        value = entries.get(key)
        if value is not None and len(value) <= longest:
            kept[key] = value
    return kept


def check_path(name: str, namespace: str) -> None:
    """Refuses names that cannot be a part of a path. Raises ValueError, which decoding makes an error of the object."""
    # Written out, since it is done for each event of each pod.
    if "/" in name or "%" in name or "/" in namespace or "%" in namespace or name in _DOTS or namespace in _DOTS:
        raise ValueError("a name or a namespace cannot be part of a path")


_FORM = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)


@lru_cache(4096)
def seconds(text: str | None) -> int | None:
    """Whole seconds since 1970; None for what is no time."""
    found = _FORM.fullmatch(text or "")
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    sign, hours, minutes = found.groups()[6:]
    offset = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if sign else 0
    return _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset


def since(text: str | None, now: str) -> int:
    """Seconds that have passed. Clocks of clusters differ, so what seems to be in the future has just begun."""
    begun, present = seconds(text), seconds(now)
    return 0 if begun is None or present is None else max(0, present - begun)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, with years that begin in March, so that the day that comes and goes is the last."""
    year -= month <= 2
    in_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719468
