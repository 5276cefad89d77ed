"""Makes untrusted text safe for a status, an Event, a log line or a terminal.

Text from a member, a Secret or an object of a user may have megabytes, line breaks and control characters. It passes
through :func:`shortened` before it is kept or shown.
"""

from typing import Final

LONGEST: Final = 512
"""Characters that are kept of an untrusted text by default."""


def shortened(text: str, limit: int = LONGEST) -> str:
    """At most ``limit`` characters of a text, in one line and without control characters.

    >>> shortened("two\\nlines"), shortened("abcdef", 4)
    ('two lines', 'abc…')
    """
    if len(text) <= limit and text.isprintable():
        return text
    start = text[: 4 * limit]
    line = " ".join("".join(char if char.isprintable() else " " for char in start).split())
    return line if len(line) <= limit and len(start) == len(text) else f"{line[: limit - 1]}…"
