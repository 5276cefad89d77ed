"""The times of the API (RFC 3339) as numbers that can be subtracted. A plan has no clock: it only compares texts."""

import re
from functools import lru_cache

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
