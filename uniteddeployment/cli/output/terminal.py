"""The only module of ``ud`` that writes to the terminal or uses rich.

Names, messages and annotations come from clusters and files. They must not style the output, hide a part of it or move
the cursor. Therefore the markup and emoji codes of rich are off, and control characters are printed as escapes.
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

Line = Text
Lines = Sequence[Line]

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: escape sequences, line breaks
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"  # invisible, or changes the direction of text
    "\ud800-\udfff]"  # lone surrogates, which cannot be encoded
)


def printable(text: object) -> str:
    """The text as one line, with an escape for every character that a terminal would interpret."""
    return _UNSAFE.sub(_escaped, str(text))


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(
        match[0], f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
    )


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Symbols beside words. The words alone are sufficient."""

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
    todo: str = "○"
    full: str = "█"
    empty: str = "░"

    def change(self, now: int, then: int) -> str:
        """A number and, if it is going to be another one, that one."""
        return str(now) if now == then else f"{now} {self.arrow} {then}"


_ASCII = Glyphs("+", "~", "x", "?", "=", "|-", "`-", "|", "->", "*", "o", "#", ".")


class Screen:
    """Standard output, or standard error, for people."""

    def __init__(self, *, error: bool = False) -> None:
        self._console = Console(markup=False, emoji=False, highlight=False, stderr=error)
        self.glyphs = _ASCII if self._console.options.ascii_only else Glyphs()

    @property
    def redraws(self) -> bool:
        """Return True if the terminal can replace lines."""
        return self._console.is_terminal and not self._console.is_dumb_terminal

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None if the output goes to a file or a pipe, where nothing is cut."""
        if not self._console.is_terminal:
            return None
        # For a dumb terminal, rich assumes 80 columns whatever its size.
        return _size() if self._console.is_dumb_terminal else self._console.width

    def show(self, lines: Lines) -> None:
        """Print lines. Long lines are not cut; the terminal wraps them."""
        for line in lines:
            self._console.print(line, soft_wrap=True)

    @asynccontextmanager
    async def live(self, draw: Callable[[], Lines]) -> AsyncIterator[Callable[[], None]]:
        """Yield a function that draws again: in place if the terminal can do that, otherwise below."""
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
    """Print one line without colour."""
    _write(printable(text), error=error)


def program(text: str) -> None:
    """Print text for programs, such as JSON. It may have several lines, and must have escaped control characters."""
    _write(text.rstrip("\n"), error=False)


def _write(text: str, *, error: bool) -> None:
    print(text, file=sys.stderr if error else sys.stdout, flush=True)
