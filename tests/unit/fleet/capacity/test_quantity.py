"""Quantities are read exactly, as Kubernetes reads them, and odd ones are refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.fleet.capacity.quantity import LARGEST, QuantityError, Written, parse, text

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
    "Ei": Fraction(2**60), "e3": Fraction(10**3), "E-2": Fraction(1, 100), "e+6": Fraction(10**6),
}  # fmt: skip


@pytest.mark.parametrize(
    ("resource", "written", "amount"),
    [
        ("cpu", "0.5", 500),
        ("cpu", "1", 1000),
        ("cpu", "1500m", 1500),
        ("cpu", "1n", 1),  # rounded up, as the scheduler does
        ("cpu", "1e2", 100_000),
        ("cpu", 2, 2000),
        ("cpu", 0.1, 100),
        ("cpu", "0", 0),
        ("memory", "1536Mi", 1536 << 20),
        ("memory", "1.5Gi", 1536 << 20),
        ("memory", "128974848", 128974848),
        ("memory", "129e6", 129_000_000),
        ("memory", "129M", 129_000_000),
        ("memory", "1.1Ki", 1127),
        ("memory", "100m", 1),
        ("memory", ".5", 1),
        ("memory", "5.", 5),
        ("memory", "+5", 5),
        ("memory", "12345678901234567890", LARGEST),
        ("memory", "16Ei", LARGEST),
        ("memory", "1e1000000", LARGEST),
        ("memory", "1e-1000000", 1),
        ("nvidia.com/gpu", "8", 8),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(resource: str, written: Written, amount: int) -> None:
    assert parse(resource, written) == amount


@pytest.mark.parametrize(
    "written",
    ["", "-1", "-0", "1.2.3", ".", "e3", "1 Gi", "1gi", "1e", "NaN", "Infinity", "1_000", "\uff11", "0x10", "9" * 65],
)
def test_what_is_no_quantity_is_refused_and_not_quoted(written: str) -> None:
    with pytest.raises(QuantityError, match=r"^is not a quantity, or is negative$"):
        parse("memory", written)


@given(
    whole=st.integers(0, 10**9),
    fraction=st.text("0123456789", max_size=6),
    suffix=st.sampled_from(sorted(SUFFIXES)),
    resource=st.sampled_from(["cpu", "memory"]),
)
def test_reading_agrees_with_fractions(whole: int, fraction: str, suffix: str, resource: str) -> None:
    """Amounts are exact, rounded up to thousandths of cpu and whole units of others, and capped."""
    exact = Fraction(f"{whole}.{fraction or 0}") * SUFFIXES[suffix] * (1000 if resource == "cpu" else 1)
    assert parse(resource, f"{whole}.{fraction}{suffix}") == min(-(-exact // 1), LARGEST)


@given(resource=st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"]), amount=st.integers(0, LARGEST // 1000))
def test_a_written_amount_is_read_as_the_same_amount(resource: str, amount: int) -> None:
    assert parse(resource, text(resource, amount)) == amount
