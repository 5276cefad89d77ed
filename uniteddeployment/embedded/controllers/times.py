"""Times as objects have them: RFC 3339 in UTC, whole seconds or microseconds."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """A time in whole seconds, as almost every field has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """A time with microseconds, as leases and series of events have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """The time that ``text`` says."""
    return datetime.fromisoformat(text)


def seconds_since(text: str, now: datetime) -> float:
    """How long ago ``text`` was; less than nothing when it is in the future."""
    return (now - parse_time(text)).total_seconds()
