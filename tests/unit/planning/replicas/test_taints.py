"""Taints of clusters keep replicas away, or move them, unless they are tolerated: as Kubernetes does it for nodes."""

from typing import Any

import pytest

from uniteddeployment.planning.observed import Taint
from uniteddeployment.planning.replicas.taints import TOLERATED, Verdict, judge, tolerates
from uniteddeployment_api import Toleration

NOW = "2026-01-01T00:10:00Z"
GPU = Taint("gpu", "a100", "NoExecute", "2026-01-01T00:09:00Z")


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoExecute"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"value": "a100"}, False),
    ],
)
def test_a_toleration_matches_by_key_value_and_effect(fields: dict[str, Any], matches: bool) -> None:
    """An absent effect matches every effect; only Exists matches every value, and, without a key, every key."""
    assert tolerates(Toleration(**fields), GPU) is matches


def test_a_taint_without_a_value_equals_a_toleration_without_one() -> None:
    """The value is empty on both sides, as in ``kubectl taint node n gpu:NoSchedule``."""
    assert tolerates(Toleration(key="gpu"), Taint("gpu"))


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(None, None), (300, 240), (61, 1), (60, 0), (59, 0), (0, 0), (-5, 0)],
)
def test_replicas_stay_for_the_seconds_that_they_tolerate_since_the_taint_was_added(
    seconds: int | None, left: int | None
) -> None:
    """The time counts from the stored time of the taint; zero and negative seconds mean at once."""
    verdict = judge([GPU], [Toleration(operator="Exists", effect="NoExecute", toleration_seconds=seconds)], NOW)
    assert (verdict.leaves, verdict.requeue_after) == (left == 0, left or None)
    assert verdict.may_grow is (left is None)


def test_a_taint_whose_time_is_not_stored_yet_is_tolerated_for_the_whole_time() -> None:
    """Without the time of the taint, nothing moves early."""
    toleration = Toleration(operator="Exists", toleration_seconds=60, effect="NoExecute")
    assert judge([Taint("gpu", effect="NoExecute")], [toleration], NOW).requeue_after == 60


def test_the_first_matching_toleration_counts() -> None:
    """As in Kubernetes, a later toleration does not extend an earlier one."""
    patient, brief = (Toleration(operator="Exists", effect="NoExecute", toleration_seconds=s) for s in (None, 1))
    assert judge([GPU], [brief, patient], NOW).leaves
    assert judge([GPU], [patient, brief], NOW) == TOLERATED


def test_each_effect_has_its_own_consequence_and_the_strongest_one_is_named() -> None:
    """NoSchedule stops growth, PreferNoSchedule is a preference, and NoExecute moves what is there."""
    taints = [Taint("soft", effect="PreferNoSchedule"), Taint("hard"), Taint("out", effect="NoExecute")]
    assert judge(taints[:1], [], NOW) == Verdict(preferred=False, note="the taint soft:PreferNoSchedule")
    assert judge(taints[:2], [], NOW) == Verdict(may_grow=False, preferred=False, note="the taint hard:NoSchedule")
    assert judge(taints, [], NOW) == Verdict(
        may_grow=False, preferred=False, leaves=True, note="the taint out:NoExecute"
    )
    assert judge(taints, [Toleration(operator="Exists")], NOW) == TOLERATED


def test_the_earliest_end_of_a_toleration_decides() -> None:
    """Of two taints that are tolerated for a time, the one whose time ends first is waited for."""
    other = Taint("rack", effect="NoExecute", time_added=NOW)
    tolerations = [
        Toleration(key="gpu", operator="Exists", effect="NoExecute", toleration_seconds=70),
        Toleration(key="rack", operator="Exists", effect="NoExecute", toleration_seconds=70),
    ]
    assert judge([other, GPU], tolerations, NOW).requeue_after == 10
