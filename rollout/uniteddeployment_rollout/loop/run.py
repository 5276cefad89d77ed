"""A process of the rollout controller: connection, leadership, probes. ``ud rollout controller run`` calls it."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

import structlog
from prometheus_client import CollectorRegistry

from uniteddeployment.kube import probes, process
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.metrics import Metrics
from uniteddeployment.kube.process import StartError
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_rollout.gates.measuring import Members
from uniteddeployment_rollout.loop.controller import Controller
from uniteddeployment_rollout.loop.metrics import RolloutCollector, RolloutMetrics
from uniteddeployment_rollout.loop.objects import FIELD_MANAGER, GATE_TEMPLATES, UNITED_DEPLOYMENTS, UNITED_ROLLOUTS
from uniteddeployment_rollout.loop.settings import Settings

MembersOf = Callable[[Client, Callable[[Connection], Client]], Members]
"""Creates access to members from the client of the host, and from a function that creates the client of a member."""
LEASE = FIELD_MANAGER
"""The Lease that the leader holds."""
_log = structlog.get_logger(__name__)


async def serve(
    connection: Connection, settings: Settings, stop: asyncio.Event, members: MembersOf | None = None
) -> None:
    """Run until ``stop`` is set. Raises StartError, KubeError, LostLeadership.

    ``members`` gives access to members, for gates that run Jobs there. Nothing else needs it.
    """
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    async with contextlib.AsyncExitStack() as stack:
        unguarded = _client(connection, metrics)
        stack.push_async_callback(unguarded.close)
        await _check(unguarded)
        identity = process.identity()
        elector = None
        if settings.leader_election:
            elector = process.elector(unguarded, settings.election_namespace, LEASE, identity, settings.lease_seconds)
        client = _client(connection, metrics, elector.check if elector else None)
        stack.push_async_callback(client.close)
        queue = metrics.queue(FIELD_MANAGER)
        controller = Controller(
            client,
            workers=settings.workers,
            namespace=settings.namespace,
            recorder=Recorder(client, FIELD_MANAGER, identity),
            metrics=RolloutMetrics(registry),
            queue_metrics=queue,
            members=members(client, partial(_member, guard=elector.check if elector else None)) if members else None,
        )
        queue.follow(controller.queue)
        registry.register(RolloutCollector(controller.host.rollouts))
        endpoints = (
            probes.Endpoint("metrics", settings.host, settings.port, registry),
            probes.Endpoint("probe", settings.probe_host, settings.probe_port),
        )
        health = probes.Health(partial(_not_ready, controller, elector))
        await stack.enter_async_context(probes.served(health, *endpoints))
        _log.info("started", identity=identity)
        work = partial(elector.run, controller.run) if elector else controller.run
        await process.until(stop, asyncio.create_task(work()), controller, elector)


def _not_ready(controller: Controller, elector: Elector | None) -> str:
    """Why the process cannot work. One that waits for the Lease is ready as soon as it could take over."""
    if elector is not None and elector.problem:
        return elector.problem
    if (elector is None or elector.is_leader) and not controller.synced.is_set():
        return "the caches are not in sync yet"
    return ""


def _member(connection: Connection, guard: Callable[[], None] | None) -> Client:
    """The client of a member, for one use."""
    transport = AiohttpTransport(connection, guard=guard)
    return Client(transport, connection.name, field_manager=FIELD_MANAGER, guard=guard)


def _client(connection: Connection, metrics: Metrics, guard: Callable[[], None] | None = None) -> Client:
    transport = AiohttpTransport(connection, guard=guard)
    return Client(transport, "host", field_manager=FIELD_MANAGER, metrics=metrics.client("host"), guard=guard)


async def _check(client: Client) -> None:
    """Fail early when the kinds are not served. Raises StartError."""
    for resource in (UNITED_DEPLOYMENTS, UNITED_ROLLOUTS, GATE_TEMPLATES):
        try:
            async for _ in client.list_pages(resource, PartialObject, limit=1):
                break
        except NotFound:
            kind = f"{resource.plural}.{resource.group}"
            raise StartError(
                f"the API server does not know {kind}; install the CRDs first: ud crds | kubectl apply -f -"
            ) from None
