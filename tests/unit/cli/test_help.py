"""The help of every command: a short description, examples that work, and texts that fit."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from uniteddeployment.cli.program import app

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each command with its whole name, those of groups included."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(commands(typer.main.get_command(app)))


def helped(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "-h"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def examples(text: str) -> list[str]:
    """The command lines of the examples in a help text, without comments."""
    found = re.search(r"^  Examples?:\n((?:    .*\n)+)", text, re.MULTILINE)
    return [line.partition(" #")[0].strip() for line in found[1].splitlines()] if found else []


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_examples_with_options_that_exist(command: str) -> None:
    lines = [part.strip() for line in examples(helped(*command.split())) for part in re.split(r"[|>]|<\(|\)", line)]
    calls = [shlex.split(line)[1:] for line in lines if line.startswith("ud ")]
    assert any(call[: len(command.split())] == command.split() for call in calls), lines
    for call in calls:
        name = next(name for name in COMMANDS if call[: len(name.split())] == name.split())
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        negative = {option for parameter in COMMANDS[name].params for option in parameter.secondary_opts}
        assert {word for word in call if word.startswith("-") and word != "-"} <= options | negative, call


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_short_description_is_a_sentence_that_fits_into_the_list(command: str) -> None:
    short = COMMANDS[command].get_short_help_str(limit=200)
    assert re.fullmatch(r"[A-Z][^.]{5,54}\.", short), short


def test_the_page_names_every_command() -> None:
    page = PAGE.read_text()
    assert [name for name in COMMANDS if f"`ud {name}`" not in page] == []
