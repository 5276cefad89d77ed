"""An API server in a few lines of memory, scripted by the test: what it answers, and what its streams say and when."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream


def json_answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, headers or {}, msgspec.json.encode(body))


def status_answer(code: int, reason: str, message: str = "", **details: Any) -> Answer:
    """A refusal as API servers word it."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message or reason}
    return json_answer(body | ({"details": details} if details else {}), code)


def thing(name: str, version: int, *, namespace: str = "ns", uid: str | None = None, **spec: Any) -> dict[str, Any]:
    """An object with metadata and a spec."""
    meta = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Thing", "metadata": meta, "spec": spec}


class Feed:
    """One stream of the fake server: the test says line by line what comes."""

    def __init__(self, status: int = 200, body: object | None = None) -> None:
        self.status = status
        self.opened = asyncio.Event()
        self.closed = asyncio.Event()
        self._chunks: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        if body is not None:
            self.raw(msgspec.json.encode(body))
            self.end()

    def raw(self, chunk: bytes) -> "Feed":
        self._chunks.put_nowait(chunk)
        return self

    def event(self, kind: str, *objects: object) -> "Feed":
        return self.raw(b"".join(msgspec.json.encode({"type": kind, "object": item}) + b"\n" for item in objects))

    def bookmark(self, version: int, *, initial_end: bool = False) -> "Feed":
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return self.event("BOOKMARK", {"kind": "Thing", "metadata": meta})

    def error(self, code: int, reason: str) -> "Feed":
        return self.event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": reason})

    def end(self) -> "Feed":
        self._chunks.put_nowait(None)
        return self

    def fail(self, error: Exception) -> "Feed":
        self._chunks.put_nowait(error)
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            chunk = await self._chunks.get()
            if chunk is None:
                return
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class FakeTransport:
    """Answers requests with ``answer`` and streams with the next of ``feeds``; a stream without a feed stays silent."""

    def __init__(self, answer: Callable[[Request], Answer] | None = None) -> None:
        self.requests: list[Request] = []
        self.feeds: deque[Feed | Exception] = deque()
        self.answer = answer or (lambda _: status_answer(404, "NotFound"))
        self.hold: asyncio.Event | None = None
        self.closed = False

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        self.requests.append(request)
        if self.hold is not None:
            await self.hold.wait()
        return self.answer(request)

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # as above
        self.requests.append(request)
        feed = self.feeds.popleft() if self.feeds else Feed()
        if isinstance(feed, Exception):
            raise feed
        feed.opened.set()
        try:
            yield Stream(feed.status, {}, feed.chunks())
        finally:
            feed.closed.set()

    async def close(self) -> None:
        self.closed = True

    def queries(self, verb: str) -> list[dict[str, str]]:
        """The queries of the requests of one verb, in order."""
        return [dict(request.query) for request in self.requests if request.verb == verb]


async def until(condition: Callable[[], object], turns: int = 10_000) -> None:
    """Lets the loop turn until the condition holds; virtual time passes slowly meanwhile."""
    for turn in range(turns):
        if condition():
            return
        await asyncio.sleep(0 if turn % 20 else 0.1)
    raise AssertionError("the condition never came true")


@contextlib.asynccontextmanager
async def running(coroutine: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """Runs something beside the test and ends it with the block."""
    task = asyncio.ensure_future(coroutine)
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
