"""Foreign text, made fit to be kept and shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.text import shortened


@given(st.text(max_size=200), st.integers(1, 60))
def test_a_text_is_never_longer_than_asked_for_and_always_one_printable_line(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short) <= limit
    assert short.isprintable()
    assert shortened(short, limit) == short


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fine", "fine"),
        ("0123456789", "0123456789"),
        ("0123456789a", "012345678…"),
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred", "[31mred"),
        ("a\ud800b", "a b"),
        (" " * 30 + "x" * 30, "xxxxxxxxx…"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert shortened(text, 10) == expected
