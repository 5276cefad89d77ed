"""Serves /metrics, /healthz and /readyz over HTTP, for Prometheus and kubelets."""

from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from uniteddeployment.controller.health import Health


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
