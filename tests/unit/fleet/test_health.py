"""The phase of a member: thresholds that count from stored times, and damping of members that come and go."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path

import pytest

from uniteddeployment.fleet.clusters import ClusterHealth
from uniteddeployment.fleet.health import (
    SETTLED_AFTER,
    UNREACHABLE,
    Phase,
    Probes,
    Record,
    Settings,
    Sign,
    Trouble,
    due,
    judge,
)
from uniteddeployment.fleet.tracker import LONGEST_GAP
from uniteddeployment_api.v1alpha1 import cluster as api

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| ((?:answers|fails|is)[^|]*?) \| `(\w+)` \|$", PAGE, re.MULTILINE)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SILENCE = Trouble(UNREACHABLE, "no answer")
DEFAULTS = Settings()
RUNNING = Record(Phase.RUNNING, NOW - timedelta(days=1))
OFFLINE = Record(Phase.OFFLINE, NOW, UNREACHABLE, NOW)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def failed(times: int, since: datetime = NOW) -> Probes:
    return Probes(SILENCE, times, since)


@pytest.mark.parametrize(("before", "sign", "to"), ROWS)
def test_each_transition_is_as_documented(before: str, sign: str, to: str) -> None:
    """The table of the page is the state diagram."""
    sign, _, threshold = sign.partition(" for ")
    elapsed = {"": 1.0, "`offlineAfter`": 25.0, "`recoverAfter`": 60.0}[threshold]
    record = Record(Phase(before), NOW - timedelta(hours=1), answering_since=NOW if before == "Offline" else None)
    probes = Probes() if sign == "answers" else failed(2)
    assert judge(record, DEFAULTS, Sign(sign), probes, after(elapsed)).phase == to


def test_the_table_has_every_transition() -> None:
    signs = {(before, sign.partition(" for ")[0]) for before, sign, _ in ROWS}
    assert signs == {(str(phase), str(sign)) for phase, sign in product(Phase, Sign)}
    assert len(ROWS) == len(signs) + 2, "and the two thresholds"


def test_the_defaults_are_those_of_the_api_and_of_the_page() -> None:
    fields = api.ClusterHealth.model_fields
    assert ClusterHealth(**{name: field.default for name, field in fields.items()}).settings() == DEFAULTS
    assert ClusterHealth().settings() == DEFAULTS
    for name, field in fields.items():
        assert f"| `{field.alias or name}` | `{field.default}` |" in PAGE


def test_one_failed_probe_changes_nothing_also_right_after_a_restart() -> None:
    """Nothing is stored, so nothing is written (I3)."""
    assert judge(RUNNING, DEFAULTS, Sign.FAILS, failed(1), after(5)) == RUNNING
    assert judge(RUNNING, DEFAULTS, Sign.FAILS, failed(1), after(3600)) == RUNNING


def test_the_next_process_counts_from_the_stored_time() -> None:
    """A restart in the middle of a failure prolongs nothing, and one bad probe after it is not enough."""
    failing = judge(RUNNING, DEFAULTS, Sign.FAILS, failed(2), after(6))
    assert (failing.phase, failing.failing_since, failing.reason) == (Phase.RUNNING, NOW, UNREACHABLE)
    assert due(failing, DEFAULTS) == after(25)
    restarted = failed(1, since=after(24))
    assert judge(failing, DEFAULTS, Sign.FAILS, restarted, after(30)).phase is Phase.RUNNING
    gone = judge(failing, DEFAULTS, Sign.FAILS, replace(restarted, failures=2), after(30))
    assert (gone.phase, gone.since, gone.failing_since) == (Phase.OFFLINE, after(30), NOW)


def test_a_failure_counts_from_the_last_good_answer_unless_this_process_was_suspended() -> None:
    """A member that hangs is found within 30 s; a controller that was frozen does not blame its members."""
    frozen = Probes(last_answer=NOW).failed(SILENCE, after(15), longest_gap=LONGEST_GAP)
    assert frozen.failing_since == NOW
    asleep = Probes(last_answer=NOW).failed(SILENCE, after(600), longest_gap=LONGEST_GAP)
    assert asleep.failing_since == after(600)
    again = asleep.failed(SILENCE, after(601), longest_gap=LONGEST_GAP)
    assert (again.failing_since, again.failures) == (after(600), 2)


def test_an_offline_member_is_running_after_good_answers_without_a_single_failure() -> None:
    answering = judge(OFFLINE, DEFAULTS, Sign.ANSWERS, Probes(), after(100))
    assert (answering.phase, due(answering, DEFAULTS)) == (Phase.OFFLINE, after(160))
    assert judge(answering, DEFAULTS, Sign.ANSWERS, Probes(), after(159)) == answering
    again = judge(answering, DEFAULTS, Sign.FAILS, failed(1), after(159))
    assert again == replace(OFFLINE, answering_since=None)
    recovered = judge(answering, DEFAULTS, Sign.ANSWERS, Probes(), after(160))
    assert recovered == Record(Phase.RUNNING, after(160), outages=OFFLINE.outages)


def story(up: float, down: float, hours: float = 3) -> Iterator[tuple[float, Record]]:
    """A member that comes and goes, probed each second, from a Running state on."""
    record, probes = RUNNING, Probes(last_answer=NOW)
    for second in range(int(hours * 3600)):
        now, answers = after(second), second % (up + down) < up
        probes = probes.answered(now) if answers else probes.failed(SILENCE, now, longest_gap=LONGEST_GAP)
        record = judge(record, DEFAULTS, Sign.ANSWERS if answers else Sign.FAILS, probes, now)
        yield second, record


@pytest.mark.parametrize(("up", "down"), [(20, 20), (90, 40), (300, 60), (599, 30)])
def test_a_member_that_comes_and_goes_changes_its_phase_less_and_less(up: float, down: float) -> None:
    """The longer it flapped, the longer it waits, up to the maximum; a member up for 20 s is never Running again."""
    phases = [(second, record.phase) for second, record in story(up, down)]
    changes = [second for (_, old), (second, new) in pairwise(phases) if old is not new]
    assert 0 < len(changes) <= 9
    assert changes[-1] < 1.5 * 3600
    assert phases[-1][1] is Phase.OFFLINE


def test_a_member_that_settles_is_running_within_the_maximum() -> None:
    settings = Settings(max_recover_after=timedelta(minutes=5))
    assert [settings.recovery(outages) for outages in (0, 1, 2, 3, 4, 30)] == [
        timedelta(seconds=seconds) for seconds in (60, 60, 120, 240, 300, 300)
    ]
    assert Settings(recover_after=timedelta(hours=1)).recovery(0) == timedelta(hours=1)


def test_outages_are_forgotten_after_a_stable_time() -> None:
    for running, outages in ((timedelta(minutes=9), 4), (timedelta(minutes=10), 1)):
        record = Record(Phase.RUNNING, NOW - running, outages=3)
        assert judge(record, DEFAULTS, Sign.REPLACED, failed(1), NOW).outages == outages


def test_short_failures_of_a_running_member_are_forgotten_after_half_a_minute() -> None:
    failing = judge(RUNNING, DEFAULTS, Sign.FAILS, failed(2), after(3))
    answering = judge(failing, DEFAULTS, Sign.ANSWERS, Probes(), after(4))
    assert due(answering, DEFAULTS) == after(4) + SETTLED_AFTER
    assert judge(answering, DEFAULTS, Sign.ANSWERS, Probes(), after(33)) == answering
    assert judge(answering, DEFAULTS, Sign.ANSWERS, Probes(), after(34)) == RUNNING


def test_stored_times_in_the_future_count_as_now() -> None:
    """The clock of the controller was set back by an hour: nothing waits for an hour."""
    record = replace(RUNNING, failing_since=after(3600), reason=UNREACHABLE)
    failing = judge(record, DEFAULTS, Sign.FAILS, failed(2), NOW)
    assert failing.failing_since == NOW
    assert judge(failing, DEFAULTS, Sign.FAILS, failed(3), after(25)).phase is Phase.OFFLINE
