"""What can go wrong on the command line, as one line and an exit code. No traceback reaches a user who did not ask."""

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
"""Exit codes beside 0; ``EXIT_CODES`` says what they mean."""
INTERRUPTED = 130
EXIT_CODES = {
    0: "done",
    FAILED: "failed: the message says why",
    USAGE: "wrong usage, or a file that cannot be used",
    TIMEOUT: "took too long",
    BLOCKED: "planned, but parts of the plan cannot be carried out",
    INTERRUPTED: "interrupted",
}
TRACEBACK = "UD_TRACEBACK"
"""The environment variable that asks for the traceback of an unexpected error."""


class CommandError(Exception):
    """One line for the user: what is wrong and the way out."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: int) -> NoReturn:
    """Print one line on standard error and leave."""
    from uniteddeployment.cli.terminal import say  # noqa: PLC0415  # rich takes longer to import than --help to print

    say(f"error: {message}", error=True)
    raise typer.Exit(code)


def fail_with(messages: Sequence[str], code: int) -> NoReturn:
    """Raise CommandError with the last message, after the others have been printed."""
    from uniteddeployment.cli.terminal import say  # noqa: PLC0415

    for message in messages[:-1]:
        say(f"error: {message}", error=True)
    raise CommandError(messages[-1], code)


def one_line(function: Callable[P, R]) -> Callable[P, R]:
    """Turns every error into one line and an exit code."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (typer.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:  # noqa: BLE001  # the last resort: whatever it is, a user gets one line
            fail(*told(error))

    return wrapper


def told(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    known = _known(error)
    if known is not None:
        return known
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    return _unexpected(error), FAILED


def _unexpected(error: Exception) -> str:
    """The place and the kind of an error that nobody foresaw; its text may hold anything, also a secret (I12)."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "uniteddeployment" in frame.filename]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"unexpected {type(error).__name__}{place}; this is a bug. Set {TRACEBACK}=1 to see the traceback"


def _known(error: BaseException) -> tuple[str, int] | None:
    """What to say and the exit code, for errors that are no bugs. Imported late: nobody waits for it who has none."""
    from uniteddeployment.controller.run import StartError  # noqa: PLC0415
    from uniteddeployment.controller.webhook_certificate import WebhookError  # noqa: PLC0415
    from uniteddeployment.kube.credentials import CredentialsError  # noqa: PLC0415
    from uniteddeployment.kube.election import LostLeadership  # noqa: PLC0415
    from uniteddeployment.kube.errors import KubeError  # noqa: PLC0415
    from uniteddeployment_api import InvalidObject  # noqa: PLC0415

    match error:
        case CommandError():
            return str(error), error.code
        case TimeoutError():
            return str(error) or "it took too long", TIMEOUT
        case InvalidObject():
            return f"the object is invalid: {error}", USAGE
        case LostLeadership():
            return "lost the leadership: the Lease could not be renewed in time", FAILED
        case StartError() | CredentialsError() | WebhookError() | KubeError():
            return str(error), FAILED
        case OSError() if error.strerror:
            return f"{error.filename or 'input or output'}: {error.strerror}", FAILED
        case BaseExceptionGroup():
            return next((found for one in error.exceptions if (found := _known(one)) is not None), None)
        case _:
            return None
