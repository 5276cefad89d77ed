"""Times as the controllers need them beyond :func:`uniteddeployment.embedded.apimachinery.meta.timestamp`."""

from datetime import UTC, datetime

from uniteddeployment.embedded.apimachinery.meta import parse_timestamp


def micro_timestamp(moment: datetime) -> str:
    """A time with microseconds, as leases and series of events have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_since(text: str, now: datetime) -> float:
    """How long ago ``text`` was; less than nothing when it is in the future."""
    return (now - parse_timestamp(text)).total_seconds()
