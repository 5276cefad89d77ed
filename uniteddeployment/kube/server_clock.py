"""How far the clock of a server is ahead of ours, from the header ``Date`` of its answers.

Times in the objects of a cluster are those of its clock, and nobody guarantees that it is right. The header has whole
seconds, and an answer takes its time, so an answer says between which bounds the difference is.
"""

from datetime import datetime
from email.utils import parsedate_to_datetime

TOLERANCE = 5
"""Seconds. A smaller difference counts as none: it decides nothing, and clocks that are synchronized have it, too."""
MOST = 366 * 24 * 3600
"""Seconds. A larger difference is not the one of a clock."""
RESOLUTION = 1.0
"""Seconds between two values of the header."""


class ServerClock:
    """The clock of one server. ``ahead`` is 0 until it has said otherwise, and negative if it is behind."""

    def __init__(self) -> None:
        self.ahead = 0

    def note(self, date: str | None, sent: datetime, received: datetime) -> None:
        """Take the header of an answer to a request that was sent and answered at these times of our clock."""
        shown = _time(date)
        if shown is None:
            return
        least = (shown - received).total_seconds()
        most = (shown - sent).total_seconds() + RESOLUTION
        if least - RESOLUTION <= self.ahead <= most + RESOLUTION and self.ahead:
            return  # the same as before, as far as can be told
        ahead = round((least + most) / 2)
        self.ahead = ahead if TOLERANCE < min(abs(least), abs(most)) < MOST and least * most > 0 else 0


def _time(date: str | None) -> datetime | None:
    """Return a time of HTTP; None if the text is none, or says no time zone."""
    try:
        found = parsedate_to_datetime(date or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
