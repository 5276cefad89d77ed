"""The gates of the present step as a table: how often each has passed and failed, and its last values. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment.cli.output.labels import line
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Glyphs, Lines

SHOWN = 12
"""Number of rows that are shown. Of more, those that have passed are left out first."""
_STYLES = {"Passed": "green", "Approved": "green", "Failed": "red", "Error": "red", "Inconclusive": "yellow"}
_EXPLAINED = ("Failed", "Error", "Inconclusive")


def lines(gates: Sequence[Mapping[str, Any]], glyphs: Glyphs, width: int | None, *, wide: bool) -> Lines:
    """The table, or nothing without gates. With ``wide``, all rows are shown, with their messages."""
    if not gates:
        return []
    columns = [
        Column("GATE"),
        Column("SUBSET", drop=2),
        Column("STATE"),
        Column(glyphs.good, right=True),
        Column(glyphs.bad, right=True),
        Column("ERRORS", right=True, drop=3),
        Column("LAST VALUES", drop=1),
    ]
    columns += [Column("MESSAGE")] if wide else []
    shown = gates if wide else _important(gates)
    rows = [_row(gate, glyphs, wide=wide) for gate in shown]
    more = len(gates) - len(shown)
    rest = [line(f"and {more} more; -o wide shows all", "dim")] if more else []
    return [*table(columns, rows, None if wide else width), *rest]


def _important(gates: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if len(gates) <= SHOWN:
        return list(gates)
    order = sorted(range(len(gates)), key=lambda index: (gates[index].get("state") in ("Passed", "Approved"), index))
    return [gates[index] for index in sorted(order[:SHOWN])]


def _row(gate: Mapping[str, Any], glyphs: Glyphs, *, wide: bool) -> Row:
    state = str(gate.get("state", "Running"))
    style, message = _STYLES.get(state, "bright_blue"), str(gate.get("message", ""))
    icons = {"Passed": glyphs.good, "Approved": glyphs.good, "Failed": glyphs.bad, "Error": glyphs.bad}
    icon = glyphs.unknown if state == "Inconclusive" else icons.get(state, glyphs.busy)
    cells: dict[str, Cell | str] = {
        "GATE": Cell(f"{icon} {gate['name']}{' (dry run)' if gate.get('dryRun') else ''}", style),
        "SUBSET": str(gate.get("subset", "")) or "all",
        "STATE": Cell(state, style),
        glyphs.good: str(gate.get("successes", 0)),
        glyphs.bad: str(gate.get("failures", 0)),
        "ERRORS": str(gate.get("errors", 0)),
        "LAST VALUES": " ".join(map(str, gate.get("values") or ())),
        "MESSAGE": message,
    }
    explained = message and state in _EXPLAINED and not wide
    return Row(cells, (message,) if explained else (), "    ")
