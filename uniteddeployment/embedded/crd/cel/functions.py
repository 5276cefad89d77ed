"""The table of functions: name -> overloads and implementation. Libraries register themselves with :func:`function`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from uniteddeployment.embedded.crd.cel.declarations import Signature, signatures
from uniteddeployment.embedded.crd.cel.values import NoOverloadError

Implementation = Callable[..., Any]
Named = TypeVar("Named", bound=Implementation)


@dataclass(slots=True)
class Function:
    """A function or operator: one implementation serves all of its overloads, and refuses what it cannot take.

    Refusing is raising TypeError, AttributeError or CelError: the first two become ``no such overload``.
    """

    run: Implementation
    overloads: list[Signature] = field(default_factory=list)


FUNCTIONS: Final[dict[str, Function]] = {}
"""By name; functions of a namespace by their whole name (``optional.of``), methods of one library by their own."""


def function(name: str, overloads: str) -> Callable[[Named], Named]:
    """Register an implementation; a second one for the same name is chosen by the type of its first argument."""

    def register(run: Named) -> Named:
        known = FUNCTIONS.get(name)
        if known is None:
            FUNCTIONS[name] = Function(run, signatures(overloads))
        else:
            known.overloads.extend(signatures(overloads))
            known.run = _either(known.run, run)
        return run

    return register


def _either(first: Implementation, second: Implementation) -> Implementation:
    """The first implementation that takes the arguments."""

    def run(*args: Any) -> Any:
        try:
            return first(*args)
        except (TypeError, AttributeError, NoOverloadError):
            return second(*args)

    return run
