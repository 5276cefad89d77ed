"""One pass of the loop, without a cluster: what it writes, and that the answers count before any watch event comes."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from uniteddeployment.kube.client import Client
from uniteddeployment_api import names
from uniteddeployment_rollout.loop.host import Host
from uniteddeployment_rollout.loop.objects import (
    ManualUpdate,
    RolloutMetadata,
    StoredRollout,
    StoredTarget,
    TargetSpec,
    UpdateStrategy,
)
from uniteddeployment_rollout.loop.reconcile import Reconciler
from uniteddeployment_rollout.loop.writes import dumped

KEY = ("default", "web")
ROLLOUT = {
    "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "10", "generation": 1},
    "spec": {"targetRef": {"name": "web"}, "maxUnavailable": 2, "steps": [{"replicas": 2, "pause": {}}]},
}
TARGET: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "2", "resourceVersion": "11", "generation": 3},
    "spec": {"updateStrategy": {"manualUpdate": {"partition": "100%"}}},
    "status": {
        "observedGeneration": 3,
        "currentRevision": "v1",
        "updatedRevision": "v1",
        "subsetStatuses": [{"name": "a", "replicas": 4, "observedReplicas": 4, "readyReplicas": 4, "state": "Ready"}],
    },
}


class Server:
    """Stores what is written and answers it; no watch shows it."""

    def __init__(self) -> None:
        self.version = 20
        self.written: list[str] = []

    async def store(self, rollout: StoredRollout, status: Any) -> StoredRollout:
        self.written.append("status")
        metadata = msgspec.structs.replace(rollout.metadata, resource_version=self._next())
        return msgspec.structs.replace(rollout, metadata=metadata, status=dumped(status))

    async def write(self, target: StoredTarget, write: Any) -> StoredTarget:
        self.written.append("target")
        manual = ManualUpdate(write.default, dict(write.partitions), write.revision, dict(write.max_updated))
        metadata = msgspec.structs.replace(
            target.metadata, resource_version=self._next(), generation=target.metadata.generation + 1
        )
        return msgspec.structs.replace(target, metadata=metadata, spec=TargetSpec(False, UpdateStrategy(manual)))

    def _next(self) -> str:
        self.version += 1
        return str(self.version)


class Nobody:
    """Sends no notifications and measures nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: {}


class Recorder:
    """Keeps the reasons of Events by kind."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def event(self, regarding: Any, _type: str, reason: str, _note: str, **_: Any) -> None:
        self.events.append((regarding.kind, reason))


class Loop:
    """A reconciler with caches that have a rollout and its target."""

    def __init__(self, target: dict[str, Any] = TARGET) -> None:
        self.server, self.recorder = Server(), Recorder()
        client = Client(Nobody(), "host", field_manager="test")
        self.host = Host(client, lambda _: None, lambda _: None)
        self.host.rollouts.merge(msgspec.convert(ROLLOUT, StoredRollout))
        self.host.targets.merge(msgspec.convert(target, StoredTarget))
        self.reconciler = Reconciler(
            self.host,
            self.server,  # type: ignore[arg-type]  # stands for a writer
            self.recorder,  # type: ignore[arg-type]  # stands for a recorder
            None,
            sender=Nobody(),  # type: ignore[arg-type]  # see above
            measurer=Nobody(),  # type: ignore[arg-type]  # see above
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )

    async def passed(self) -> list[str]:
        """One pass; returns what it wrote."""
        before = len(self.server.written)
        await self.reconciler.reconcile(KEY)
        return self.server.written[before:]

    def observed(self, **status: Any) -> None:
        """The controller of the target has seen its spec, and reports this."""
        found = self.host.targets.get(KEY)
        assert found is not None
        new = msgspec.structs.replace(found.status, observed_generation=found.metadata.generation, **status)
        metadata = msgspec.structs.replace(found.metadata, resource_version=self.server._next())
        self.host.targets.merge(msgspec.structs.replace(found, metadata=metadata, status=new))


async def test_the_answers_to_writes_count_before_the_watch_shows_them() -> None:
    """Another pass may come at once. On what it knew before, it would make the same writes again."""
    loop = Loop()
    assert await loop.passed() == ["status"]
    assert await loop.passed() == []
    loop.observed(updated_revision="v2")
    assert await loop.passed() == ["status", "target"]
    assert await loop.passed() == []


async def test_the_status_is_stored_before_the_target_is_written() -> None:
    loop = Loop({**TARGET, "spec": {}})
    assert await loop.passed() == ["status", "target"]


@pytest.mark.parametrize(
    ("status", "kinds"), [({"formerPartition": 0}, 2), ({"runID": "v2.1", "formerPartition": 0}, 2), ({}, 0)]
)
async def test_a_deletion_is_reported_on_both_objects_if_the_target_keeps_something_of_the_rollout(
    status: dict[str, int | str], kinds: int
) -> None:
    loop = Loop()
    loop.reconciler.record_deletion(StoredRollout(RolloutMetadata("web", "default"), ROLLOUT["spec"], status))
    expected = [(names.UNITED_ROLLOUT_KIND, "RolloutDeleted"), (names.UNITED_DEPLOYMENT_KIND, "RolloutDeleted")]
    assert loop.recorder.events == expected[:kinds]


@pytest.mark.parametrize(
    ("status", "times", "expected"),
    [
        ({}, ("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"), "b"),
        ({"stableRevision": "v1"}, ("2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"), "b"),
        ({}, ("2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"), "a"),
    ],
    ids=["the older one", "the one that has followed it", "the first by name"],
)
def test_of_two_rollouts_with_one_target_one_has_it(status: Any, times: Any, expected: str) -> None:
    """A rollout that is created in the same second as another one does not take its target."""
    host = Loop().host
    host.rollouts.discard(KEY)
    for name, time, found in zip(("a", "b"), times, ({}, status), strict=True):
        metadata = RolloutMetadata(name, "default", uid=name, resource_version="1", creation_timestamp=time)
        host.rollouts.merge(StoredRollout(metadata, {"targetRef": {"name": "web"}}, found))
    owner = host.owner(KEY)
    assert owner is not None
    assert owner.metadata.name == expected


@pytest.mark.parametrize(
    ("entries", "writer"),
    [
        ([], ""),
        ([{"manager": "a", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:template": {}}}}], ""),
        ([{"time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:partitions": {}}}}], ""),
        (
            [
                {
                    "manager": "uniteddeployment-rollout",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsV1": {"f:partitions": {}},
                },
                {"manager": "kubectl-edit", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:partitions": {}}},
                {"manager": "status", "subresource": "status", "fieldsV1": {"f:partitions": {}}},
            ],
            "kubectl-edit",
        ),
    ],
    ids=["no entries", "other fields", "without a name", "in the same second"],
)
def test_the_writer_of_partitions_is_who_the_server_recorded_last_and_nobody_if_it_recorded_nobody(
    entries: list[dict[str, Any]], writer: str
) -> None:
    metadata = {**TARGET["metadata"], "managedFields": entries}
    found = msgspec.json.decode(msgspec.json.encode({**TARGET, "metadata": metadata}), type=StoredTarget)
    assert found.metadata.partitions_by == writer
