"""The help of every command: a short description, examples that work, and texts that fit."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from uniteddeployment.cli.main import app

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
COMMANDS = {
    **typer.main.get_command(app).commands,  # type: ignore[attr-defined]  # a group
    "controller run": typer.main.get_command(app).commands["controller"].commands["run"],  # type: ignore[attr-defined]
}


def helped(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "-h"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def examples(text: str) -> list[str]:
    """The command lines of the examples in a help text, without comments."""
    found = re.search(r"^  Examples?:\n((?:    .*\n)+)", text, re.MULTILINE)
    return [line.partition(" #")[0].strip() for line in found[1].splitlines()] if found else []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "controller"])
def test_every_command_has_examples_with_options_that_exist(command: str) -> None:
    lines = [part.strip() for line in examples(helped(*command.split())) for part in re.split(r"[|>]|<\(|\)", line)]
    calls = [shlex.split(line)[1:] for line in lines if line.startswith("ud ")]
    assert any(call[: len(command.split())] == command.split() for call in calls), lines
    for call in calls:
        name = "controller run" if call[0] == "controller" else call[0]
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        negative = {option for parameter in COMMANDS[name].params for option in parameter.secondary_opts}
        assert {word for word in call if word.startswith("-") and word != "-"} <= options | negative, call


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_short_description_is_a_sentence_that_fits_into_the_list(command: str) -> None:
    short = COMMANDS[command].get_short_help_str(limit=200)
    assert re.fullmatch(r"[A-Z][^.]{5,54}\.", short), short


def test_the_page_names_every_command() -> None:
    page = PAGE.read_text()
    assert [name for name in COMMANDS if f"`ud {name}`" not in page and name != "controller"] == []
