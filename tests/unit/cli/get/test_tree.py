"""``ud get``: applications as trees."""

from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.get import tree
from uniteddeployment.cli.output.terminal import Glyphs

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


def test_in_80_columns_names_states_and_reasons_are_complete() -> None:
    assert lines(ROLLOUT, 80) == [
        "NAME                            DESIRED  READY  UPDATED  PARTITION  STATUS",
        "◌ web                                 8      6        2             Progressing",
        "├─ ◌ member-1                         4      3        1          2  Progressing",
        '│    3 of 4 pods ready (1 ImagePullBackOff: Back-off pulling image "app:2" which',
        "│    is nowhere to be found)",
        "└─ ⏸ member-2-with-a-long-name        4      4        1          2  Held",
    ]


def test_with_namespaces_reasons_are_below_the_names() -> None:
    shown = lines({**ROLLOUT, "metadata": {**ROLLOUT["metadata"], "namespace": "shop"}}, 90, namespaces=True)
    assert shown[2:5] == [
        "           ├─ ◌ member-1                         4      3        1          2  Progressing",
        '           │    3 of 4 pods ready (1 ImagePullBackOff: Back-off pulling image "app:2"',
        "           │    which is nowhere to be found)",
    ]


def test_without_a_limit_every_column_is_shown() -> None:
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


def test_a_status_of_an_older_spec_shows_no_subset_as_ready_and_no_reason() -> None:
    """I8"""
    shown = lines(web(entry("a", "Ready"), entry("b", "Stalled", "no such cluster"), reason="Ready", observed=1))
    assert [line.split()[-1] for line in shown[3:]] == ["Progressing", "Progressing"]
    assert (
        shown[2].strip()
        == "the controller has not observed generation 2 of the spec yet (it has observed generation 1)"
    )


def test_the_message_of_the_application_is_shown_if_no_subset_explains_it() -> None:
    message = "6 of 8 pods ready; waits for StatefulSet web-old, where workloads may be left"
    assert lines(web(entry("a", "Ready"), reason="Progressing", message=message))[2] == f"    {message}"
    shown = lines(web(entry("a", "Stalled", "why"), reason="Stalled", message=message))
    assert not [line for line in shown if message in line], "the subset explains it"
    both = lines(web(entry("a", "Stalled", "why"), reason="Stalled", message=message, unplacedReplicas=2))
    assert both[2] == f"    {message}"


def test_a_subset_in_an_unreachable_cluster_shows_the_age_of_its_counts() -> None:
    """I8"""
    lost = entry("a", "Unknown", "default/a is Offline: no answer", lastObservedTime="2026-01-01T00:08:30Z")
    shown = lines(web(lost, reason="Unknown"))
    assert shown[-2].split()[-2:] == ["Unknown", "90s"]
    assert shown[-1].strip() == "default/a is Offline: no answer"


def test_a_subset_that_gives_replicas_away_shows_where_it_will_end_and_what_may_still_run() -> None:
    """Also if it is otherwise as requested; the counts of a lost cluster have their age."""
    moving = entry("a", "Ready", "2 more move to b when their replacements are ready", desiredReplicas=2)
    lost = entry(
        "b",
        "Unknown",
        "default/b is Offline: no answer",
        desiredReplicas=0,
        possiblyRunning=4,
        lastObservedTime="2026-01-01T00:05:00Z",
    )
    shown = lines(web(moving, lost, reason="Unknown", message="8 of 8 pods ready"))
    assert [line.split()[2:6] for line in shown[2:3]] == [["a", "a", "4", "→"]]
    assert shown[3].strip(" │") == "2 more move to b when their replacements are ready"
    assert "4 → 0" in shown[4]
    assert shown[4].endswith("5m")
    assert shown[5].strip() == "default/b is Offline: no answer (4 pods may still run there)"
    one = lines(web(entry("b", "Unknown", "no answer", possiblyRunning=1), reason="Unknown"))
    assert one[-1].strip() == "no answer (1 pod may still run there)"
