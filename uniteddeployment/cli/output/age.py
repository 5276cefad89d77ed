"""Ages in the style of kubectl."""

from datetime import UTC, datetime


def age(timestamp: str | None, now: datetime) -> str:
    """The time since a timestamp (RFC 3339), with two units at most; empty without a timestamp.

    >>> age("2026-01-01T00:00:00Z", datetime(2026, 1, 1, 0, 3, 5, tzinfo=UTC))
    '3m5s'
    """
    if not timestamp:
        return ""
    try:
        begun = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    if begun.tzinfo is None:
        begun = begun.replace(tzinfo=UTC)
    seconds = max(0, int((now - begun).total_seconds()))
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10 and seconds % 60:
        return f"{minutes}m{seconds % 60}s"
    if hours < 3:
        return f"{minutes}m"
    if days < 2:
        return f"{hours}h"
    return f"{days}d"
