"""Which failed writes need somebody to act, and what is said of them."""

from typing import Any

import pytest

from uniteddeployment.controller.failures import (
    LONGEST_MESSAGE,
    TRANSIENT_SECONDS,
    UNEXPLAINED_SECONDS,
    Failure,
    failure,
    is_final,
)
from uniteddeployment.controller.takeover import NotAdoptable, NotOurs, NotReplaceable
from uniteddeployment.kube import errors
from uniteddeployment.planning.observed import WorkloadRef
from uniteddeployment.planning.steps import Apply

STEP = Apply(WorkloadRef("default/member-1", "a", "StatefulSet", "web-a"), {}, "create it", create=True)
TERMINATING: dict[str, Any] = {"causes": [{"reason": "NamespaceTerminating", "message": "it goes", "field": ""}]}


def noted(error: errors.KubeError, before: Failure | None = None, *, generation: int = 1, now: float = 0.0) -> Failure:
    return failure(before, STEP, error, generation, now)


@pytest.mark.parametrize(
    "error",
    [
        *(errors.from_status(status, "Refused") for status in (400, 401, 403, 405, 406, 413, 415, 422)),
        NotAdoptable("no"),
        NotOurs("no"),
        NotReplaceable("no"),
    ],
    ids=str,
)
def test_what_is_refused_for_what_it_is_needs_somebody_at_once(error: errors.KubeError) -> None:
    """I11"""
    assert noted(error).stalled
    assert is_final(error)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        *((errors.from_status(status, "Busy"), TRANSIENT_SECONDS) for status in (404, 409, 410, 429, 500, 503, 504)),
        (errors.from_status(403, "Forbidden", details=TERMINATING), TRANSIENT_SECONDS),
        (errors.Unreachable("member-1", "no answer"), TRANSIENT_SECONDS),
        (errors.from_status(500), UNEXPLAINED_SECONDS),
    ],
    ids=str,
)
def test_what_may_pass_needs_somebody_when_it_does_not(error: errors.KubeError, seconds: float) -> None:
    """I8: the count begins with the first failure in a row, whatever each of them is."""
    assert not is_final(error)
    first = noted(errors.Unreachable("member-1", "no answer"), now=100.0)
    assert not first.stalled
    assert not noted(error, first, now=100.0 + seconds - 0.1).stalled
    assert noted(error, first, now=100.0 + seconds).stalled


def test_what_needs_somebody_does_so_until_a_write_succeeds() -> None:
    """A quota does not go because the connection breaks."""
    refused = noted(errors.from_status(403), now=0.0)
    assert noted(errors.from_status(503), refused, now=1.0).stalled


def test_another_generation_begins_anew() -> None:
    refused = noted(errors.from_status(422), now=0.0)
    assert noted(errors.from_status(503), refused, generation=2, now=100.0) == Failure(
        "StatefulSet web-a in default/member-1: HTTP 503", 2, 100.0, stalled=False
    )


def test_the_words_of_the_member_are_cut() -> None:
    """I16"""
    said = noted(errors.from_status(422, "Invalid", "x" * LONGEST_MESSAGE + "y")).message
    assert said.endswith("x...")
    assert len(said) < LONGEST_MESSAGE + 100
    whole = noted(errors.from_status(422, "Invalid", "x" * LONGEST_MESSAGE)).message
    assert whole.endswith("xx")


def test_a_name_that_is_taken_says_what_to_do() -> None:
    """I13"""
    said = noted(NotOurs("it belongs to the UnitedDeployment default/other")).message
    assert said == (
        "StatefulSet web-a exists in default/member-1: it belongs to the UnitedDeployment default/other, "
        "and is left alone. Rename the subset or remove the StatefulSet"
    )
