"""Resource amounts as integers: thousandths of a CPU, and whole units of everything else."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from uniteddeployment.embedded.apimachinery.quantity import QuantityError, milli
from uniteddeployment.embedded.apimachinery.quantity import value as units

Amounts = dict[str, int]
"""Resource name -> amount; ``cpu`` in thousandths."""


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """A quantity as an integer, rounded up: thousandths for ``cpu``, whole units otherwise; 0 if it is invalid."""
    try:
        return milli(text) if resource == "cpu" else units(text)
    except QuantityError:
        return 0


def amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """A resource list of an object as integers."""
    return {name: amount(name, str(text)) for name, text in (quantities or {}).items()}


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add in place."""
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def subtract(total: Amounts, less: Mapping[str, int]) -> None:
    """Subtract in place."""
    for name, value in less.items():
        total[name] = total.get(name, 0) - value


def most(first: Mapping[str, int], second: Mapping[str, int]) -> Amounts:
    """The maximum of two amounts, per resource."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def total(parts: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum of several amounts."""
    result: Amounts = {}
    for part in parts:
        add(result, part)
    return result
