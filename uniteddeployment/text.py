"""Text that somebody else wrote, made fit for a status, an Event, a log line or a terminal.

Whatever a member, a Secret or an object of a user says may be megabytes long and may contain line breaks or control
characters. Everything of that kind passes through :func:`shortened` before it is kept or shown.
"""

from typing import Final

LONGEST: Final = 512
"""Characters that are kept of a foreign text, if the caller does not say otherwise."""


def shortened(text: str, limit: int = LONGEST) -> str:
    """At most ``limit`` characters of a text, in one line and without control characters."""
    if len(text) <= limit and text.isprintable():
        return text
    begun = text[: 4 * limit]
    line = " ".join("".join(one if one.isprintable() else " " for one in begun).split())
    return line if len(line) <= limit and len(begun) == len(text) else f"{line[: limit - 1]}…"
