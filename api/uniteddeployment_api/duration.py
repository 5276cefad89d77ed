"""Durations such as ``90s``, ``10m`` and ``1h30m``."""

import re
from typing import Annotated, Final

from pydantic import Field

DURATION_PATTERN: Final = r"^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,6}s)?$"

Duration = Annotated[str, Field(min_length=2, max_length=20, pattern=DURATION_PATTERN)]
"""A duration such as 90s, 10m or 1h30m."""

_PARTS: Final = re.compile(DURATION_PATTERN)
_SECONDS: Final = (3600, 60, 1)


def seconds(text: str) -> int:
    """Return the seconds of a duration that matches the schema's pattern.

    >>> seconds("90s"), seconds("1h30m")
    (90, 5400)
    """
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 1h30m")
    return sum(int(part[:-1]) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True) if part)


def text(total: int) -> str:
    """Return a number of seconds as a duration.

    >>> text(90), text(3600), text(0)
    ('1m30s', '1h', '0s')
    """
    hours, minutes, rest = total // 3600, total // 60 % 60, total % 60
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
