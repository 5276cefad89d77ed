"""When the token of a member is replaced, and how the life of a token is read."""

import base64
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.fleet import rotation
from uniteddeployment.fleet.account import NO_MARK, Lifetime, Mark, read_lifetime, read_mark
from uniteddeployment.fleet.rotation import schedule
from uniteddeployment_api import names

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = st.integers(600, 366 * 24 * 3600)


def life(seconds: float, issued: datetime = NOW) -> Lifetime:
    return Lifetime(issued, issued + timedelta(seconds=seconds))


def jwt(claims: Any) -> str:
    return ".".join(("e30", base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("="), "signature"))


@given(SECONDS, st.text(max_size=36))
def test_a_token_is_replaced_after_60_to_80_percent_of_its_life(seconds: int, uid: str) -> None:
    times = schedule(life(seconds), NOW, uid)
    part = (times.due - NOW).total_seconds() / seconds
    assert 0.599 < part < 0.801
    assert times == schedule(life(seconds), NOW, uid), "it is not random"


def test_members_that_are_registered_together_are_not_all_due_together() -> None:
    due = sorted(schedule(life(86400), NOW, f"uid-{number}").due for number in range(100))
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert max(gaps) < timedelta(hours=1)
    assert due[-1] - due[0] > timedelta(hours=4)


@given(st.integers(-7200, 7200))
def test_a_clock_of_the_member_that_is_off_changes_nothing(off: int) -> None:
    """The life counts from when the token was requested, by the clock of this process."""
    skewed = life(3600, NOW + timedelta(seconds=off))
    assert schedule(skewed, NOW, "uid") == schedule(life(3600), NOW, "uid")
    assert schedule(skewed, None, "uid").expires == skewed.expires


@given(SECONDS, st.integers(1, 1000))
def test_there_is_time_for_several_attempts_before_a_token_expires(seconds: int, failures: int) -> None:
    times = schedule(life(seconds), NOW, "uid")
    pause = times.retry_after(failures)
    assert timedelta(0) < pause <= min(rotation.LONGEST_RETRY, (times.expires - times.due) / 3)
    assert pause >= times.retry_after(1)


def test_the_life_of_a_token_is_read_from_its_claims() -> None:
    assert read_lifetime(jwt({"iat": NOW.timestamp(), "exp": NOW.timestamp() + 60})) == life(60)


@pytest.mark.parametrize(
    "token",
    ["", "a.b", "a.b.c", jwt([]), jwt({"iat": 1}), jwt({"iat": "x", "exp": 2}), jwt({"iat": 1, "exp": 1e300})],
)
def test_a_token_without_a_readable_life_does_not_expire(token: str) -> None:
    assert read_lifetime(token) is None


@given(st.binary(max_size=60))
def test_no_token_breaks_the_reader(raw: bytes) -> None:
    token = raw.decode("latin-1")
    for text in (token, f"a.{token}", jwt(token)):
        read_lifetime(text)


def test_a_mark_is_read_as_it_was_written() -> None:
    for mark in (Mark("https://h", "uid", "a/b"), Mark("", "uid", "", created=True)):
        assert read_mark(mark.annotations()) == mark
        assert set(mark.annotations()) <= set(NO_MARK)
    assert read_mark({}) is None
    assert read_mark(None) is None
    assert read_mark({names.ANNOTATION_HOST_UID: "uid"}) == Mark("", "uid", "")
