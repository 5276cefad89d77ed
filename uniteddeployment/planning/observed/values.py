"""Bounded texts and numbers for what clusters show, and their times.

A member may send anything, in any amount. If a number or a name exceeds its bound, the whole object is unreadable, and
its reflector reports it. Labels and annotations that nothing reads are dropped.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta

_INT32_MAX: Final = 2**31 - 1

Name = Annotated[str, Meta(max_length=253)]
Word = Annotated[str, Meta(max_length=128)]
"""A uid, a resource version, a phase or a type: one word for programs."""
Count = Annotated[int, Meta(ge=0, le=_INT32_MAX)]
Int32 = Annotated[int, Meta(ge=-_INT32_MAX - 1, le=_INT32_MAX)]
Generation = Annotated[int, Meta(ge=0, le=2**48)]
"""The status has sums of them, and the API allows 63 bits."""

LABEL_LENGTH: Final = 63
REASON_LIMIT: Final = 64
MESSAGE_LIMIT: Final = 256
"""The most characters that are kept of the reason and of the message of a condition."""
_DOTS: Final = (".", "..")


def chosen(entries: Mapping[str, str], keys: Iterable[str], longest: int) -> dict[str, str]:
    """Return the entries with these keys, without values that are too long to be ours."""
    kept = {}
    for key in keys:
        value = entries.get(key)
        if value is not None and len(value) <= longest:
            kept[key] = value
    return kept


def check_path(name: str, namespace: str) -> None:
    """Raise ValueError if a name cannot be part of a path. While decoding, this makes the object unreadable."""
    # Spelled out for speed: this runs for each event of each pod.
    if "/" in name or "%" in name or "/" in namespace or "%" in namespace or name in _DOTS or namespace in _DOTS:
        raise ValueError("a name or a namespace cannot be part of a path")


_FORM = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)


@lru_cache(4096)
def seconds(text: str | None) -> int | None:
    """Return the whole seconds from 1970 to a time in RFC 3339; None if the text is not a time.

    >>> seconds("1970-01-02T01:00:00.5+01:00"), seconds("soon")
    (86400, None)
    """
    match = _FORM.fullmatch(text or "")
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    sign, hours, minutes = match.groups()[6:]
    offset = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if sign else 0
    return _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset


def since(text: str | None, now: str) -> int:
    """Return the seconds from a time until ``now``. The clocks of clusters differ, so a time in the future gives 0."""
    begun, present = seconds(text), seconds(now)
    return 0 if begun is None or present is None else max(0, present - begun)


@lru_cache(1024)
def later(text: str, by: int) -> str:
    """Return the time that is some seconds later, or earlier if they are negative; what is not a time stays.

    >>> later("2026-01-01T00:00:00Z", 90)
    '2026-01-01T00:01:30Z'
    >>> later("soon", 90)
    'soon'
    """
    begun = seconds(text)
    if begun is None:
        return text
    days, rest = divmod(begun + by, 86400)
    hours, rest = divmod(rest, 3600)
    return f"{_date(days)}T{hours:02}:{rest // 60:02}:{rest % 60:02}Z"


def _date(days: int) -> str:
    """The date so many days after 1970-01-01: the inverse of :func:`_days`."""
    eras, in_era = divmod(days + 719468, 146097)
    in_eras = (in_era - in_era // 1460 + in_era // 36524 - in_era // 146096) // 365
    in_year = in_era - (365 * in_eras + in_eras // 4 - in_eras // 100)
    month = (5 * in_year + 2) // 153
    day = in_year - (153 * month + 2) // 5 + 1
    return f"{400 * eras + in_eras + (month >= 10):04}-{(month + 2) % 12 + 1:02}-{day:02}"


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, counted in years that begin in March, so that the leap day is the last."""
    year -= month <= 2
    in_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719468
