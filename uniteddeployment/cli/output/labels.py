"""Lines of text outside of tables: headings, and texts with a label."""

import textwrap

from rich.text import Text

from uniteddeployment.cli.output.terminal import Lines, printable

_INDENT = "  "
_LABEL = 10
_LEAST = 40
"""Texts are wrapped at this width or more."""
UNBROKEN = "\N{NO-BREAK SPACE}"
"""A space at which a text is not wrapped; it is printed as a space."""


def line(text: str, style: str = "") -> Text:
    """One line, which is not wrapped."""
    return Text(printable(text), style)


def labelled(label: str, text: str, width: int | None) -> Lines:
    """A text after its label, wrapped at the width of the terminal; no line for an empty text."""
    if not text:
        return []
    room = max(_LEAST, width - _LABEL - len(_INDENT)) if width is not None else None
    parts = [printable(text)] if room is None else _wrapped(printable(text), room)
    return [
        Text(_INDENT).append((label if index == 0 else "").ljust(_LABEL), "dim").append(part.replace(UNBROKEN, " "))
        for index, part in enumerate(parts)
    ]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
