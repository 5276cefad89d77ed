"""The table of functions: name -> overloads and implementation. Libraries register with :func:`function`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from uniteddeployment.embedded.crd.cel.declarations import Signature, signatures
from uniteddeployment.embedded.crd.cel.values import NoOverloadError

Implementation = Callable[..., Any]
Named = TypeVar("Named", bound=Implementation)


@dataclass(slots=True)
class Function:
    """A function or operator: one implementation serves all overloads, and rejects other arguments.

    An implementation rejects arguments by TypeError, AttributeError or CelError; the first two become ``no such
    overload``.
    """

    run: Implementation
    overloads: list[Signature] = field(default_factory=list)


FUNCTIONS: Final[dict[str, Function]] = {}
"""By name. Functions of a namespace have their full name (``optional.of``)."""


def function(name: str, overloads: str) -> Callable[[Named], Named]:
    """Register an implementation; several for the same name are tried in order."""

    def register(run: Named) -> Named:
        registered = FUNCTIONS.get(name)
        if registered is None:
            FUNCTIONS[name] = Function(run, signatures(overloads))
        else:
            registered.overloads.extend(signatures(overloads))
            registered.run = _either(registered.run, run)
        return run

    return register


def _either(first: Implementation, second: Implementation) -> Implementation:
    """The first implementation that accepts the arguments."""

    def run(*args: Any) -> Any:
        try:
            return first(*args)
        except (TypeError, AttributeError, NoOverloadError):
            return second(*args)

    return run
