"""Conditions of gates: a small typed language, in which a text can only be a comparison of numbers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uniteddeployment_api.gate_conditions import InvalidCondition, parse


@pytest.mark.parametrize(
    ("text", "canary", "stable", "holds"),
    [
        ("result < 0.05", 0.01, 0, True),
        ("canary <= stable * 1.2", 0.25, 0.2, False),
        ("canary <= stable + 2 * 3 - 1", 7, 2, True),
        ("result > 1 and result < 3 or result == 9", 9, 0, True),
        ("result > 1 && (result < 3 || result == 9)", 0.5, 0, False),
        ("not (result >= 1e-2)", 0.001, 0, True),
        ("!(result != 1)", 1, 0, True),
        ("-canary < -stable", 3, 2, True),
        ("canary / stable < 2", 1, 0, False),
        ("canary / stable < 2", 0, 0, None),
        (".5 < result", 1, 0, True),
        ("result - 1 - 1 == 0", 2, 0, True),
    ],
)
def test_a_condition_has_the_value_that_a_reader_expects(
    text: str, canary: float, stable: float, holds: bool | None
) -> None:
    assert parse(text).holds(canary, stable) is holds


def test_division_is_that_of_prometheus() -> None:
    assert parse("canary / stable > 1000000").holds(1, 0)
    assert parse("canary / stable < -1000000").holds(-1, 0)
    assert parse("canary / stable - canary / stable == 0").holds(1, 0) is None
    assert parse("canary < 1").holds(math.nan, 0) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("result", "the condition must be a truth value, but a number begins at character 1"),
        ("result <", "expected a number or a name at character 9, not the end"),
        ("1 < 2 < 3", "unexpected '<' at character 7"),
        ("errors < 1", "unknown name 'errors' at character 1; known are result, canary, stable"),
        ("(result < 1", "the parenthesis at character 1 is not closed"),
        ("__import__('os')", "unexpected"),
        ("result.real < 1", "unexpected '.' at character 7"),
        ("result < 1 & result > 0", "unexpected '&' at character 12"),
        ("!result", "what follows ! must be a truth value"),
        ("(result < 1) + 1 > 0", "each side of an operator must be a number"),
        ("(" * 200 + "result", "nested more than 32 levels deep"),
    ],
)
def test_anything_else_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse(text)
    assert message in str(caught.value)


@settings(deadline=None)
@given(st.text(st.sampled_from("result canry<>=!&|()+-*/.0123456789e andor"), max_size=80))
def test_a_random_text_is_refused_or_has_a_value(text: str) -> None:
    try:
        condition = parse(text)
    except InvalidCondition:
        return
    assert condition.holds(0.5, 2.0) in (True, False, None)
