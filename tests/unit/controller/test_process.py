"""A controller process against a host that a test scripts: what it serves and watches, and how it ends."""

import asyncio
import socket
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from tests.unit.kube.fakes import FakeTransport, Feed, json_answer, status_answer
from uniteddeployment.controller import run
from uniteddeployment.controller.settings import Settings
from uniteddeployment.kube import probes
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.process import StartError
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer

CONNECTION = Connection("https://h:6443", name="h")


class Host(FakeTransport):
    """A host without objects. Its watches are complete at once."""

    def __init__(self, *, served: bool = True) -> None:
        super().__init__(self._answer)
        self._served = served

    def _answer(self, request: Request) -> Answer:
        if not self._served:
            return status_answer(404, "NotFound")
        return json_answer({"metadata": {"name": "kube-system", "uid": "host", "resourceVersion": "1"}, "items": []})

    def stream(self, request: Request, *, timeout: float) -> Any:  # the protocol's
        self.feeds.append(Feed().bookmark(1, initial_end=True))
        return super().stream(request, timeout=timeout)


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Host, Any]]:
    """The transports of the clients that the process creates, with their guards."""
    made: list[tuple[Host, Any]] = []

    def client(connection: Connection, _metrics: Any, name: str, guard: Any = None) -> Client:
        assert (connection, name) == (CONNECTION, "host")
        made.append((Host(), guard))
        return Client(made[-1][0], name, guard=guard)

    monkeypatch.setattr(run, "_client", client)
    monkeypatch.setattr(run, "_tune_collector", lambda: None)
    return made


async def get(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


async def test_a_process_without_election_watches_is_ready_serves_its_metrics_and_ends_when_told(
    clients: list[tuple[Host, Any]],
) -> None:
    metrics, probes, stop = free_port(), free_port(), asyncio.Event()
    settings = Settings(
        workers=2,
        namespace="shop",
        metrics_port=metrics,
        probe_host="127.0.0.1",
        probe_port=probes,
        leader_election=False,
    )
    process = asyncio.create_task(run.serve(CONNECTION, settings, stop))
    async with asyncio.timeout(20):
        while True:
            try:
                ready = await get(probes, "/readyz")
            except aiohttp.ClientError:
                await asyncio.sleep(0)
                continue
            if ready == (200, "ok\n"):
                break
            assert ready == (503, "the caches are not in sync yet\n")
        assert await get(probes, "/healthz") == (200, "ok\n")
        assert (await get(probes, "/metrics"))[0] == 404
        status, text = await get(metrics, "/metrics")
        assert status == 200
        for name in ("steps_total", "cluster_phase", "reconcile_retries_total"):
            assert f"uniteddeployment_{name}" in text
        assert 'name="uniteddeployment"' in text
        stop.set()
        await process
    (unguarded, none), (guarded, guard) = clients
    assert (none, guard) == (None, None)
    assert unguarded.closed
    assert guarded.closed
    assert {request.verb for request in unguarded.requests} == {"list"}, "it only looks whether the kinds are served"
    watched = {request.path for request in guarded.requests if request.verb in ("watch", "list")}
    assert "/apis/uniteddeployment.io/v1alpha1/namespaces/shop/uniteddeployments" in watched
    assert "/apis/apps/v1/namespaces/shop/controllerrevisions" in watched
    assert "/apis/uniteddeployment.io/v1alpha1/clusters" in watched
    assert "/api/v1/namespaces" in watched


async def test_a_process_does_not_start_on_a_host_without_the_crds(
    monkeypatch: pytest.MonkeyPatch, clients: list[tuple[Host, Any]]
) -> None:
    host = Host(served=False)
    monkeypatch.setattr(run, "_client", lambda *_: Client(host, "host"))
    with pytest.raises(StartError, match="install the CRDs first"):
        await run.serve(CONNECTION, Settings(), asyncio.Event())
    assert host.closed


async def test_writes_of_a_process_with_election_are_guarded_by_its_lease(clients: list[tuple[Host, Any]]) -> None:
    """I1"""
    stop = asyncio.Event()
    stop.set()
    async with asyncio.timeout(20):
        await run.serve(CONNECTION, Settings(), stop)
    assert clients[0][1] is None
    assert clients[1][1].__name__ == "check"
    assert all(host.closed for host, _ in clients)


@pytest.mark.parametrize("what", ["metrics", "probe"])
async def test_a_port_in_use_is_one_line_that_names_the_option(what: str, clients: list[tuple[Host, Any]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = Settings(**{f"{what}_port": port, f"{what}_host": "127.0.0.1"})
        with pytest.raises(StartError) as raised:
            await run.serve(CONNECTION, settings, asyncio.Event())
    assert str(raised.value).startswith(f"cannot serve {what} on 127.0.0.1:{port}: ")
    assert str(raised.value).endswith(f"; choose another --{what}-port")
    assert all(host.closed for host, _ in clients)


async def test_probes_answer_503_with_the_reason() -> None:
    registry = CollectorRegistry()
    Counter("made_up", "for the test", registry=registry).inc()
    health = probes.Health(not_ready=lambda: "it is not ready", dead=lambda: "it is dead")
    runner, port = await probes.serve("127.0.0.1", 0, health, registry)
    try:
        assert await get(port, "/healthz") == (503, "it is dead\n")
        assert await get(port, "/readyz") == (503, "it is not ready\n")
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert "made_up_total 1.0" in await answer.text()
    finally:
        await runner.cleanup()
