"""The HTTPS server of the webhooks. It accepts AdmissionReviews of every size that API servers send.

It replaces kopf's own server, which refuses reviews of more than 1 MiB, and closes the port for a moment to load a new
certificate.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import kopf
import msgspec
from aiohttp import web

MIB = 1 << 20
REVIEW_BYTES = 8 * MIB
"""The largest AdmissionReview. API servers accept objects of up to 3 MiB, and a review has the old and the new one."""
LARGE_BYTES = MIB
"""Reviews of this size or more are processed one at a time, since each takes many times its size in memory."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; on all addresses if ``host`` is empty. Raises OSError."""
    if host:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


class WebhookServer:
    """Serves on a socket, in the event loop of kopf's thread. ``serving`` is called once it accepts connections."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext, serving: Callable[[], None]) -> None:
        self._listener = listener
        self._context = context
        self._serving = serving
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, review: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
        """kopf's interface for servers. ``review`` answers one AdmissionReview."""

        async def post(request: web.Request) -> web.Response:
            return await self._answer(review, request)

        app = web.Application(client_max_size=REVIEW_BYTES)
        app.add_routes([web.post("/{id}", post)])
        runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        try:
            await web.SockSite(runner, self._listener, ssl_context=self._context).start()
            self._serving()
            yield kopf.WebhookClientConfig(url=f"https://localhost:{self._listener.getsockname()[1]}")
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _answer(self, review: kopf.WebhookFn, request: web.Request) -> web.Response:
        size = request.content_length
        large = size is None or size >= LARGE_BYTES
        async with self._one_at_a_time if large else contextlib.nullcontext():
            try:
                asked: Any = msgspec.json.decode(await request.read(), type=dict[str, Any])
            except web.HTTPRequestEntityTooLarge:
                limit = f"{REVIEW_BYTES // MIB} MiB"
                return web.Response(
                    status=413, text=f"the AdmissionReview has more than {limit}: make the object smaller"
                )
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                return web.Response(status=400, text="the body is not an AdmissionReview in JSON")
            _remove_uids(asked)
            try:
                answer = await review(asked, webhook=request.match_info["id"], headers=dict(request.headers))
            except Exception as error:  # noqa: BLE001  # kopf's own errors are not public; each is a bad request
                return web.Response(status=400, text=f"the AdmissionReview cannot be answered: {type(error).__name__}")
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


def _remove_uids(review: dict[str, Any]) -> None:
    """Remove the uids of the objects, since kopf keeps state for every uid that it has seen."""
    request = review.get("request")
    if not isinstance(request, dict):
        return
    for name in ("object", "oldObject"):
        found = request.get(name)
        if isinstance(found, dict) and isinstance(found.get("metadata"), dict):
            found["metadata"].pop("uid", None)
