"""Serves /metrics, /healthz and /readyz over HTTP, for Prometheus and kubelets."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from uniteddeployment.kube.process import StartError

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a process. Each function returns a reason; an empty text if there is none."""

    not_ready: Callable[[], str]
    """Why it cannot work."""
    dead: Callable[[], str] = lambda: ""
    """Why only a restart helps. An answer at all shows that the event loop runs."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where something is served. ``what`` begins the names of the options."""

    what: str
    host: str
    port: int | None
    """Nowhere if None, on a free port if 0."""
    registry: CollectorRegistry | None = None
    """The metrics that are served besides the probes."""


@contextlib.asynccontextmanager
async def served(health: Health, *endpoints: Endpoint) -> AsyncIterator[None]:
    """Serve the probes and metrics on these endpoints. Raises StartError."""
    async with contextlib.AsyncExitStack() as stack:
        for endpoint in endpoints:
            if endpoint.port is None:
                continue
            try:
                runner, taken = await serve(endpoint.host, endpoint.port, health, endpoint.registry)
            except OSError as error:
                what, why = endpoint.what, f"{endpoint.host}:{endpoint.port}: {error.strerror}"
                raise StartError(f"cannot serve {what} on {why}; choose another --{what}-port") from None
            stack.push_async_callback(runner.cleanup)
            _log.info("listening", what=endpoint.what, host=endpoint.host, port=taken)
        yield


async def serve(host: str, port: int, health: Health, registry: CollectorRegistry | None) -> tuple[web.AppRunner, int]:
    """Start serving the probes, and the metrics of ``registry`` if it is given.

    Return the runner, whose ``cleanup`` ends it, and the port. Raises OSError if the port is in use.
    """
    app = web.Application()
    app.add_routes([web.get("/healthz", _probe(health.dead)), web.get("/readyz", _probe(health.not_ready))])
    if registry is not None:

        async def metrics(_: web.Request) -> web.Response:
            return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

        app.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, runner.addresses[0][1]


def _probe(problem: Callable[[], str]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """200 while there is no problem, else 503 with the reason."""

    async def answer(_: web.Request) -> web.Response:
        reason = problem()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    return answer
