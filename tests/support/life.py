"""One life of a controller process inside of a simulation, and its end by SIGKILL at any of its writes.

A real process that is killed stops at once: what it was about to send is never sent, what was answered to it is never
read, and no ``finally`` runs. Here its connections are cut first, so that whatever its tasks still do while they are
cancelled reaches nobody.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Request, Response

_LIFE: ContextVar["Life | None"] = ContextVar("life", default=None)


class Life:
    """A controller process: the tasks that it began and the connections that it has."""

    def __init__(self) -> None:
        self.dead = False
        self.writes = 0
        """How many writes it has begun, Events left out."""
        self.writing = False
        """Whether a server handles a request of it at this instant: what is committed now is its doing."""
        self.on_death: Callable[[], None] = lambda: None
        """Called when it is killed."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._last: tuple[int, bool] | None = None

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the process; whatever tasks that makes belong to this life."""
        token = _LIFE.set(self)
        try:
            return asyncio.create_task(work)
        finally:
            _LIFE.reset(token)

    def kill_at(self, write: int, *, reached: bool) -> None:
        """Kill it at its ``write``-th write from now (from 1): before the server has it, or before the answer."""
        self._last = (self.writes + write, reached)

    def spare(self) -> None:
        """Take back a kill that has not come."""
        self._last = None

    def kill(self) -> None:
        """Cut its connections, then end its tasks."""
        self.dead = True
        self.on_death()
        for task in tuple(self._tasks):
            task.cancel()

    def connected(self, cluster: Cluster, at_address: Callable[[Cluster], Cluster] | None = None) -> "Connection":
        """A cluster as this process reaches it. ``at_address`` gives the one that answers at its address now."""
        return Connection(self, lambda: at_address(cluster) if at_address is not None else cluster)

    def joined_by(self, task: asyncio.Task[Any]) -> None:
        """Note a task that a task of this life has made."""
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if self.dead:
            task.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if self.dead and not task.cancelled():
            task.exception()  # nobody is left to read it, and asyncio would log that

    def handled(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        """Let a server handle a request, unless that is where this life ends. Raises ConnectionAbortedError."""
        counted = request.method != "GET" and not request.path.endswith("/events") and "/events/" not in request.path
        if counted and not self.dead:
            self.writes += 1
        last = counted and self._last is not None and self.writes == self._last[0]
        if last and self._last == (self.writes, False):
            self.kill()
        if self.dead:
            raise ConnectionAbortedError
        self.writing = True
        outside = _LIFE.set(None)  # what the server does because of it outlives the process
        try:
            response = handle(request)
        finally:
            _LIFE.reset(outside)
            self.writing = False
        if last:
            self.kill()
        return response


class Connection:
    """The way from a life to an address, faults of the cluster included. Nobody hears an answer after death."""

    def __init__(self, life: Life, find: Callable[[], Cluster]) -> None:
        self._life = life
        self._find = find

    @property
    def server(self) -> Cluster | None:
        """The cluster that a new connection would reach; None if it fails."""
        with suppress(OSError):
            return self._find()
        return None

    async def request(self, request: Request) -> Response:
        """Answer a request as the process finds it answered."""
        try:
            cluster = self._find()
            response = await cluster.faults.around(request, lambda asked: self._life.handled(asked, cluster.handle))
        except OSError:
            await self._alive()
            raise
        await self._alive()
        return response

    async def _alive(self) -> None:
        """Go on only if the process lives; the tasks of a dead one wait here for their cancellation."""
        if self._life.dead:
            await asyncio.get_running_loop().create_future()


def track_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Have the tasks of a loop known to the lives that make them."""

    def make(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **options: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        life = _LIFE.get()
        if life is not None:
            life.joined_by(task)
        return task

    loop.set_task_factory(make)
