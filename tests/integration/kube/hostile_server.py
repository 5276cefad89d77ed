"""An HTTP server that answers as a test wants, as long and as wrongly as it wants, and counts what is read of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

Answer = Callable[["Asked"], AsyncIterator[bytes]]
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
STREAM = OK + b"transfer-encoding: chunked\r\n\r\n"


class Asked:
    """One request: its path, and how many bytes of the answer were taken."""

    def __init__(self, target: str) -> None:
        self.path, _, self.query = target.partition("?")
        self.taken = 0


class HostileServer:
    """``answers`` maps the last part of a path to what comes; what is not in it is answered well."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        well = {
            "kube-system": whole({"metadata": {"name": "kube-system", "uid": "the-cluster"}}),
            "version": whole({"gitVersion": "v1.36.0"}),
            "nodes": whole({"items": []}),
        }
        self.answers: dict[str, Answer] = {**well, **answers}
        self.asked: list[Asked] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, resource: str) -> list[Asked]:
        """The requests for a resource."""
        return [one for one in self.asked if one.path.endswith(f"/{resource}")]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    await self._answer(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked = Asked(head.split(b" ", 2)[1].decode())
        self.asked.append(asked)
        answer = self.answers.get(asked.path.rpartition("/")[2], empty_watch)
        async for piece in answer(asked):
            writer.write(piece)
            await writer.drain()
            asked.taken += len(piece)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["HostileServer"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await server.wait_closed()


def chunk(data: bytes) -> bytes:
    """A piece of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(kind: str, found: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": found}) + b"\n"


def end_of_list() -> bytes:
    meta = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
    return event("BOOKMARK", {"metadata": meta})


def whole(body: Any) -> Answer:
    """A complete answer."""
    data = msgspec.json.encode(body)

    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield OK + b"content-length: %d\r\n\r\n%s" % (len(data), data)

    return answer


async def empty_watch(_: Asked) -> AsyncIterator[bytes]:
    """An empty list, and silence after it."""
    yield STREAM + chunk(end_of_list())
    await asyncio.Event().wait()


def watch(*lines: bytes) -> Answer:
    """A watch that sends these, and is silent after that."""

    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield STREAM
        for line in lines:
            yield chunk(line)
        await asyncio.Event().wait()

    return answer


def endless(piece: Callable[[int], bytes], head: bytes = STREAM) -> Answer:
    """An answer that never ends."""

    async def answer(_: Asked) -> AsyncIterator[bytes]:
        yield head
        number = 0
        while True:
            data = piece(number)
            yield chunk(data) if head is STREAM else data
            number += 1

    return answer
