"""What the outcome of connections and probes means for the health of a Cluster, and what is judged again later."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec, ClusterTaint
from uniteddeployment.fleet.entry import DUPLICATE, MISSING_RIGHT, REPLACED, Entry, Problem
from uniteddeployment.fleet.health import INVALID_CREDENTIALS, UNAUTHORIZED, UNREACHABLE, Trouble
from uniteddeployment.fleet.tracker import Tracker
from uniteddeployment.planning.observed import Reach
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
SILENCE = Trouble(UNREACHABLE, "no answer")
STORED = {"phase": "Running", "phaseTransitionTime": "2025-12-31T00:00:00Z"}


class Stage:
    """A tracker with one Cluster."""

    def __init__(self, status: dict[str, Any] | None = None, **spec: Any) -> None:
        self.changes = 0
        self.phases: list[str] = []
        self.tracker = Tracker(self.now, changed=self._changed, fit_changed=self._fit_changed)
        self.entry = Entry(
            ClusterObject(ClusterMetadata("one", "default"), ClusterSpec(**spec), STORED if status is None else status)
        )
        self.tracker.begin(self.entry, None)

    @staticmethod
    def now() -> datetime:
        return BEGUN + timedelta(seconds=asyncio.get_running_loop().time())

    def _changed(self, _entry: Entry) -> None:
        self.changes += 1

    def _fit_changed(self, entry: Entry, _old: Any) -> None:
        self.phases.append(str(entry.record.phase))

    @property
    def phase(self) -> str:
        return str(self.entry.record.phase)


@pytest.mark.parametrize(
    ("problem", "phase", "reason"),
    [
        (Problem(Reach.PENDING, "", trouble=INVALID_CREDENTIALS), "Offline", INVALID_CREDENTIALS),
        (Problem(Reach.PENDING, "", MISSING_RIGHT, trouble=UNAUTHORIZED), "Offline", UNAUTHORIZED),
        (Problem(Reach.PENDING, "", REPLACED), "Offline", REPLACED),
        (Problem(Reach.UNKNOWN, "", DUPLICATE, "default/two"), "Pending", ""),
        (Problem(Reach.PENDING, "the host does not answer"), "Running", ""),
    ],
)
async def test_why_a_cluster_is_not_used_decides_its_phase(problem: Problem, phase: str, reason: str) -> None:
    """A host that cannot be read says nothing about its members."""
    stage = Stage()
    for _ in range(5):
        stage.tracker.refused(stage.entry, problem)
        await asyncio.sleep(15)
    assert (stage.phase, stage.entry.record.reason) == (phase, reason)


async def test_a_threshold_that_is_due_needs_no_further_probe() -> None:
    """Probes of a member that fails become rare, and thresholds must not wait for them."""
    stage = Stage()
    stage.tracker.answered(stage.entry)
    for _ in range(2):
        stage.tracker.failed(stage.entry, SILENCE, stage.now())
    await asyncio.sleep(24)
    assert stage.phase == "Running"
    await asyncio.sleep(2)
    assert stage.phase == "Offline"
    stage.tracker.answered(stage.entry)
    await asyncio.sleep(61)
    assert stage.phase == "Running"
    assert stage.phases == ["Offline", "Offline", "Running"], "no failover begins once it answers"


async def test_a_new_connection_of_the_same_cluster_goes_on_from_the_same_health() -> None:
    """A change of the address or of the credentials forgets nothing, and the old entry is judged no more."""
    stage = Stage()
    for _ in range(2):
        stage.tracker.failed(stage.entry, SILENCE, stage.now())
    former, stage.entry = stage.entry, Entry(stage.entry.cluster)
    stage.tracker.begin(stage.entry, former)
    assert stage.entry.record == former.record
    await asyncio.sleep(60)
    assert (str(former.record.phase), stage.phase) == ("Running", "Running")


@pytest.mark.parametrize("status", [{"phase": 5, "health": "x", "taints": [7, {"key": None}]}, {"phase": "Odd"}, {}])
async def test_a_damaged_status_counts_as_none(status: dict[str, Any]) -> None:
    """I16"""
    stage = Stage(status)
    stage.tracker.answered(stage.entry)
    assert stage.phase == "Running"
    assert stage.entry.taints == ()


async def test_taints_keep_the_time_when_they_were_first_seen() -> None:
    """``tolerationSeconds`` count from it, also after a restart; another value is another taint."""
    old = {"key": "a", "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:00Z"}
    taints = (ClusterTaint("a", "NoExecute"), ClusterTaint("b", "NoExecute", "1"))
    stage = Stage({**STORED, "taints": [old]}, taints=taints, unschedulable=True)
    first = {taint.key: taint.time_added for taint in stage.entry.taints}
    assert first == {"a": old["timeAdded"], "b": "2026-01-01T00:00:00Z", names.TAINT_CORDONED: "2026-01-01T00:00:00Z"}
    await asyncio.sleep(60)
    stage.tracker.refresh(stage.entry)
    assert {taint.key: taint.time_added for taint in stage.entry.taints} == first
    changed = ClusterSpec(taints=(ClusterTaint("b", "NoExecute", "2"),))
    stage.entry.cluster = ClusterObject(stage.entry.cluster.metadata, changed)
    stage.tracker.refresh(stage.entry)
    assert [(taint.key, taint.time_added) for taint in stage.entry.taints] == [("b", "2026-01-01T00:01:00Z")]


async def test_a_change_of_the_health_or_of_the_taints_is_told_and_nothing_else() -> None:
    """I3: each is a write of the status."""
    stage = Stage({})
    assert stage.changes == 0
    stage.tracker.answered(stage.entry)
    assert (stage.changes, stage.phases) == (1, ["Running"])
    stage.tracker.answered(stage.entry)
    stage.tracker.refresh(stage.entry)
    assert stage.changes == 1
    tainted = ClusterSpec(taints=(ClusterTaint("a", "NoSchedule"),))
    stage.entry.cluster = ClusterObject(stage.entry.cluster.metadata, tainted)
    stage.tracker.refresh(stage.entry)
    assert (stage.changes, stage.phases) == (2, ["Running", "Running"])
