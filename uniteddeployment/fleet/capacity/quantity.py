"""Quantities of Kubernetes as exact integers: thousandths of cpu, and whole units of every other resource.

Fractions are rounded up, and large values are capped at 2^63 - 1, as Kubernetes does. Requests and allocatable
resources are never negative, so a negative quantity is an error.
"""

import re
from functools import lru_cache
from typing import Final, TypeAlias

CPU: Final = "cpu"
LARGEST: Final = 2**63 - 1
LONGEST: Final = 64
"""The most characters of a quantity. Servers store them in a canonical form, which is shorter."""

Written: TypeAlias = str | int | float
"""A quantity in JSON or YAML. Servers answer with text; users may also write numbers."""

_FORM = re.compile(r"\+?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MOST_POWER = 128
"""Exponents beyond this make any quantity as large, or as small, as it can be."""


class QuantityError(ValueError):
    """The text is not a quantity that a resource can have. The message does not quote it."""


def parse(resource: str, written: Written) -> int:
    """Return an amount of a resource. Raises QuantityError.

    >>> parse("cpu", "1.5"), parse("cpu", "100u"), parse("memory", "1.5Ki"), parse("pods", "110")
    (1500, 1, 1536, 110)
    """
    return _parsed(str(written), milli=resource == CPU)


@lru_cache(8192)
def _parsed(text: str, *, milli: bool) -> int:
    match = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise QuantityError("is not a quantity, or is negative")
    whole, fraction, exponent, suffix = match.groups()
    fraction, suffix = fraction or "", suffix or ""
    if not whole and not fraction:
        raise QuantityError("is not a quantity, or is negative")
    digits = int(whole + fraction) << _BINARY.get(suffix, 0)
    power = int(exponent) if exponent else _DECIMAL.get(suffix, 0)
    return min(_scaled(digits, power - len(fraction) + (3 if milli else 0)), LARGEST)


def _scaled(digits: int, power: int) -> int:
    """``digits * 10^power``, rounded up."""
    if power >= 0:
        return int(digits * 10 ** min(power, _MOST_POWER))
    return -(-digits // int(10 ** min(-power, _MOST_POWER)))


def text(resource: str, amount: int) -> str:
    """Return an amount in the form in which Kubernetes writes it.

    >>> text("cpu", 1500), text("cpu", 2000), text("memory", 3 << 30), text("pods", 2048), text("nvidia.com/gpu", 2048)
    ('1500m', '2', '3Gi', '2048', '2048')
    """
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource not in {"memory", "ephemeral-storage"} and not resource.startswith("hugepages-"):
        return str(amount)
    suffix = ""
    for larger in _BINARY:
        if not amount or amount % 1024:
            break
        amount, suffix = amount // 1024, larger
    return f"{amount}{suffix}"
