"""Which keys each source queues and with which priority, and how a controller waits and ends."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import planning as make
from tests.unit.controller.test_process import Host
from tests.unit.kube.fakes import running, until
from uniteddeployment.controller.controller import Controller
from uniteddeployment.controller.flights import Flight, Outcome
from uniteddeployment.controller.metrics import NoMetrics
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.planning.observed import HOST

pytestmark = pytest.mark.looptime
WEB, SHOP = ("default", "web"), ("default", "shop")


class Recording(NoMetrics):
    """Metrics that record which clusters are forgotten."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def forget(self, cluster: str) -> None:
        self.forgotten.append(cluster)


class Stage:
    """A controller on a host without objects. What it hands a change to notes that."""

    def __init__(self, **options: Any) -> None:
        self.metrics = Recording()
        self.transport = Host()
        self.made = Controller(Client(self.transport, "host"), lambda _: None, metrics=self.metrics, **options)  # type: ignore[arg-type, return-value]

    async def queued(self) -> list[tuple[str, str]]:
        """The keys in the queue, in their order."""
        found = []
        for _ in range(len(self.made.queue)):
            found.append(await self.made.queue.get())
            self.made.queue.done(found[-1])
        return found


async def test_a_users_edit_goes_before_everything_else() -> None:
    stage = Stage()
    stage.made._deployment_changed(SHOP, False)
    stage.made._deployment_changed(WEB, True)
    assert await stage.queued() == [WEB, SHOP]


async def test_a_change_in_a_member_queues_its_application_if_the_host_knows_it() -> None:
    stage = Stage()
    stage.made.host = SimpleNamespace(key_of=lambda *key: key if key == WEB else None)  # type: ignore[assignment]
    stage.made._application_changed("default/m", WEB)
    stage.made._application_changed("default/m", SHOP)
    assert await stage.queued() == [WEB]


@pytest.mark.parametrize(
    ("cluster", "known", "forgotten"),
    [("default/m", True, []), ("default/m", False, ["default/m"]), (HOST, False, [])],
)
async def test_a_changed_reach_queues_the_applications_in_the_cluster_and_the_series_of_a_removed_one_end(
    cluster: str, known: bool, forgotten: list[str]
) -> None:
    stage = Stage()
    asked: list[Any] = []
    made: Any = stage.made
    made.fleet = SimpleNamespace(cluster={"default/m": object()}.get if known else lambda _: None)
    made._profiles = SimpleNamespace(cluster_changed=asked.append)
    made._observer = SimpleNamespace(in_cluster={cluster: [WEB, SHOP]}.__getitem__)
    made._reach_changed(cluster)
    assert await stage.queued() == [WEB, SHOP]
    assert (stage.metrics.forgotten, asked) == (forgotten, [cluster])


async def test_more_room_queues_what_waits_for_it() -> None:
    stage = Stage()
    made: Any = stage.made
    made._rooms = SimpleNamespace(waiting={"default/m": [WEB]}.__getitem__)
    made._capacity_changed("default/m")
    assert await stage.queued() == [WEB]


async def test_changed_labels_of_a_namespace_go_to_members_and_to_the_applications_in_it() -> None:
    stage, noted = Stage(), []
    made: Any = stage.made
    made._labeller = SimpleNamespace(
        host_changed=lambda *change: noted.append(change), member_changed=lambda *change: noted.append(change)
    )
    made.host = SimpleNamespace(in_namespace={"default": [WEB]}.__getitem__)
    made._namespace_labels_changed("default")
    assert await stage.queued() == [WEB]
    made._member_namespace_changed("default/m", "shop")
    assert await stage.queued() == []
    assert noted == [("default",), ("default/m", "shop")]


@pytest.mark.parametrize("failed", [True, False])
async def test_late_answers_are_recorded_and_planned_from_again_after_a_pause_if_they_failed(failed: bool) -> None:
    stage, noted = Stage(), []
    made: Any = stage.made
    made._reporter = SimpleNamespace(record_outcome=lambda *outcome: noted.append(outcome))
    made._workers = SimpleNamespace(apply=lambda *result: noted.append(result))
    subject = make.subject(make.application(make.manifest()))
    flight = Flight(subject, None, "default/m", [], 0.0, Outcome(failed=failed))  # type: ignore[arg-type]  # unused
    made._late_writes_answered(flight)
    assert await stage.queued() == ([] if failed else [WEB])
    (recorded, (key, result)) = noted
    assert recorded == (subject, flight.outcome)
    assert key == WEB
    assert (result.back_off, result.failed, result.unreported) == (failed, failed, True)


async def test_a_controller_works_once_the_host_is_known_and_stops_when_told() -> None:
    """I9"""
    stage = Stage(workers=2, namespace="shop", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    async with running(stage.made.run()) as task:
        assert not stage.made.synced.is_set()
        await until(stage.made.synced.is_set)
        assert not task.done()
        stage.made.stop()
        await until(task.done)
        assert task.exception() is None
    paths = {request.path for request in stage.transport.requests}
    assert "/apis/uniteddeployment.io/v1alpha1/namespaces/shop/uniteddeployments" in paths
    assert "/apis/apps/v1/namespaces/shop/controllerrevisions" in paths
    selectors = [dict(request.query).get("fieldSelector") for request in stage.transport.requests]
    assert "metadata.name=shop" in selectors, "it reads only its own namespace"


@pytest.mark.parametrize("unread", ["uniteddeployments", "controllerrevisions", "namespaces", "clusters"])
async def test_nothing_is_done_before_everything_on_the_host_was_read(unread: str) -> None:
    """I9: a second workload could be created."""
    stage = Stage()
    stream = stage.transport.stream

    def silent(request: Any, *, timeout: float) -> Any:  # the protocol's
        if not request.path.endswith(f"/{unread}"):
            return stream(request, timeout=timeout)
        return super(Host, stage.transport).stream(request, timeout=timeout)

    stage.transport.stream = silent  # type: ignore[method-assign]
    async with running(stage.made.run()):
        await asyncio.sleep(4)
        assert not stage.made.synced.is_set()


async def test_a_source_that_ends_with_an_error_ends_the_controller_with_it() -> None:
    stage = Stage()

    async def broken() -> None:
        raise Unreachable("host", "gone")

    stage.made.fleet.run = broken  # type: ignore[method-assign]
    with pytest.raises(BaseExceptionGroup) as raised:
        await stage.made.run()
    assert raised.group_contains(Unreachable)


async def test_the_work_in_progress_is_finished_before_the_end() -> None:
    stage, order = Stage(), []
    made: Any = stage.made

    async def drained() -> None:
        order.append("flights")

    async def concluded() -> None:
        order.append("reports")

    async def told() -> None:
        order.append("Events")

    made._flights.drain, made._workers.conclude = drained, concluded
    made._recorder = SimpleNamespace(flush=told, run=asyncio.Event().wait)
    async with running(made.run()) as task:
        await until(made.synced.is_set)
        made.stop()
        await until(task.done)
    assert order == ["flights", "reports", "Events"]
    assert made.queue.shutting_down


async def test_work_that_does_not_end_is_given_up_in_time() -> None:
    """A kubelet kills after 30 seconds."""
    stage = Stage()
    made: Any = stage.made
    made._flights.drain = asyncio.Event().wait
    async with running(made.run()) as task:
        await until(made.synced.is_set)
        begun = asyncio.get_running_loop().time()
        made.stop()
        await asyncio.wait([task])
        assert 19.5 < asyncio.get_running_loop().time() - begun < 20.5
