"""Errors of the command line: each is one line on standard error and an exit code.

A traceback is printed only if the user asks for it.
"""

import os
import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import NoReturn, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

FAILED, USAGE, TIMEOUT, BLOCKED = 1, 2, 3, 4
"""Exit codes beside 0; :data:`EXIT_CODES` explains them."""
INTERRUPTED = 130
EXIT_CODES = {
    0: "success",
    FAILED: "failure, explained by the message",
    USAGE: "invalid usage or invalid manifest",
    TIMEOUT: "timeout",
    BLOCKED: "blocked: a part of the plan, or a drain, cannot be carried out",
    INTERRUPTED: "interrupted",
}
TRACEBACK = "UD_TRACEBACK"
"""The environment variable that asks for the traceback of an unexpected error."""


class CommandError(Exception):
    """An error for the user: one line that says what is wrong and how to correct it."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: int) -> NoReturn:
    """Print one line on standard error and exit."""
    report(message)
    raise typer.Exit(code)


def report(message: str) -> None:
    """Print one error on standard error."""
    from uniteddeployment.cli.output.terminal import say  # noqa: PLC0415  # rich takes longer to import than --help to print

    say(f"error: {message}", error=True)


def fail_with(messages: Sequence[str], code: int) -> NoReturn:
    """Print all messages but the last, and raise CommandError with the last."""
    for message in messages[:-1]:
        report(message)
    raise CommandError(messages[-1], code)


def reports_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command: every exception becomes one line and an exit code."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (typer.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:  # noqa: BLE001  # the last resort: the user gets one line, whatever happened
            fail(*explained(error))

    return wrapper


def explained(error: Exception) -> tuple[str, int]:
    """The message and the exit code for an error."""
    known = _known(error)
    if known is not None:
        return known
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    return _unexpected(error), FAILED


def _unexpected(error: Exception) -> str:
    """The place and the type of an error that is a bug. Its text is left out: it may contain a secret (I12)."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "uniteddeployment" in frame.filename]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"unexpected {type(error).__name__}{place}. This is a bug. Set {TRACEBACK}=1 to see the traceback"


def _known(error: BaseException) -> tuple[str, int] | None:
    """The message and the exit code for an error that is not a bug; None for a bug.

    The types are imported late, so that commands which do not fail need not load them.
    """
    from uniteddeployment.controller.errors import WebhookError  # noqa: PLC0415
    from uniteddeployment.kube.credentials import CredentialsError  # noqa: PLC0415
    from uniteddeployment.kube.election import LostLeadership  # noqa: PLC0415
    from uniteddeployment.kube.errors import KubeError  # noqa: PLC0415
    from uniteddeployment.kube.process import StartError  # noqa: PLC0415
    from uniteddeployment_api import InvalidObject  # noqa: PLC0415

    match error:
        case CommandError():
            return str(error), error.code
        case TimeoutError():
            return str(error) or "timed out", TIMEOUT
        case InvalidObject():
            return f"the object is invalid: {error}", USAGE
        case LostLeadership():
            return "lost leadership: the Lease could not be renewed in time", FAILED
        case StartError() | CredentialsError() | WebhookError() | KubeError():
            return str(error), FAILED
        case OSError() if error.strerror:
            return f"{error.filename or 'input or output'}: {error.strerror}", FAILED
        case BaseExceptionGroup():
            return next((known for inner in error.exceptions if (known := _known(inner)) is not None), None)
        case _:
            return None
