"""A controller process: connections, probes, leadership, signals. ``ud controller run`` is a call of :func:`run`."""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable
from functools import partial

import structlog
from prometheus_client import CollectorRegistry

from uniteddeployment.controller.controller import Controller
from uniteddeployment.controller.health import Health
from uniteddeployment.controller.metrics import LoopMetrics
from uniteddeployment.controller.served import check_served
from uniteddeployment.controller.settings import LEASE, Settings
from uniteddeployment.fleet.metrics import FleetCollector
from uniteddeployment.kube import probes, process
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
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
        identity = process.identity()
        elector = None
        if settings.leader_election:
            elector = process.elector(unguarded, settings.election_namespace, LEASE, identity, settings.lease_seconds)
        guard = elector.check if elector else None
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
        health = Health(controller, elector, expects_webhooks=settings.admission)
        endpoints = (
            probes.Endpoint("metrics", settings.metrics_host, settings.metrics_port, registry),
            probes.Endpoint("probe", settings.probe_host, settings.probe_port),
        )
        await stack.enter_async_context(probes.served(probes.Health(health.not_ready, health.dead), *endpoints))
        if settings.admission:
            from uniteddeployment.controller import shell  # noqa: PLC0415  # kopf takes 30 MB, and is only needed for webhooks

            health.webhooks = await stack.enter_async_context(shell.admission(connection, unguarded, settings))
        _log.info("started", identity=identity)
        work = partial(elector.run, controller.run) if elector else controller.run
        await process.until(stop, asyncio.create_task(work()), controller, elector)


def _tune_collector() -> None:
    """Collect garbage rarely: imported modules stay forever, and most decoded objects have no cycles."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 50, 100)


def _client(connection: Connection, metrics: Metrics, name: str, guard: Callable[[], None] | None = None) -> Client:
    transport = AiohttpTransport(connection, guard=guard)
    return Client(transport, name, field_manager=names.FIELD_MANAGER, metrics=metrics.client(name), guard=guard)
