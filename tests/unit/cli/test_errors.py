"""Errors are one line and an exit code. Every exit code is documented."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from uniteddeployment.cli import errors
from uniteddeployment.cli.errors import EXIT_CODES, CommandError, reports_errors
from uniteddeployment.cli.program import app
from uniteddeployment.kube.errors import Unauthorized
from uniteddeployment_api import FieldError, InvalidObject

ROOT = Path(__file__).parents[3]


def run(error: BaseException) -> tuple[int, str]:
    """The exit code and the message when a command raises this."""
    made = typer.Typer()

    @made.command()
    @reports_errors
    def command() -> None:
        raise error

    result = CliRunner().invoke(made, [])
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("no \x1b[31mway", 4), 4, r"error: no \x1b[31mway"),
        (TimeoutError("too slow"), 3, "error: too slow"),
        (TimeoutError(), 3, "error: timed out"),
        (InvalidObject([FieldError("spec", "required")]), 2, "error: the object is invalid: spec: required"),
        (Unauthorized(401, "Unauthorized", "Unauthorized"), 1, "error: Unauthorized"),
        (PermissionError(13, "Permission denied", "/x"), 1, "error: /x: Permission denied"),
        (OSError(28, "No space left on device"), 1, "error: input or output: No space left on device"),
        (ExceptionGroup("several", [ValueError("x"), CommandError("the known one")]), 1, "error: the known one"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(error: BaseException, code: int, said: str) -> None:
    result = run(error)
    assert (result[0], result[1].strip()) == (code, said)
    assert code in EXIT_CODES


@pytest.mark.parametrize("error", [KeyError("a token"), RecursionError(), ExceptionGroup("x", [ValueError("a token")])])
def test_an_unexpected_error_is_one_line_without_its_text(error: Exception) -> None:
    """I12: its text may contain a secret."""
    code, said = run(error)
    assert code == 1
    assert re.fullmatch(r"error: unexpected \w+.*\. This is a bug\. Set UD_TRACEBACK=1 to see the traceback\n", said)
    assert "a token" not in said


def test_the_traceback_is_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(errors.TRACEBACK, "1")
    code, said = run(KeyError("x"))
    assert code == 1
    assert "Traceback (most recent call last)" in said
    assert said.splitlines()[-1].startswith("error: unexpected KeyError")


def test_every_exit_code_is_in_the_help_and_in_the_documentation() -> None:
    helped = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    page = (ROOT / "docs" / "cli.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in helped
        assert f"| {code} | {meaning[0].upper()}{meaning[1:]} |" in page
