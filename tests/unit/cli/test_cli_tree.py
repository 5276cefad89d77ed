"""How ``ud get`` words what is stored."""

from typing import Any

import pytest

from uniteddeployment.cli import tree
from uniteddeployment.planning.state import State


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
    assert tree.state(stored(reason=word)) is word


@pytest.mark.parametrize("observed", [None, 1])
@pytest.mark.parametrize("word", ["Ready", "Held", "Stalled"])
def test_what_the_controller_has_not_seen_yet_is_progressing(word: str, observed: int | None) -> None:
    """I8: a status says nothing about a spec that is newer."""
    assert tree.state(stored(observed=observed, reason=word)) is State.PROGRESSING


def test_a_condition_that_is_older_than_the_status_is_not_believed() -> None:
    obj = stored()
    obj["status"]["conditions"][0]["observedGeneration"] = 1
    assert tree.state(obj) is State.PROGRESSING


def test_what_is_being_deleted_says_so_at_once() -> None:
    assert tree.state(stored(deletionTimestamp="2026-01-01T00:00:00Z")) is State.DELETING
