"""What can go wrong on the command line, as one line and an exit code."""

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

FAILED, USAGE, TIMEOUT = 1, 2, 3
"""Exit codes beside 0: it failed; it was called in a wrong way or with a bad file; it took too long."""


class CommandError(Exception):
    """One line for the user: what is wrong and the way out."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: int) -> NoReturn:
    """Print one line on standard error and leave."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(code)


def one_line(function: Callable[P, R]) -> Callable[P, R]:
    """Turns the errors that a user can do something about into one line; others are bugs and keep their traceback."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except Exception as error:
            known = _known(error)
            if known is None:
                raise
            fail(*known)

    return wrapper


def _known(error: Exception) -> tuple[str, int] | None:
    """What to say and the exit code, for errors that are no bugs. Imported late: nobody waits for it who has none."""
    from uniteddeployment.controller.certificates import CertificateError  # noqa: PLC0415
    from uniteddeployment.controller.run import StartError  # noqa: PLC0415
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
        case StartError() | CredentialsError() | CertificateError() | KubeError():
            return str(error), FAILED
        case _:
            return None
