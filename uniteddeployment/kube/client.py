"""The client of one API server: requests, decoded answers and typed errors.

The client limits the requests in flight, with urgent work first, waits a short time when the server asks for that
(429), and has a circuit breaker for when there is no answer. It retries nothing else: retries belong to the work queue,
which counts and paces them.
"""

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from uniteddeployment.kube import errors, requests
from uniteddeployment.kube.circuit import Circuit
from uniteddeployment.kube.limiter import Limiter, Priority
from uniteddeployment.kube.meta import Scale
from uniteddeployment.kube.requests import Page, PatchType, Propagation, Request
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.stats import Stats
from uniteddeployment.kube.transport import Answer, Stream, Transport

T = TypeVar("T")

REQUEST_SECONDS = 15.0
PAGE_SIZE = 500
_WAITS_FOR_BUSY_SERVER = 3
_MOST_EMPTY_PAGES = 100
_LONGEST_WAIT = 5.0
_NO_VERSION = "1"
"""A resourceVersion that no object has, since it is that of the empty store. An API server compares it with that of an
existing object, and ignores it when it creates one."""
_IMPERSONATE_USER = "impersonate-user"


class ClientMetrics(Protocol):
    """Receives each request when it is finished. ``status`` is 0 if there was no answer."""

    def requested(self, verb: str, resource: str, status: int, seconds: float) -> None: ...

    def forget(self) -> None:
        """The client is closed; its series can be removed."""


class Client:
    """Talks to one API server, which messages and metrics call ``name``.

    ``guard`` is called before each write, also before each retry after a wait. It raises ``NotLeading`` to prevent the
    write.
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
        self.transport = transport
        self._timeout = timeout
        self._field_manager = field_manager
        self._metrics = metrics
        self._guard = guard
        self._user = ""
        self._check: Callable[[], None] | None = None

    def acting_as(self, user: str) -> "Client":
        """Return a client whose writes are made as another user. It shares everything else, and reads as before."""
        acting = copy.copy(self)
        acting._user = user  # noqa: SLF001  # a copy of this client
        return acting

    def checked(self, check: Callable[[], None]) -> "Client":
        """Return a client that calls ``check`` when the turn of a request comes. If it raises, nothing is sent.

        In a burst, a request of low priority may wait for seconds, and be outdated then. It shares everything else.
        """
        checked = copy.copy(self)
        checked._check = check  # noqa: SLF001  # a copy of this client
        return checked

    async def close(self) -> None:
        """Close the transport."""
        await self.transport.close()
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
        """Read one object."""
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
        """Read a collection page by page. ``Gone`` after the first page means that its version has expired.

        A page that is too large is requested again with fewer objects.
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
                raise errors.Malformed(answer.status, "Malformed", "the list has too many empty pages in a row")

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
        """Read a whole collection, without undecodable objects; in pages, or in one piece if the pages expire."""

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
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        priority: Priority = Priority.URGENT,
    ) -> T:
        """Create an object, or a subresource of the object ``name``, such as a token of a ServiceAccount.

        Raises ``AlreadyExists`` if its name is taken. ``dry_run`` stores nothing.
        """
        request = requests.create(
            resource,
            body,
            namespace,
            name=name,
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=dry_run,
        )
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
        """Replace a whole object. Raises ``Conflict`` if ``body`` has a resourceVersion that is not the current one."""
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
        """Change fields; ``None`` removes one. With ``metadata.resourceVersion``, other versions raise ``Conflict``."""
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
        """Apply JSON patch operations: all of them, or none if one of them, such as a ``test``, fails."""
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
        """Create or correct an object by server-side apply.

        Raises ``Conflict``, which names the fields of other managers, unless ``force`` takes them.
        """
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
        """Create an object by server-side apply. Raises ``Conflict`` if its name is taken.

        A plain apply would merge into an existing object whenever its owners allow it. A POST would not, but the fields
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
        """Set the replicas through the scale subresource."""
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
        """Delete an object. Raises ``NotFound`` if it does not exist and ``Conflict`` if it is not the expected one."""
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
        """Send a request and return its answer. Raises the typed error unless it is a success."""
        if self._user and not request.reads:
            request = replace(request, headers={**request.headers, _IMPERSONATE_USER: self._user})
        await self.limiter.acquire(priority)
        try:
            if self._check is not None:
                self._check()
            return await self._until_not_busy(request, timeout or self._timeout)
        finally:
            self.limiter.release()

    async def probe(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # handed to the transport
        """Send a request that shows whether the server answers.

        Raises the typed error unless the answer is a success.
        """
        answer = await self.send_probe(request, timeout=timeout)
        if not 200 <= answer.status < 300:
            raise requests.failure(answer.status, answer.headers, answer.body)
        return answer

    async def send_probe(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # handed to the transport
        """Send a probe and return the answer, whatever its status.

        It needs no slot, since requests without an answer hold the slots, and it passes an open circuit.
        """
        with self._observed(request, probe=True) as report:
            answer = await self.transport.send(request, timeout=timeout)
            report(answer.status)
        return answer

    @contextlib.asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Open a stream, for watches. It needs no slot, since it lasts. Raises the typed error if it is refused."""
        async with contextlib.AsyncExitStack() as stack:
            with self._observed(request) as report:
                opened = self.transport.stream(request, timeout=self._timeout)
                stream = await stack.enter_async_context(opened)
                report(stream.status)
            if not 200 <= stream.status < 300:
                body = await self._refusal(stream)
                raise requests.failure(stream.status, stream.headers, body)
            yield stream

    async def _refusal(self, stream: Stream) -> bytes:
        """The body of a refusal, up to a size and a time."""
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
                answer = await self.transport.send(request, timeout=timeout)
                report(answer.status)
            if 200 <= answer.status < 300:
                return answer
            error = requests.failure(answer.status, answer.headers, answer.body)
            attempt += 1
            wait = error.retry_after
            busy = isinstance(error, errors.TooManyRequests) and wait is not None and wait <= _LONGEST_WAIT
            if not busy or attempt > _WAITS_FOR_BUSY_SERVER:
                raise error
            # The slot is kept, so that a busy server gets fewer requests.
            await asyncio.sleep(wait or 0.0)

    @contextlib.contextmanager
    def _observed(self, request: Request, *, probe: bool = False) -> Iterator[Callable[[int], None]]:
        """Check the circuit before a request, and report its outcome to the circuit, the counters and the metrics."""
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
            # Cancelled, not sent, or an unreadable answer: nothing is known of the server.
            self.circuit.gave_up()
            raise
        finally:
            if self._metrics is not None:
                self._metrics.requested(request.verb, request.resource, status, clock() - started)
