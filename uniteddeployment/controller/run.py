"""A controller process: connections, probes, leadership, signals. ``ud controller run`` is a call of :func:`run`."""

import asyncio
import contextlib
import gc
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial

import structlog
from prometheus_client import CollectorRegistry

from uniteddeployment.controller import web
from uniteddeployment.controller.controller import Controller
from uniteddeployment.controller.errors import StartError
from uniteddeployment.controller.health import Health
from uniteddeployment.controller.metrics import LoopMetrics
from uniteddeployment.controller.served import check_served
from uniteddeployment.controller.settings import LEASE, Settings
from uniteddeployment.fleet.metrics import FleetCollector
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.clock import since_boot
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.meta import utc_now
from uniteddeployment.kube.metrics import Metrics
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

GARBAGE_THRESHOLD = 20_000


async def run(connection: Connection, settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Raises StartError, KubeError, LostLeadership."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await serve(connection, settings, stop)


async def serve(connection: Connection, settings: Settings, stop: asyncio.Event) -> None:
    """Run until ``stop`` is set."""
    _tune_collector()
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    unguarded = _client(connection, metrics, "host")
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(unguarded.close)
        await check_served(unguarded)
        identity = _identity()
        elector = _elector(unguarded, settings, identity)
        guard = elector.check if settings.leader_election else None
        # Replicas that do not lead also write the Lease and the webhooks' certificate, so those writes name a version.
        client = _client(connection, metrics, "host", guard)
        stack.push_async_callback(client.close)
        recorder = Recorder(client, names.MANAGER, identity)
        queue = metrics.queue(names.MANAGER)
        controller = Controller(
            client,
            lambda member: _client(member, metrics, member.name, guard),
            workers=settings.workers,
            namespace=settings.namespace,
            recorder=recorder,
            metrics=LoopMetrics(registry, queue),
        )
        queue.follow(controller.queue)
        registry.register(FleetCollector(controller.fleet.entries, utc_now))
        health = Health(controller, elector if settings.leader_election else None, expects_webhooks=settings.admission)
        await stack.enter_async_context(_web(settings, health, registry))
        if settings.admission:
            from uniteddeployment.controller import shell  # noqa: PLC0415  # kopf takes 30 MB, and is only needed for webhooks

            health.webhooks = await stack.enter_async_context(shell.admission(connection, unguarded, settings))
        _log.info("started", identity=identity)
        work = partial(elector.run, controller.run) if settings.leader_election else controller.run
        await _until(stop, asyncio.create_task(work()), controller, elector if settings.leader_election else None)


def _tune_collector() -> None:
    """Collect garbage rarely: imported modules stay for ever, and most decoded objects have no cycles."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 50, 100)


async def _until(
    stop: asyncio.Event, work: asyncio.Task[None], controller: Controller, elector: Elector | None
) -> None:
    """Wait for the signal or for a failure; then finish the work in progress.

    A leader keeps its Lease until that is done, so that no other process begins before (I1).
    """
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((stopping, work), return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and (elector is None or elector.is_leader):
            controller.stop()
            await work
    finally:
        stopping.cancel()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


def _identity() -> str:
    """A unique name for this process. Host names and process ids are not unique among containers."""
    return f"{socket.gethostname()}_{secrets.token_hex(8)}"


def _elector(client: Client, settings: Settings, identity: str) -> Elector:
    seconds = settings.lease_seconds
    return Elector(
        client,
        settings.election_namespace,
        LEASE,
        identity,
        lease_duration=seconds,
        renew_deadline=seconds * 2 / 3,
        retry_period=seconds * 2 / 15,
        clock=since_boot,
    )


@contextlib.asynccontextmanager
async def _web(settings: Settings, health: Health, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Serve the metrics, and the probes alone, as the settings say."""
    async with contextlib.AsyncExitStack() as stack:
        for what, host, port, shown in (
            ("metrics", settings.metrics_host, settings.metrics_port, registry),
            ("probe", settings.probe_host, settings.probe_port, None),
        ):
            if port is None:
                continue
            try:
                runner, taken = await web.serve(host, port, health, shown)
            except OSError as error:
                why = f"{host}:{port}: {error.strerror}"
                raise StartError(f"cannot serve {what} on {why}; choose another --{what}-port") from None
            stack.push_async_callback(runner.cleanup)
            _log.info("listening", what=what, host=host, port=taken)
        yield


def _client(connection: Connection, metrics: Metrics, name: str, guard: Callable[[], None] | None = None) -> Client:
    transport = AiohttpTransport(connection, guard=guard)
    return Client(transport, name, field_manager=names.FIELD_MANAGER, metrics=metrics.client(name), guard=guard)
