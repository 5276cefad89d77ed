"""The client of one API server: requests, decoded answers, typed errors, and manners.

Manners are: a bounded number of requests in flight with urgent work first, a short wait when the server asks for it
(429), and a circuit breaker when there is no server. Nothing else is retried here; retries belong to the work queue,
where they are seen and paced.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from uniteddeployment.kube import errors, requests
from uniteddeployment.kube.circuit import Circuit
from uniteddeployment.kube.limiter import Limiter, Priority
from uniteddeployment.kube.meta import Scale
from uniteddeployment.kube.requests import Page, PatchType, Propagation, Request
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.transport import Answer, Stream, Transport

T = TypeVar("T")

REQUEST_SECONDS = 15.0
PAGE_SIZE = 500
_WAITS_FOR_BUSY_SERVER = 3
_MOST_EMPTY_PAGES = 100
_LONGEST_WAIT = 5.0
_NO_VERSION = "1"
"""A resourceVersion that no object has: it is that of the empty store. An API server compares it with that of an object
which exists, and ignores it when it creates one."""
_READING = frozenset({"get", "list", "watch"})


@dataclass(slots=True)
class Stats:
    """Requests that went out, by verb and resource (a retried one counts each time), and what came of them."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    unreachable: int = 0

    @property
    def total(self) -> int:
        """All requests."""
        return self.requests.total()

    @property
    def writes(self) -> int:
        """Requests that could change something."""
        return sum(count for (verb, _), count in self.requests.items() if verb not in _READING)

    def by_verb(self) -> dict[str, int]:
        """Requests by verb alone."""
        verbs: Counter[str] = Counter()
        for (verb, _), count in self.requests.items():
            verbs[verb] += count
        return dict(verbs)


class ClientMetrics(Protocol):
    """Is told of each request when it is over; ``status`` is 0 when there was no answer."""

    def requested(self, verb: str, resource: str, status: int, seconds: float) -> None: ...

    def forget(self) -> None:
        """The client is closed: its server need not be counted any more."""


class Client:
    """Speaks to one API server. ``name`` is how messages and metrics call it.

    ``guard`` is called before each write, also before the second try of one that had to wait; it raises ``NotLeading``
    to keep the write from being sent.
    """

    def __init__(
        self,
        transport: Transport,
        name: str,
        *,
        limiter: Limiter | None = None,
        circuit: Circuit | None = None,
        timeout: float = REQUEST_SECONDS,
        field_manager: str | None = None,
        metrics: ClientMetrics | None = None,
        guard: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.stats = Stats()
        self.limiter = limiter or Limiter()
        self.circuit = circuit or Circuit(name)
        self._transport = transport
        self._timeout = timeout
        self._field_manager = field_manager
        self._metrics = metrics
        self._guard = guard

    async def close(self) -> None:
        """Closes the transport."""
        await self._transport.close()
        if self._metrics is not None:
            self._metrics.forget()

    async def get(
        self,
        resource: Resource,
        name: str,
        type_: type[T],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """One object."""
        return await self._read(requests.get(resource, name, namespace, subresource), type_, priority)

    async def list_pages(
        self,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = PAGE_SIZE,
        resource_version: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> AsyncIterator[Page[T]]:
        """A collection, page by page; ``Gone`` in the middle means that it took too long and has to begin anew.

        A page that is too large is asked for again with fewer objects.
        """
        token, empty = "", 0
        while True:
            request = requests.list_(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_=token,
                resource_version=resource_version,
            )
            try:
                answer = await self.send(request, priority=priority)
            except errors.TooLarge:
                if limit is None or limit <= 1:
                    raise
                limit = max(limit // 10, 1)
                continue
            page = requests.read_page(answer.status, answer.headers, answer.body, type_)
            yield page
            token = page.continue_
            if not token:
                return
            empty = 0 if page.items or page.skipped else empty + 1
            if empty > _MOST_EMPTY_PAGES:
                raise errors.Malformed(answer.status, "Malformed", "the list goes on and on without an object")

    async def list_all(
        self,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> list[T]:
        """A whole collection, without what is malformed; in pages, or at once if the server forgot where we were."""

        async def collect(limit: int | None) -> list[T]:
            pages = self.list_pages(
                resource,
                type_,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                priority=priority,
            )
            return [item async for page in pages for item in page.items]

        try:
            return await collect(PAGE_SIZE)
        except errors.Gone:
            return await collect(None)

    async def create(
        self,
        resource: Resource,
        body: object,
        type_: type[T],
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Creates an object; raises ``AlreadyExists`` if its name is taken. ``dry_run`` only asks whether it could."""
        request = requests.create(resource, body, namespace, field_manager=self._field_manager, dry_run=dry_run)
        return await self._read(request, type_, priority)

    async def replace(
        self,
        resource: Resource,
        name: str,
        body: object,
        type_: type[T],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Writes a whole object; raises ``Conflict`` if ``body`` has a resourceVersion that is not the current one."""
        request = requests.replace(
            resource, name, body, namespace, subresource=subresource, field_manager=self._field_manager
        )
        return await self._read(request, type_, priority)

    async def merge_patch(
        self,
        resource: Resource,
        name: str,
        patch: object,
        type_: type[T],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Changes fields; ``None`` removes one. With ``metadata.resourceVersion`` in it, only over that version."""
        request = requests.patch(
            resource,
            name,
            patch,
            namespace,
            patch_type=PatchType.MERGE,
            subresource=subresource,
            field_manager=self._field_manager,
        )
        return await self._read(request, type_, priority)

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[Mapping[str, Any]],
        type_: type[T],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Applies JSON patch operations; all or none of them, and none if a ``test`` among them fails."""
        request = requests.patch(
            resource,
            name,
            operations,
            namespace,
            patch_type=PatchType.JSON,
            subresource=subresource,
            field_manager=self._field_manager,
        )
        return await self._read(request, type_, priority)

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: object,
        type_: type[T],
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Server-side apply: creates or corrects; ``Conflict`` names fields of others unless ``force`` takes them."""
        request = requests.patch(
            resource,
            name,
            body,
            namespace,
            patch_type=PatchType.APPLY,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )
        return await self._read(request, type_, priority)

    async def apply_new(
        self,
        resource: Resource,
        name: str,
        body: Mapping[str, Any],
        type_: type[T],
        *,
        field_manager: str,
        namespace: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Server-side apply that only creates: raises ``Conflict`` if there is an object of that name, whoever owns it.

        A plain apply merges into an object that is there whenever its owners allow it. A POST would not, but the fields
        that it writes belong to the operation Update, and no later apply can remove them.
        """
        metadata = {**body["metadata"], "resourceVersion": _NO_VERSION}
        return await self.apply(
            resource,
            name,
            {**body, "metadata": metadata},
            type_,
            field_manager=field_manager,
            namespace=namespace,
            priority=priority,
        )

    async def scale(
        self,
        resource: Resource,
        name: str,
        replicas: int,
        *,
        namespace: str | None = None,
        resource_version: str | None = None,
        priority: Priority = Priority.URGENT,
    ) -> Scale:
        """Sets the replicas through the scale subresource."""
        request = requests.scale(resource, name, replicas, namespace, resource_version=resource_version)
        return await self._read(request, Scale, priority)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        priority: Priority = Priority.URGENT,
    ) -> None:
        """Asks for an object to go; raises ``NotFound`` if it is not there and ``Conflict`` if it is another one."""
        request = requests.delete(
            resource,
            name,
            namespace,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period_seconds=grace_period_seconds,
        )
        await self.send(request, priority=priority)

    async def send(
        self,
        request: Request,
        *,
        priority: Priority = Priority.URGENT,
        timeout: float | None = None,  # noqa: ASYNC109  # handed to the transport
    ) -> Answer:
        """Sends any request and gives its answer if it is a success; raises the typed error if not."""
        await self.limiter.acquire(priority)
        try:
            return await self._until_not_busy(request, timeout or self._timeout)
        finally:
            self.limiter.release()

    async def probe(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # handed to the transport
        """Sends a request that finds out whether the server is there.

        It waits for no slot, since requests that get no answer hold the slots, and goes out while the circuit is open.
        Raises the typed error if the answer is no success.
        """
        with self._observed(request, probe=True) as report:
            answer = await self._transport.send(request, timeout=timeout)
            report(answer.status)
        if not 200 <= answer.status < 300:
            raise requests.failure(answer.status, answer.headers, answer.body)
        return answer

    @contextlib.asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """An open answer, for watches: takes no slot, since it lasts. Raises the typed error if it is a refusal."""
        async with contextlib.AsyncExitStack() as stack:
            with self._observed(request) as report:
                opened = self._transport.stream(request, timeout=self._timeout)
                stream = await stack.enter_async_context(opened)
                report(stream.status)
            if not 200 <= stream.status < 300:
                body = await self._refusal(stream)
                raise requests.failure(stream.status, stream.headers, body)
            yield stream

    async def _refusal(self, stream: Stream) -> bytes:
        """The body of a refusal, as far as it is there in time and not too large to be one."""
        body = bytearray()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeout):
                async for chunk in stream.chunks:
                    body += chunk
                    if len(body) > requests.MAX_REFUSAL_BYTES:
                        break
        return bytes(body)

    async def _read(self, request: Request, type_: type[T], priority: Priority) -> T:
        answer = await self.send(request, priority=priority)
        return requests.read(answer.status, answer.headers, answer.body, type_)

    async def _until_not_busy(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109  # handed on
        attempt = 0
        while True:
            if self._guard is not None and not request.reads:
                self._guard()
            with self._observed(request) as report:
                answer = await self._transport.send(request, timeout=timeout)
                report(answer.status)
            if 200 <= answer.status < 300:
                return answer
            error = requests.failure(answer.status, answer.headers, answer.body)
            attempt += 1
            wait = error.retry_after
            busy = isinstance(error, errors.TooManyRequests) and wait is not None and wait <= _LONGEST_WAIT
            if not busy or attempt > _WAITS_FOR_BUSY_SERVER:
                raise error
            # The slot is kept: while one of ours waits, the server gets that much less from us.
            await asyncio.sleep(wait or 0.0)

    @contextlib.contextmanager
    def _observed(self, request: Request, *, probe: bool = False) -> Iterator[Callable[[int], None]]:
        """Asks the circuit first and tells it, the counters and the metrics afterwards how it went."""
        if not probe:
            self.circuit.check()
        self.stats.requests[request.verb, request.resource] += 1
        clock = asyncio.get_running_loop().time
        started = clock()
        status = 0

        def report(code: int) -> None:
            nonlocal status
            status = code
            self.stats.statuses[code] += 1
            self.circuit.succeeded()

        try:
            yield report
        except errors.Unreachable as error:
            self.stats.unreachable += 1
            self.circuit.failed(error.why)
            raise
        except BaseException:
            # Cancelled, not sent, or an answer that cannot be read: nothing was learnt of the server.
            self.circuit.gave_up()
            raise
        finally:
            if self._metrics is not None:
                self._metrics.requested(request.verb, request.resource, status, clock() - started)
