"""The clock of a server, as the header Date of its answers shows it."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from uniteddeployment.kube.server_clock import ServerClock

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def heard(clock: ServerClock, ahead: float, *, at: float = 0.0, took: float = 0.1) -> int:
    """The difference after one more answer of a server whose clock is this many seconds ahead."""
    sent = NOW + timedelta(seconds=at)
    shown = sent + timedelta(seconds=took / 2 + ahead)
    clock.note(format_datetime(shown.replace(microsecond=0), usegmt=True), sent, sent + timedelta(seconds=took))
    return clock.ahead


@pytest.mark.parametrize(
    ("ahead", "most"), [(3600, 1), (-3600, 1), (90, 1), (0, 0), (4, 0), (-4, 0), (10 * 365 * 86400, 0)]
)
def test_a_difference_is_known_to_a_second_and_a_small_or_impossible_one_is_none(ahead: int, most: int) -> None:
    """A year of difference is no clock: a time that cannot be must not end up in plans (I16)."""
    found = heard(ServerClock(), ahead)
    assert abs(found - (ahead if most else 0)) <= most


def test_later_answers_change_a_difference_only_if_it_has_changed() -> None:
    """Plans are compared with each other, so a difference that moved with each answer would change them (I3)."""
    clock = ServerClock()
    known = heard(clock, 3600.0)
    assert {heard(clock, 3600.0, at=tenth / 10, took=tenth % 7) for tenth in range(100)} == {known}
    assert abs(heard(clock, 1800.0) - 1800) <= 1
    assert heard(clock, 0.0) == 0


def test_an_answer_that_took_long_does_not_make_a_difference() -> None:
    assert heard(ServerClock(), 0.0, took=20.0) == 0


@pytest.mark.parametrize(
    "date", [None, "", "soon", "Thu, 01 Jan 2026 13:00:00", "Thu, 99 Jan 2026 13:00:00 GMT", "0" * 99]
)
def test_what_is_not_a_time_says_nothing(date: str | None) -> None:
    clock = ServerClock()
    clock.note(date, NOW, NOW)
    assert clock.ahead == 0
