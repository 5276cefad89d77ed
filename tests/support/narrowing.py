"""Values whose type a test knows, for the type checker: the test fails if they are something else."""

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """A value that is there."""
    assert value is not None
    return value


def of(kind: type[T], value: object) -> T:
    """A value of this class."""
    assert isinstance(value, kind), value
    return value


def now(value: T) -> T:
    """A value that changes later. Asserted without this, the type checker would take it to stay as it is."""
    return value
