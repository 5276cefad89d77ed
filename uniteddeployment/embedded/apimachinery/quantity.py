"""Kubernetes quantities (``500m``, ``1.5Gi``, ``2e3``): parsing, arithmetic and formatting as in the real server.

Contract: a quantity is an integer number of billionths plus a style of writing; floats are never used. Values finer
than a billionth are rounded away from zero and values beyond 2^63-1 are capped, as in the real server.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Style = Literal["", "i", "e"]
"""The style of a suffix: SI (``k``), binary (``Ki``) or exponent (``e3``)."""

NANO: Final = 10**9
MILLI: Final = 10**6
"""Billionths in a thousandth."""

_LIMIT = (2**63 - 1) * NANO
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = ("", *_BINARY)
_SHAPE = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE])([+-]?\d+)|([a-zA-Z]*))")

WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount."""

    nano: int
    style: Style = ""

    @property
    def milli(self) -> int:
        """Thousandths, rounded up."""
        return -(-self.nano // MILLI)

    @property
    def value(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // NANO)

    def round_up_milli(self) -> "Quantity":
        """The quantity rounded away from zero to whole thousandths."""
        rest = abs(self.nano) % MILLI
        if not rest:
            return self
        away = abs(self.nano) - rest + MILLI
        return Quantity(away if self.nano > 0 else -away, self.style)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.style if self.nano else other.style)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.style if self.nano else other.style)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __str__(self) -> str:
        """The canonical form: no fraction and the largest suffix that loses nothing."""
        nano = self.nano
        if nano == 0:
            return "0"
        if self.style == "i" and not nano % NANO and abs(nano) >= 1024 * NANO:
            return _binary_text(nano // NANO)
        return _decimal_text(nano, exponent=self.style == "e")


def _binary_text(units: int) -> str:
    steps = 0
    while not units % 1024 and steps < len(_BINARY):
        units //= 1024
        steps += 1
    return f"{units}{_BINARY_SUFFIXES[steps]}"


def _decimal_text(nano: int, *, exponent: bool) -> str:
    power = -9
    while not nano % 1000 and power < 18:
        nano //= 1000
        power += 3
    if exponent:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_DECIMAL_SUFFIX[power]}"


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Parse a quantity. Raises QuantityError with the real server's message."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise QuantityError(WRONG)
    sign, whole, fraction, e, exponent, suffix = match.groups()
    fraction = fraction or ""
    if not whole and not fraction:
        raise QuantityError(WRONG)
    digits = int(whole + fraction)
    power, binary, style = _scale(e, exponent, suffix)
    nano = _scaled(digits, power - len(fraction) + 9, binary)
    nano = min(nano, _LIMIT)
    return Quantity(-nano if sign == "-" else nano, style)


def _scale(e: str | None, exponent: str | None, suffix: str | None) -> tuple[int, int, Style]:
    if e is not None:
        return int(exponent or 0), 0, "e"
    suffix = suffix or ""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], 0, ""
    if suffix in _BINARY:
        return 0, _BINARY[suffix], "i"
    if set(suffix) <= set("eEinumkKMGTP"):
        raise QuantityError("unable to parse quantity's suffix")
    raise QuantityError(WRONG)


def _scaled(digits: int, power: int, binary: int) -> int:
    """``digits * 10^power * 2^binary``, rounded up to a whole number."""
    digits <<= binary
    if power >= 0:
        # Larger results are capped at the limit anyway: do not compute millions of digits for "1e999999".
        factor: int = 10 ** min(power, 64)
        return digits * factor
    if power < -len(str(digits)) - 1:
        return 1 if digits else 0
    divisor: int = 10**-power
    return -(-digits // divisor)


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The canonical form of a quantity: ``1024Mi`` -> ``1Gi``, ``0.5`` -> ``500m``."""
    return str(parse(text))


def nano(text: str) -> int:
    """A quantity in billionths, for comparisons and sums."""
    return parse(text).nano


def milli(text: str) -> int:
    """A quantity in thousandths, rounded up: the unit of cpu."""
    return parse(text).milli


def value(text: str) -> int:
    """A quantity in whole units, rounded up: the unit of memory and pods."""
    return parse(text).value
