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
        from uniteddeployment.controller.run import StartError  # noqa: PLC0415  # costs 0.3 s; only commands pay
        from uniteddeployment.kube.credentials import CredentialsError  # noqa: PLC0415
        from uniteddeployment.kube.election import LostLeadership  # noqa: PLC0415
        from uniteddeployment.kube.errors import KubeError  # noqa: PLC0415
        from uniteddeployment_api import InvalidObject  # noqa: PLC0415

        try:
            return function(*args, **kwargs)
        except CommandError as error:
            fail(str(error), error.code)
        except TimeoutError as error:
            fail(str(error) or "it took too long", TIMEOUT)
        except InvalidObject as error:
            fail(f"the object is invalid: {error}", USAGE)
        except (StartError, CredentialsError, KubeError) as error:
            fail(str(error), FAILED)
        except LostLeadership:
            fail("lost the leadership: the Lease could not be renewed in time", FAILED)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return wrapper
