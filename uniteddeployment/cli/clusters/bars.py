"""Bars that show how much of the capacity of a cluster pods request. Pure."""

from collections.abc import Mapping
from typing import Any

from uniteddeployment.cli.output.terminal import Glyphs
from uniteddeployment.fleet.capacity import quantity

WIDTH = 20
_SHOWN = ("cpu", "memory", "pods")
_UNITS = (("Ei", 2.0**60), ("Pi", 2.0**50), ("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10))


def bars(capacity: Mapping[str, Any], glyphs: Glyphs) -> list[str]:
    """A line for each resource: the part of it that pods request, as a bar and in numbers."""
    allocatable, requested = capacity.get("allocatable") or {}, capacity.get("requested") or {}
    others = sorted(name for name in allocatable if "/" in name)
    names = [name for name in (*_SHOWN, *others) if name in allocatable]
    longest = max((len(name) for name in names), default=0)
    return [_bar(name.ljust(longest), name, requested.get(name, "0"), allocatable[name], glyphs) for name in names]


def _bar(title: str, name: str, requested: str, allocatable: str, glyphs: Glyphs) -> str:
    used, whole = amount(name, requested), amount(name, allocatable)
    part = min(1.0, used / whole) if whole else 0.0
    filled = round(part * WIDTH)
    bar = glyphs.full * filled + glyphs.empty * (WIDTH - filled)
    return f"{title}  {bar} {round(part * 100):3d}%  {_text(name, used)} of {_text(name, whole)} requested"


def amount(resource: str, text: object) -> float:
    """A quantity of Kubernetes as a number; 0 if it is not a quantity.

    >>> amount("cpu", "1500m"), amount("memory", "2Gi"), amount("pods", "x")
    (1.5, 2147483648.0, 0.0)
    """
    try:
        parsed = quantity.parse(resource, str(text))
    except quantity.QuantityError:
        return 0.0
    return parsed / 1000 if resource == quantity.CPU else float(parsed)


def _text(name: str, number: float) -> str:
    if name != "memory":
        return f"{number:.1f}".removesuffix(".0")
    return next((f"{number / size:.1f}{unit}" for unit, size in _UNITS if number >= size), f"{number:.0f}")
