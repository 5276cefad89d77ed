"""Tables in the style of kubectl: as wide as their content, with fewer columns on a narrow terminal."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from uniteddeployment.cli.output.terminal import Lines, printable

_GAP = 2
_LEAST_NOTE = 40
"""Notes are wrapped at this width or more."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    right: bool = False
    drop: int = 0
    """Columns with a higher number are omitted first on a narrow terminal; 0 is never omitted."""
    outer: bool = False
    """Notes begin to the right of it."""
    spill: bool = False
    """Its cells are sentences. On a narrow terminal they are printed below their rows before any column is omitted."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text and its style."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by the titles of their columns, and sentences to print below it."""

    cells: dict[str, Cell | str]
    notes: Sequence[str] = ()
    indent: str = ""
    """Prefix of the notes."""


def table(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> Lines:
    """The lines of a table. Columns are omitted until it fits into ``width``, as far as possible."""
    shown = [[_cell(row, column) for column in columns] for row in rows]
    widths = [
        max([cell_len(column.title), *(cell_len(cells[index].text) for cells in shown)])
        for index, column in enumerate(columns)
    ]
    spilled = _spilled(columns, widths, width)
    kept = _kept(columns, [index for index in range(len(columns)) if index not in spilled], widths, width)
    narrow = [widths[index] for index in kept]
    right = [columns[index].right for index in kept]
    lead = " " * sum(widths[index] + _GAP for index in kept if columns[index].outer)
    lines = [_line([Cell(columns[index].title) for index in kept], narrow, right)]
    for row, cells in zip(rows, shown, strict=True):
        lines.append(_line([cells[index] for index in kept], narrow, right))
        below = [f"{columns[index].title.lower()}: {cells[index].text}" for index in spilled if cells[index].text]
        lines += [line for note in (*below, *row.notes) for line in _note(note, lead + row.indent, width)]
    return lines


def _cell(row: Row, column: Column) -> Cell:
    value = row.cells.get(column.title, "")
    cell = value if isinstance(value, Cell) else Cell(str(value))
    return Cell(printable(cell.text), cell.style)


def _spilled(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """The indexes of the columns that are printed below their rows."""
    return [] if _fits(widths, width) else [index for index, column in enumerate(columns) if column.spill]


def _kept(columns: Sequence[Column], indexes: Sequence[int], widths: Sequence[int], width: int | None) -> list[int]:
    """The indexes of the columns that fit."""
    kept = list(indexes)
    while not _fits([widths[index] for index in kept], width):
        last = max(kept, key=lambda index: columns[index].drop)
        if not columns[last].drop:
            break
        kept.remove(last)
    return kept


def _fits(widths: Sequence[int], width: int | None) -> bool:
    return width is None or sum(widths) + _GAP * (len(widths) - 1) <= width


def _line(cells: Sequence[Cell], widths: Sequence[int], aligned_right: Sequence[bool]) -> Text:
    line = Text()
    for cell, width, right in zip(cells, widths, aligned_right, strict=True):
        if line.plain:
            line.append(" " * _GAP)
        space = " " * (width - cell_len(cell.text))
        if right:
            line.append(space)
        line.append(cell.text, cell.style)
        if not right:
            line.append(space)
    line.rstrip()
    return line


def _note(note: str, indent: str, width: int | None) -> Lines:
    text = printable(note)
    if width is None:
        return [Text(f"{indent}{text}", "dim")]
    room = max(_LEAST_NOTE, width - cell_len(indent))
    return [Text(f"{indent}{part}", "dim") for part in textwrap.wrap(text, room, break_on_hyphens=False)]
