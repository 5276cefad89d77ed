"""/metrics, /healthz and /readyz over HTTP, for Prometheus and for kubelets."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


async def serve(
    host: str, port: int, registry: CollectorRegistry | None, not_ready: Callable[[], str]
) -> tuple[web.AppRunner, int]:
    """Start serving the probes, and the metrics of ``registry`` if it is given.

    Return the runner, whose ``cleanup`` stops it, and the port. Raises OSError if the port is in use. ``not_ready``
    returns why the process cannot work; an empty text if it can.
    """

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        problem = not_ready()
        return web.Response(text=f"{problem or 'ok'}\n", status=503 if problem else 200)

    app = web.Application()
    app.add_routes([web.get("/healthz", healthy), web.get("/readyz", ready)])
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
