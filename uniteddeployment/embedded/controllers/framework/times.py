"""Time formats of controllers, in addition to :func:`uniteddeployment.embedded.apimachinery.meta.timestamp`."""

from datetime import UTC, datetime

from uniteddeployment.embedded.apimachinery.meta import parse_timestamp


def micro_timestamp(moment: datetime) -> str:
    """A time with microseconds, for Leases and series of Events."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_since(text: str, now: datetime) -> float:
    """Seconds since ``text``; negative if it is in the future."""
    return (now - parse_timestamp(text)).total_seconds()
