"""Keeps a cache equal to a collection of an API server: it lists once, then watches.

When a watch ends, the next one continues at the same resource version. If the server no longer has that version, the
reflector lists again, and comparing the list with the cache shows what was missed, deletions included. It uses
streaming lists where the server has them, and pages elsewhere. It never gives up: ``connected`` and ``last_error``
report its state, the cache keeps its content, and the pauses between attempts grow.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from uniteddeployment.kube import collector, errors, requests
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import PAGE_SIZE, Client
from uniteddeployment.kube.meta import HasMeta
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.snapshot import Snapshot
from uniteddeployment.kube.watch import ADDED, Bookmark, Change, Changes, Failure, Found, Undecodable, WatchDecoder

T = TypeVar("T", bound=HasMeta)

IDLE_SECONDS = 90.0
"""Servers send a bookmark about once a minute; a stream that is silent for longer counts as broken."""
INITIAL_SECONDS = 15.0
"""How long a streaming list may be silent before paging is tried: some servers ignore the option silently."""
_WATCH_SECONDS = 300.0
_ABSENT_SECONDS = 300.0
"""How often an optional resource that is not served is requested again: about as often as watches are restarted."""
_SHORT = 1.0
STEADY_SECONDS = 2.0
"""How long a watch has to last after a failure before it counts as recovered, if no event arrives earlier."""
_GONE_AGAIN = 60.0

_log = structlog.get_logger(__name__)


class Reflector(Generic[T]):
    """Fills ``cache`` from one collection of one API server. ``run`` works until it is cancelled.

    ``on_seen`` is called with every received state of every object, also with states that a later one in the same list
    or the cache supersedes. ``synced`` is set once the first list is complete. ``before_list`` is awaited before each
    list after the first, since such a list replaces what is known; it prevents that by raising a KubeError.

    An ``optional`` resource is one that a server need not serve: it is requested again only after minutes, ``refusal``
    has the reason meanwhile, and ``on_synced`` is also called after the first refusal. A collection with more objects
    than the cache takes is not followed, and listed again after minutes.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        type_: type[T],
        cache: Cache[T],
        *,
        on_seen: Callable[[T], None] | None = None,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        on_synced: Callable[[], None] | None = None,
        on_state: Callable[[bool], None] | None = None,
        before_list: Callable[[], Awaitable[None]] | None = None,
        idle_timeout: float = IDLE_SECONDS,
        initial_timeout: float = INITIAL_SECONDS,
        backoff: Backoff | None = None,
        chance: Callable[[], float] = random.random,
        optional: bool = False,
    ) -> None:
        self.cache = cache
        self.synced = asyncio.Event()
        self.refusal: errors.ApiError | None = None
        self.connected = False
        self.last_contact: float | None = None
        self.last_error = ""
        self.relists = 0
        self._names = {"cluster": client.name, "resource": resource.plural}
        cache.log_names = self._names
        self._on_seen = on_seen
        self._client = client
        self._resource = resource
        self._type = type_
        self._namespace = namespace
        self._labels = label_selector
        self._fields = field_selector
        self._on_synced = on_synced
        self._on_state = on_state
        self._before_list = before_list
        self._idle = idle_timeout
        self._initial_idle = initial_timeout
        self._backoff = backoff or Backoff(chance=chance)
        self._chance = chance
        self._optional = optional
        self._version: str | None = None
        self._streaming = True
        self._last_gone: float | None = None
        self._failing_since: float | None = None
        self._failure: errors.KubeError | None = None
        self._opened = 0.0
        self._nudge = asyncio.Event()

    @property
    def resource_version(self) -> str | None:
        """The version up to which the cache is complete; ``None`` before the first list and after a 410."""
        return self._version

    @property
    def settled(self) -> bool:
        """Whether the server has answered: with the list, or with anything if the resource is optional."""
        return self.synced.is_set() or (self._optional and bool(self.last_error))

    @property
    def steady(self) -> bool:
        """Whether the cache follows the server: connected, and not only for a moment between two failures."""
        if not self.connected:
            return False
        return self._failing_since is None or self._now() - self._opened > STEADY_SECONDS

    @property
    def failing_for(self) -> float:
        """For how many seconds the collection could not be followed; 0 if it can."""
        return 0.0 if self.steady or self._failing_since is None else self._now() - self._failing_since

    @property
    def trouble(self) -> errors.KubeError | None:
        """Why the collection cannot be followed, also while the next attempt is under way; None if it can."""
        return None if self.steady else self._failure

    def retry_now(self) -> None:
        """End the present pause, because the server is known to be back."""
        self._nudge.set()

    async def run(self) -> None:
        """List and watch until cancelled."""
        try:
            while True:
                started = self._now()
                try:
                    await self._round()
                    pause = self._backoff.pause() if self._now() - started < _SHORT else 0.0
                except errors.Gone:
                    self._version = None
                    self.relists += 1
                    pause = self._pause_after_gone()
                except errors.TooMany as error:
                    self._version = None
                    self._failed(error)
                    # ``retry_now`` does not end this pause: the connection is not the problem, and lists are expensive.
                    await asyncio.sleep(_ABSENT_SECONDS * (0.5 + self._chance()))
                    continue
                except errors.KubeError as error:
                    refused = self._failed(error)
                    pause = _ABSENT_SECONDS * (0.5 + self._chance()) if refused else self._backoff.pause()
                except Exception as error:  # noqa: BLE001  # whatever a server sent, the next list may be fine
                    _log.exception("cannot follow", **self._names)
                    self._version = None
                    self._failed(errors.KubeError(f"internal error: {type(error).__name__}"))
                    pause = self._backoff.pause()
                await self._rest(pause)
        finally:
            self._set_connected(False)

    async def _round(self) -> None:
        """One watch, after a list if there is no resource version to continue from."""
        if self._version is None:
            if self._before_list is not None and self.synced.is_set():
                await self._before_list()
            if self._streaming and await self._streaming_list():
                return
            await self._paged_list()
        await self._follow(self._watch_request(), None)

    async def _streaming_list(self) -> bool:
        """A list and the watch after it in one stream. Return False if this server has to be paged instead."""
        try:
            await self._follow(self._watch_request(initial=True), Snapshot(most=self.cache.most))
        except (errors.BadRequest, errors.Invalid, errors.Forbidden, _NotStreamingError) as error:
            if self._version is not None:
                raise  # the list was complete and the watch after it failed: no reason to ask differently
            if self._optional and isinstance(error, errors.Forbidden):
                raise  # servers check rights before they check whether they serve the resource
            # Either the option or the watch may be forbidden; the paged list shows which.
            self._streaming = isinstance(error, errors.Forbidden)
            _log.info("no streaming list, paging instead", why=str(error), **self._names)
            return False
        return True

    async def _paged_list(self) -> None:
        try:
            snapshot = await self._pages(PAGE_SIZE)
        except errors.Gone:
            # The pages took longer than the server keeps a version; a single page cannot expire.
            snapshot = await self._pages(None)
        self._listed(snapshot)

    async def _pages(self, limit: int | None) -> Snapshot[T]:
        snapshot: Snapshot[T] = Snapshot(most=self.cache.most)
        pages = self._client.list_pages(
            self._resource,
            self._type,
            namespace=self._namespace,
            label_selector=self._labels,
            field_selector=self._fields,
            limit=limit,
        )
        async for page in pages:
            self._heard()
            snapshot.version = page.resource_version
            for item in page.items:
                if self._on_seen is not None:
                    self._on_seen(item)
                snapshot.put(item)
            for skipped in page.skipped:
                snapshot.skip(ADDED, (skipped.namespace, skipped.name), skipped.why)
        return snapshot

    async def _follow(self, request: requests.Request, initial: Snapshot[T] | None) -> None:
        """Read one stream to its end; ``initial`` collects the list that a streaming list begins with."""
        decoder = WatchDecoder(self._type)
        async with self._client.stream(request) as stream:
            if initial is None:
                self._set_connected(True)
            try:
                # One timeout for the stream, put off after each chunk: one for each takes as long as decoding a pod.
                async with asyncio.timeout(None) as silence:
                    while True:
                        silence.reschedule(self._now() + (self._idle if initial is None else self._initial_idle))
                        chunk = await anext(stream.chunks, None)
                        if chunk is None:
                            break
                        silence.reschedule(None)
                        self._heard()
                        if initial is None:
                            self._apply(decoder.feed(chunk))
                        else:
                            with collector.paused():
                                initial = self._collect(decoder.feed(chunk), initial)
            except TimeoutError:
                if initial is not None:
                    raise _NotStreamingError(0, "", "the streaming list fell silent") from None
                return
        if initial is not None:
            raise errors.Unreachable(self._client.name, "the streaming list broke off")

    def _collect(self, found: list[Found[T]], initial: Snapshot[T]) -> Snapshot[T] | None:
        """Add a part of the initial list. Return None once it is complete and in the cache."""
        for position, item in enumerate(found):
            match item:
                case Changes(events):
                    self._see(events)
                    initial.take(events)
                case Undecodable(type=kind, key=key, why=why):
                    initial.skip(kind, key, why)
                case Bookmark(resource_version=version, initial_end=True):
                    initial.version = version
                    self._listed(initial)
                    self._apply(found[position + 1 :])
                    return None
                case Bookmark():
                    raise _NotStreamingError(0, "", "a bookmark came before the end of the initial list")
                case Failure(error):
                    raise error
        return initial

    def _apply(self, found: list[Found[T]]) -> None:
        """Apply changes that come after the list."""
        for item in found:
            match item:
                case Changes(events):
                    self._failing_since = None
                    self._see(events)
                    self.cache.take(events)
                    self._version = events[-1].object.metadata.resource_version or self._version
                case Bookmark(resource_version=version):
                    self._failing_since = None
                    if version:
                        self._version = version
                        self.cache.caught_up(version)
                case Undecodable(type=kind, key=key, resource_version=version, why=why):
                    self._version = version or self._version
                    self.cache.skip(kind, key, version, why)
                case Failure(error):
                    raise error

    def _see(self, events: list[Change[T]]) -> None:
        if self._on_seen is not None:
            for event in events:
                self._on_seen(event.object)

    def _listed(self, snapshot: Snapshot[T]) -> None:
        """The list is complete: put it into the cache. The watch continues at its version."""
        self._version = snapshot.version
        self.refusal = None
        self._failing_since = None
        self._set_connected(True)
        self.cache.replace(snapshot)
        if not self.synced.is_set():
            self.synced.set()
            if self._on_synced is not None:
                self._on_synced()

    def _watch_request(self, *, initial: bool = False) -> requests.Request:
        return requests.watch(
            self._resource,
            self._namespace,
            label_selector=self._labels,
            field_selector=self._fields,
            resource_version=None if initial else self._version,
            initial_events=initial,
            # Jitter, so that watches that began together do not all end together.
            timeout_seconds=int(_WATCH_SECONDS * (1.0 + self._chance())),
        )

    def _pause_after_gone(self) -> float:
        """No pause the first time, since the cache is stale; a growing one if the versions keep expiring."""
        now = self._now()
        again = self._last_gone is not None and now - self._last_gone < _GONE_AGAIN
        self._last_gone = now
        return self._backoff.pause() if again else 0.0

    async def _rest(self, seconds: float) -> None:
        if seconds <= 0:
            return
        self._nudge.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nudge.wait()

    def _failed(self, error: errors.KubeError) -> bool:
        """Note an error. Return whether it means that an optional resource is not served."""
        text = str(error)
        first = not self.settled
        refused = self._refused(error)
        if refused:
            # The cache keeps its content until the next list, in case this is a mistake of the server.
            self._version = None
        elif text != self.last_error:
            _log.warning("cannot follow", why=text, **self._names)
        self.last_error = text
        self._failure = error
        if self._failing_since is None or self.steady:
            self._failing_since = self._now()
        self._set_connected(False)
        if first and self.settled and self._on_synced is not None:
            self._on_synced()
        return refused

    def _refused(self, error: errors.KubeError) -> bool:
        """Return whether the error refuses an optional resource; without the right to it, it may be served or not."""
        if not self._optional or not isinstance(error, errors.NotFound | errors.Forbidden):
            return False
        if isinstance(error, errors.Forbidden) and self.synced.is_set():
            return False
        if self.refusal is None:
            _log.info("not served", why=str(error), **self._names)
        self.refusal = error
        return True

    def _set_connected(self, connected: bool) -> None:
        if connected:
            self._heard()
            self._opened = self._now()
            self.last_error = ""
        if connected is not self.connected:
            self.connected = connected
            if self._on_state is not None:
                self._on_state(connected)

    def _heard(self) -> None:
        self.last_contact = self._now()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


class _NotStreamingError(errors.ApiError):
    """The server accepted the option of streaming lists and ignored it."""
