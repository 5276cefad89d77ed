"""How ``ud get`` words what is stored."""

from datetime import UTC, datetime
from typing import Any

import pytest

from uniteddeployment.cli import tree
from uniteddeployment.cli.terminal import Glyphs
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


NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


def entry(name: str, state: str, reason: str = "50% of 8", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "state": state,
        "cluster": f"default/{name}",
        "workload": f"StatefulSet/web-{name}",
        "replicas": 4,
        "readyReplicas": 3,
        "updatedReplicas": 1,
        "partition": 2,
        "revision": "new",
        "reason": reason,
        **more,
    }


def web(*entries: dict[str, Any], reason: str, message: str = "", observed: int = 2, **status: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "reason": reason, "message": message, "observedGeneration": observed}
    return {
        "metadata": {"name": "web", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicas": 8},
        "status": {
            "observedGeneration": observed,
            "readyReplicas": 6,
            "updatedReplicas": 2,
            "currentRevision": "web-old",
            "updatedRevision": "web-new",
            "conditions": [ready],
            "subsetStatuses": list(entries),
            **status,
        },
    }


def lines(obj: dict[str, Any], width: int | None = None, **options: Any) -> list[str]:
    return [line.plain for line in tree.View(Glyphs(), width, now=NOW, **options).lines([obj])]


PULL = '3 of 4 pods ready (1 ImagePullBackOff: Back-off pulling image "app:2" which is nowhere to be found)'
ROLLOUT = web(
    entry("member-1", "Progressing", PULL),
    entry("member-2-with-a-long-name", "Held", readyReplicas=4),
    reason="Progressing",
    message="6 of 8 pods ready; member-1: ...",
)


def test_in_80_columns_names_states_and_reasons_are_whole() -> None:
    assert lines(ROLLOUT, 80) == [
        "NAME                            DESIRED  READY  UPDATED  PARTITION  STATUS",
        "◌ web                                 8      6        2             Progressing",
        "├─ ◌ member-1                         4      3        1          2  Progressing",
        '│    3 of 4 pods ready (1 ImagePullBackOff: Back-off pulling image "app:2" which',
        "│    is nowhere to be found)",
        "└─ ⏸ member-2-with-a-long-name        4      4        1          2  Held",
    ]


def test_where_there_is_room_everything_is_shown() -> None:
    shown = lines(ROLLOUT)
    assert shown[0].split() == [
        "NAME", "CLUSTER", "DESIRED", "READY", "UPDATED", "PARTITION", "REVISION", "STATUS", "AGE",
    ]  # fmt: skip
    assert shown[1].split() == ["◌", "web", "8", "6", "2", "old", "→", "new", "Progressing", "10m"]
    assert shown[3] == f"│    {PULL}"


def test_with_wide_output_each_subset_is_one_line() -> None:
    shown = lines(ROLLOUT, 80, wide=True)
    assert len(shown) == 4
    assert shown[2].endswith(f"StatefulSet/web-member-1                   {PULL}")
    assert shown[3].endswith("50% of 8")


def test_of_an_older_spec_no_subset_is_said_to_be_ready_and_no_reason_is_told() -> None:
    """I8"""
    shown = lines(web(entry("a", "Ready"), entry("b", "Stalled", "no such cluster"), reason="Ready", observed=1))
    assert [line.split()[-1] for line in shown[3:]] == ["Progressing", "Progressing"]
    assert shown[2].strip() == "the controller has not seen generation 2 of the spec yet (it has seen generation 1)"


def test_what_no_subset_explains_is_told_of_the_application() -> None:
    message = "6 of 8 pods ready; waits for StatefulSet web-old, where workloads may be left"
    assert lines(web(entry("a", "Ready"), reason="Progressing", message=message))[2] == f"    {message}"
    told = lines(web(entry("a", "Stalled", "why"), reason="Stalled", message=message))
    assert not [line for line in told if message in line], "the subset says it"
    both = lines(web(entry("a", "Stalled", "why"), reason="Stalled", message=message, unplacedReplicas=2))
    assert both[2] == f"    {message}"


def test_a_subset_that_nobody_hears_of_shows_how_old_its_counts_are() -> None:
    """I8"""
    lost = entry("a", "Unknown", "default/a is Offline: no answer", lastObservedTime="2026-01-01T00:08:30Z")
    shown = lines(web(lost, reason="Unknown"))
    assert shown[-2].split()[-2:] == ["Unknown", "90s"]
    assert shown[-1].strip() == "default/a is Offline: no answer"


@pytest.mark.parametrize(("stamp", "shown"), [("yesterday", "<invalid>"), ("2026-01-01", "10m"), (None, "")])
def test_a_time_that_is_none_is_no_reason_to_fail(stamp: str | None, shown: str) -> None:
    assert tree.age(stamp, NOW) == shown
