"""Tables in the manner of kubectl: as wide as their content, and with fewer columns where there is little room."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from uniteddeployment.cli.terminal import Lines, printable

_GAP = 2
_LEAST_NOTE = 40
"""A note is never broken into lines shorter than this."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    title: str
    right: bool = False
    drop: int = 0
    """Which columns are left out first where there is no room for all: the highest; 0 is never left out."""
    spill: bool = False
    """Its cells are sentences. Before a column is left out, they go below their rows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and how it is coloured."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by the titles of their columns, and sentences that stand below it."""

    cells: dict[str, Cell | str]
    notes: Sequence[str] = ()
    indent: str = ""
    """What notes begin with."""


def table(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> Lines:
    """The lines of a table that is not wider than ``width``, if leaving out columns can do that."""
    shown = [[_cell(row, column) for column in columns] for row in rows]
    widths = [
        max([cell_len(column.title), *(cell_len(cells[index].text) for cells in shown)])
        for index, column in enumerate(columns)
    ]
    spilled = _spilled(columns, widths, width)
    kept = _kept(columns, [index for index in range(len(columns)) if index not in spilled], widths, width)
    narrow = [widths[index] for index in kept]
    right = [columns[index].right for index in kept]
    lines = [_line([Cell(columns[index].title) for index in kept], narrow, right)]
    for row, cells in zip(rows, shown, strict=True):
        lines.append(_line([cells[index] for index in kept], narrow, right))
        below = [f"{columns[index].title.lower()}: {cells[index].text}" for index in spilled if cells[index].text]
        lines += [line for note in (*below, *row.notes) for line in _note(note, row.indent, width)]
    return lines


def _cell(row: Row, column: Column) -> Cell:
    found = row.cells.get(column.title, "")
    cell = found if isinstance(found, Cell) else Cell(str(found))
    return Cell(printable(cell.text), cell.style)


def _spilled(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """The places of the columns that go below their rows."""
    return [] if _fits(widths, width) else [index for index, column in enumerate(columns) if column.spill]


def _kept(columns: Sequence[Column], places: Sequence[int], widths: Sequence[int], width: int | None) -> list[int]:
    """The places of the columns that there is room for."""
    kept = list(places)
    while not _fits([widths[index] for index in kept], width):
        last = max(kept, key=lambda index: columns[index].drop)
        if not columns[last].drop:
            break
        kept.remove(last)
    return kept


def _fits(widths: Sequence[int], width: int | None) -> bool:
    return width is None or sum(widths) + _GAP * (len(widths) - 1) <= width


def _line(cells: Sequence[Cell], widths: Sequence[int], right: Sequence[bool]) -> Text:
    line = Text()
    for cell, width, to_the_right in zip(cells, widths, right, strict=True):
        if line.plain:
            line.append(" " * _GAP)
        space = " " * (width - cell_len(cell.text))
        if to_the_right:
            line.append(space)
        line.append(cell.text, cell.style)
        if not to_the_right:
            line.append(space)
    line.rstrip()
    return line


def _note(note: str, indent: str, width: int | None) -> Lines:
    text = printable(note)
    if width is None:
        return [Text(f"{indent}{text}", "dim")]
    room = max(_LEAST_NOTE, width - cell_len(indent))
    return [Text(f"{indent}{part}", "dim") for part in textwrap.wrap(text, room, break_on_hyphens=False)]
