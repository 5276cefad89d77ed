"""Output: text from clusters cannot control the terminal, tables fit, and symbols have an ASCII form."""

import ast
import asyncio
import io
import os
import pty
import re
from pathlib import Path

import pytest
from rich.console import Console

from uniteddeployment.cli.output.labels import line
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Glyphs, Screen, printable, program, say

CLI = Path(__file__).parents[4] / "uniteddeployment" / "cli"
MODULES = sorted(CLI.rglob("*.py"))
HOSTILE = (
    "[/x] [bold]b[/bold] [link=http://x]y[/link] :smile: "
    "\x1b[31mred\x1b[0m\x07\x9b2J\r\n\t\u202eevil\u2066\u200b\ud800 é 日本"
)


def test_only_the_terminal_module_writes_output() -> None:
    """Everything that is printed passes the functions that escape control characters."""
    offenders = []
    for module in MODULES:
        if module.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            allowed = ("rich.text", "rich.cells") if module.name in ("table.py", "labels.py", "outline.py") else ()
            offenders += [f"{module.name}: {name}" for name in names if name.startswith("rich") and name not in allowed]
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if re.fullmatch(r"print|(typer|click)\.s?echo|sys\.std(out|err)\.write", called):
                    offenders.append(f"{module.name}:{node.lineno}: {called}")
    # completion.py prints the version and the directive for kubectl, which are constants, without loading rich.
    assert [one for one in offenders if not one.startswith("completion.py")] == []


def test_control_characters_and_markup_are_printed_as_text() -> None:
    shown = printable(HOSTILE)
    assert shown.startswith(r"[/x] [bold]b[/bold] [link=http://x]y[/link] :smile: \x1b[31mred\x1b[0m\x07\x9b2J\r\n\t")
    assert shown.endswith(r"\u202eevil\u2066\u200b\ud800 é 日本")
    assert all(character.isprintable() for character in shown)


def screen(width: int = 80, *, encoding: str = "utf-8") -> tuple[Screen, io.BytesIO]:
    """A screen on a terminal, and the bytes that it receives."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", write_through=True)
    made = Screen()
    made._console = Console(
        file=file, width=width, force_terminal=True, markup=False, emoji=False, highlight=False, color_system=None
    )
    return made, raw


def test_tables_do_not_interpret_their_cells() -> None:
    made, raw = screen(200)
    made.show(table([Column("NAME"), Column("B")], [Row({"NAME": Cell(HOSTILE, "red"), "B": "x"}, [HOSTILE])], None))
    text = raw.getvalue().decode()
    assert text.count("[/x] [bold]b[/bold] [link=http://x]y[/link] :smile: \\x1b[31mred") == 2
    assert "\x07" not in text
    assert "\u202e" not in text


def test_lines_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    say("oh", error=True)
    program("a:\n- b\n")
    out, err = capsys.readouterr()
    assert out == f"{printable(HOSTILE)}\na:\n- b\n"
    assert err == "oh\n"


COLUMNS = [
    Column("NAME"),
    Column("FIRST", drop=2),
    Column("N", right=True),
    Column("SECOND", drop=1),
    Column("WHY", spill=True),
]
ROW = Row({"NAME": "a" * 20, "FIRST": "f" * 10, "N": "7", "SECOND": "s" * 10, "WHY": "because " * 4}, ["a note"], "  ")


def plain(width: int | None) -> list[str]:
    return [line.plain for line in table(COLUMNS, [ROW], width)]


def test_a_table_is_as_wide_as_its_content() -> None:
    why = "because because because because"
    for width in (None, 200):
        assert plain(width) == [
            f"{'NAME':20}  {'FIRST':10}  N  {'SECOND':10}  WHY",
            f"{'a' * 20}  {'f' * 10}  7  {'s' * 10}  {why}",
            "  a note",
        ]


def test_sentences_move_below_their_row_before_columns_are_omitted() -> None:
    assert plain(50) == [
        f"{'NAME':20}  {'FIRST':10}  N  SECOND",
        f"{'a' * 20}  {'f' * 10}  7  {'s' * 10}",
        "  why: because because because because",
        "  a note",
    ]


def test_the_least_important_columns_are_omitted_first_and_names_never() -> None:
    assert plain(40)[:2] == [f"{'NAME':20}  N  SECOND", f"{'a' * 20}  7  {'s' * 10}"]
    assert plain(10)[:2] == [f"{'NAME':20}  N", f"{'a' * 20}  7"]


def test_notes_are_wrapped_between_words_and_keep_their_indent() -> None:
    lines = [line.plain for line in table([Column("A")], [Row({"A": "x"}, ["word " * 30], "│    ")], 60)]
    assert all(line.startswith("│    word") and len(line) <= 60 for line in lines[2:])
    assert len(lines) > 4


def test_wide_characters_count_twice() -> None:
    lines = [line.plain for line in table([Column("A"), Column("B")], [Row({"A": "日本", "B": "x"})], None)]
    assert lines == ["A     B", "日本  x"]


def test_symbols_have_an_ascii_form(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", file)
    signs = Screen().glyphs
    assert signs != Glyphs()
    assert all(getattr(signs, name).isascii() for name in Glyphs.__slots__)
    assert "॥" not in "".join(getattr(Glyphs(), name) for name in Glyphs.__slots__)


def test_output_to_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output to a pipe is neither cut nor wrapped."""
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert Screen().width is None
    assert not Screen().redraws


def test_a_dumb_terminal_gets_plain_lines_also_while_they_are_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb", buffering=0) as terminal, os.fdopen(follower, "w", encoding="ascii") as file:
        monkeypatch.setattr("sys.stdout", file)
        monkeypatch.setenv("TERM", "dumb")
        made = Screen()
        assert not made.redraws
        assert made.width, "it is a terminal"

        async def draw() -> None:
            async with made.live(lambda: [line(f"{made.glyphs.paused} web", "cyan")]) as redraw:
                redraw()

        asyncio.run(draw())
        assert terminal.read(1000) == b"= web\r\n"
