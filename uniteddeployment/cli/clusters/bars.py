"""Bars that show how much of the capacity of a cluster pods request. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from uniteddeployment.cli.output.terminal import Glyphs

WIDTH = 20
_SHOWN = ("cpu", "memory", "pods")
_QUANTITY = re.compile(r"\+?(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,3}))?(m|[kMGTPE]i?|Ki|)", re.ASCII)
_SUFFIXES = (
    {"m": 1e-3, "": 1.0}
    | {
        f"{letter}{binary}": (1024.0 if binary else 1000.0) ** power
        for power, letter in enumerate("kMGTPE", 1)
        for binary in ("", "i")
    }
    | {"Ki": 1024.0}
)
_UNITS = (("Ei", 2.0**60), ("Pi", 2.0**50), ("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10))


def bars(capacity: Mapping[str, Any], glyphs: Glyphs) -> list[str]:
    """A line for each resource: the part of it that pods request, as a bar and in numbers."""
    allocatable, requested = capacity.get("allocatable") or {}, capacity.get("requested") or {}
    others = sorted(name for name in allocatable if "/" in name)
    names = [name for name in (*_SHOWN, *others) if name in allocatable]
    longest = max((len(name) for name in names), default=0)
    return [_bar(name.ljust(longest), name, requested.get(name, "0"), allocatable[name], glyphs) for name in names]


def _bar(title: str, name: str, requested: str, allocatable: str, glyphs: Glyphs) -> str:
    used, whole = amount(requested), amount(allocatable)
    part = min(1.0, used / whole) if whole else 0.0
    filled = round(part * WIDTH)
    bar = glyphs.full * filled + glyphs.empty * (WIDTH - filled)
    return f"{title}  {bar} {round(part * 100):3d}%  {_text(name, used)} of {_text(name, whole)} requested"


def amount(text: object) -> float:
    """A quantity of Kubernetes as a number, precise enough for a bar; 0 if it is not a quantity.

    >>> amount("1500m"), amount("2Gi"), amount("110"), amount("x")
    (1.5, 2147483648.0, 110.0, 0.0)
    """
    match = _QUANTITY.fullmatch(str(text))
    return float(f"{match[1]}e{match[2] or 0}") * _SUFFIXES[match[3]] if match else 0.0


def _text(name: str, number: float) -> str:
    if name != "memory":
        return f"{number:.1f}".removesuffix(".0")
    return next((f"{number / size:.1f}{unit}" for unit, size in _UNITS if number >= size), f"{number:.0f}")
