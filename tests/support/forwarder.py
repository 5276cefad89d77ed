"""A port in front of another port, which can be shut: what a broken network looks like to those who connect.

It passes bytes on, TLS and all. ``shut`` breaks open connections and refuses new ones; ``open`` lets them through again
on the same port. ``connections`` counts those that were let through.
"""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

PIECE = 65536
SECONDS = 10.0


class Forwarder:
    """Runs in a thread of its own, from entering the block until its end."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
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
        """Let connections through."""
        self._do(self._listen())

    def shut(self) -> None:
        """Break what is open and refuse what comes."""
        self._do(self._close())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        far_writer: asyncio.StreamWriter | None = None
        try:
            with suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection(*self._target)
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        except asyncio.CancelledError:
            return  # the port was shut
        finally:
            self._open.discard(task)
            for one in (writer, far_writer):
                if one is not None:
                    one.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE):
        sink.write(piece)
        await sink.drain()
    raise ConnectionResetError  # one side has ended; so does the other
