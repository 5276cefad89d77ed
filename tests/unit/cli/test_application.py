"""The state of an application, as commands derive it from a stored object."""

from typing import Any

import pytest

from uniteddeployment.cli import application
from uniteddeployment.planning.results import State


def stored(*, generation: int = 2, observed: int | None = 2, reason: str = "Ready", **metadata: Any) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if observed is not None:
        ready = {"type": "Ready", "status": "True", "reason": reason, "observedGeneration": observed}
        entry = {"name": "a", "state": reason, "replicas": 1, "readyReplicas": 1}
        status = {"observedGeneration": observed, "conditions": [ready], "subsetStatuses": [entry]}
    return {
        "metadata": {"name": "web", "generation": generation, **metadata},
        "spec": {"replicas": 1},
        "status": status,
    }


@pytest.mark.parametrize("word", [word for word in State if word is not State.DELETING])
def test_the_state_is_the_reason_of_the_condition_ready(word: State) -> None:
    assert application.state(stored(reason=word)) is word


@pytest.mark.parametrize("observed", [None, 1])
@pytest.mark.parametrize("word", ["Ready", "Held", "Stalled"])
def test_a_spec_that_the_controller_has_not_observed_is_progressing(word: str, observed: int | None) -> None:
    """I8: a status says nothing about a newer spec."""
    assert application.state(stored(observed=observed, reason=word)) is State.PROGRESSING


def test_a_condition_of_an_older_generation_is_ignored() -> None:
    obj = stored()
    obj["status"]["conditions"][0]["observedGeneration"] = 1
    assert application.state(obj) is State.PROGRESSING


def test_an_object_with_a_deletion_timestamp_is_deleting() -> None:
    assert application.state(stored(deletionTimestamp="2026-01-01T00:00:00Z")) is State.DELETING
