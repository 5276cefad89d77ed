"""A port in front of another port: what a broken network looks like to those who connect.

It passes bytes on, TLS and all. ``shut`` breaks open connections and refuses new ones; ``swallow`` keeps connections
and passes nothing on; ``delay`` is how many seconds each piece takes in either direction. ``open`` lets everything
through again on the same port. ``connections`` counts those that were let through.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

PIECE = 65536
SECONDS = 10.0

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""A connection, as one side of it reads and writes."""
Seen = Callable[[bytes], None]


def _ignored(_piece: bytes) -> None:
    """Nobody looks at what passes."""


class Forwarder:
    """Runs in a thread of its own, from entering the block until its end."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._passes = asyncio.Event()
        self.port = 0
        self.delay = 0.0
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    def open(self) -> None:
        """Let everything through."""
        self._do(self._listen())

    def shut(self) -> None:
        """Break what is open and refuse what comes."""
        self._do(self._close())

    def swallow(self) -> None:
        """Pass nothing on. What was sent meanwhile arrives when the port is open again."""
        self._loop.call_soon_threadsafe(self._passes.clear)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    async def _listen(self) -> None:
        self._passes.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        await self._break()
        await self._server.wait_closed()
        self._server = None

    async def _break(self) -> None:
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            await self._passes.wait()
            with suppress(OSError):
                await self._carry(reader, writer)
        except asyncio.CancelledError:
            return  # the port was shut
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        await self._join((reader, writer), (far_reader, far_writer))

    async def _join(self, near: Ends, far: Ends, sent: Seen = _ignored, answered: Seen = _ignored) -> None:
        """Pass on what either side sends. Each piece is shown to ``sent`` or ``answered`` before."""
        try:
            await asyncio.gather(self._pump(near[0], far[1], sent), self._pump(far[0], near[1], answered))
        finally:
            far[1].transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, seen: Seen) -> None:
        while piece := await source.read(PIECE):
            if self.delay:
                await asyncio.sleep(self.delay)
            await self._passes.wait()
            seen(piece)
            sink.write(piece)
            await sink.drain()
        raise ConnectionResetError  # one side has ended; so does the other
