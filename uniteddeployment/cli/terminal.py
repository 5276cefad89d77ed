"""All output of ``ud``. No other module writes to a terminal or uses rich.

Names, messages and annotations come from clusters and files, so nothing in them may style the output, hide a part of it
or move the cursor: rich's markup and emoji codes are off, and control characters are shown as escapes.
"""

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.text import Text

Lines = Sequence[Text]

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: escape sequences, line breaks
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"  # what is invisible or changes the direction
    "\ud800-\udfff]"  # half characters, which cannot be printed
)


def printable(text: object) -> str:
    """The text on one line, with every character that a terminal would act on as an escape."""
    return _UNSAFE.sub(_escaped, str(text))


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(
        match[0], f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
    )


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs beside words; the words say the same."""

    good: str = "✔"
    busy: str = "◌"
    bad: str = "✖"
    unknown: str = "?"
    paused: str = "⏸"
    branch: str = "├─"
    last: str = "└─"
    stem: str = "│"
    arrow: str = "→"
    step: str = "▶"


_ASCII = Glyphs("+", "~", "x", "?", "=", "|-", "`-", "|", "->", "*")


class Screen:
    """Where a command shows what people read."""

    def __init__(self) -> None:
        self._console = Console(markup=False, emoji=False, highlight=False)
        self.glyphs = _ASCII if self._console.options.ascii_only else Glyphs()

    @property
    def redraws(self) -> bool:
        """Whether lines can be drawn again in place."""
        return self._console.is_terminal and not self._console.is_dumb_terminal

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None when the output goes elsewhere, where nothing is cut or left out."""
        if not self._console.is_terminal:
            return None
        # rich takes 80 for a terminal that it cannot steer, whatever its size.
        return _size() if self._console.is_dumb_terminal else self._console.width

    def show(self, lines: Lines) -> None:
        """Print lines. Nothing is cut: the terminal goes on in the next line."""
        for line in lines:
            self._console.print(line, soft_wrap=True)

    @asynccontextmanager
    async def live(self, draw: Callable[[], Lines]) -> AsyncIterator[Callable[[], None]]:
        """Gives a function that draws again: in place, or below where the terminal cannot do that."""
        if not self.redraws:
            yield lambda: self.show(draw())
            return
        with Live(console=self._console, auto_refresh=False) as live:

            def redraw() -> None:
                live.update(Text("\n").join(draw()), refresh=True)

            yield redraw


def _size() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def say(text: str, *, error: bool = False) -> None:
    """Print one line as it is, without colour."""
    _write(printable(text), error=error)


def program(text: str) -> None:
    """Print what programs read, such as JSON: it may have several lines, and escapes what needs it itself."""
    _write(text.rstrip("\n"), error=False)


def _write(text: str, *, error: bool) -> None:
    print(text, file=sys.stderr if error else sys.stdout, flush=True)
