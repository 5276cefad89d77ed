"""Durations in the short form of tables: ``5s``, ``3m20s``, ``2d4h``, ``3y12d``."""

from datetime import datetime

_MINUTE = 60
_HOUR = 3600
_DAY = 86400
_YEAR = 365 * _DAY


def human(seconds: float) -> str:
    """A duration in at most two units; the smaller unit is left out when the larger one is big enough."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_name}{rest}{small_name}" if rest else f"{whole // large}{large_name}"


def since(text: str | None, now: datetime) -> str:
    """The age of a timestamp; ``<unknown>`` without one."""
    if not text:
        return "<unknown>"
    return human((now - datetime.fromisoformat(text)).total_seconds())
