"""Quantities are exact and canonical, and compare by value."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.apimachinery.quantity import (
    Quantity,
    QuantityError,
    canonical,
    milli,
    nano,
    parse,
    value,
)

SCALES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
    "Ei": Fraction(2**60), "e3": Fraction(10**3), "E-2": Fraction(1, 100), "e+6": Fraction(10**6),
}  # fmt: skip
LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1000000000", "1G"),
        ("1.5Gi", "1536Mi"),
        ("129e6", "129e6"),
        ("1e2", "100"),
        ("123456789", "123456789"),
        ("0.0001", "100u"),
        ("0.1n", "1n"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("0", "0"),
        ("-0.5", "-500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("12345678901234567890", str(LIMIT)),
        ("1e1000000", str(LIMIT)),
    ],
)
def test_a_quantity_is_shown_without_a_fraction_and_with_the_largest_suffix(written: str, shown: str) -> None:
    assert canonical(written) == shown


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.integers(0, 10**9),
    fraction=st.text("0123456789", max_size=6),
    suffix=st.sampled_from(sorted(SCALES)),
)
def test_reading_agrees_with_fractions(sign: str, whole: int, fraction: str, suffix: str) -> None:
    """Values finer than a billionth are rounded away from zero; values that are too large are capped."""
    exact = abs(Fraction(f"{whole}.{fraction or 0}") * SCALES[suffix])
    wanted = min(-(-exact * 10**9 // 1), LIMIT * 10**9)
    assert nano(f"{sign}{whole}.{fraction}{suffix}") == (-wanted if sign == "-" else wanted)


@given(amount=st.integers(-(10**24), 10**24), style=st.sampled_from(["", "i", "e"]))
def test_formatted_quantities_parse_to_the_same_value(amount: int, style: str) -> None:
    """A binary amount that is not divisible by a power of 1024 has no suffix, and is decimal when it is parsed
    again.
    """
    quantity = Quantity(amount, style)  # type: ignore[arg-type]  # sampled from the very words
    again = parse(str(quantity))
    assert again.nano == amount
    assert str(again) == str(quantity) or (style == "i" and str(quantity).lstrip("-").isdigit())


@given(first=st.integers(-(10**20), 10**20), second=st.integers(-(10**20), 10**20))
def test_sums_and_comparisons_are_those_of_the_amounts(first: int, second: int) -> None:
    a, b = Quantity(first), Quantity(second)
    assert (a + b).nano == first + second
    assert (a - b).nano == first - second
    assert (a < b) is (first < second)
    assert (a <= b) is (first <= second)


def test_counting_rounds_up() -> None:
    assert milli("0.1m") == 1
    assert milli("2") == 2000
    assert value("1500m") == 2
    assert value("1Ki") == 1024
    assert str(parse("0.0001").round_up_milli()) == "1m"
    assert str(parse("-0.0001").round_up_milli()) == "-1m"


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "1 Gi", "Gi", "--1", "1e", "1x"])
def test_invalid_quantities_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=r"quantities must match|suffix"):
        parse(text)
