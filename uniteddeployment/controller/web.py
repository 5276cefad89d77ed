"""/metrics, /healthz and /readyz over HTTP, for Prometheus and for kubelets."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


async def serve(
    host: str, port: int, *, missing: Callable[[], str], registry: CollectorRegistry
) -> tuple[web.AppRunner, int]:
    """Start serving; gives what ends it (``cleanup``) and the port.

    ``missing`` says what readiness still waits for, or nothing. Raises OSError when the port is in use.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")  # that this runs at all says that the loop turns

    async def readyz(_: web.Request) -> web.Response:
        problem = missing()
        return web.Response(text=f"{problem or 'ok'}\n", status=503 if problem else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, runner.addresses[0][1]
