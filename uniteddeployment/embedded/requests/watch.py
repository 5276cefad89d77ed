"""Watches: events of some objects, as a stream of JSON lines.

Contract: a watch subscribes when its request is handled, not when its stream is first read, so no event is missed. Each
event is encoded once for all watches of the same form. As in the real server, a reader that falls too far behind is
disconnected and has to list again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from uniteddeployment.embedded.apimachinery import selectors, tables
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.clock import Timer
from uniteddeployment.embedded.discovery.routes import Route
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.requests import answer
from uniteddeployment.embedded.requests.negotiate import JSON, Accepted
from uniteddeployment.embedded.requests.options import ListOptions, list_options
from uniteddeployment.embedded.requests.read import plain, too_large
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Entry, Event, EventType, HistoryGoneError, Table

BACKLOG: Final = 10_000
"""Maximum number of events that wait for a reader."""

BATCH: Final = 256
"""Maximum number of events in one chunk."""

BOOKMARK_SECONDS: Final = 60.0
TIMEOUT_SECONDS: Final = 3600.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Stream:
    """A queue of chunks between the cluster, which never blocks, and one reader."""

    def __init__(self, on_close: Callable[[], None]) -> None:
        self._chunks: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._on_close: Callable[[], None] | None = on_close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        batch = [self._chunks.popleft() for _ in range(min(BATCH, len(self._chunks)))]
        return b"".join(batch)

    async def aclose(self) -> None:
        """Close the stream from the reader's side."""
        self.end()
        self._chunks.clear()

    def put(self, chunk: bytes) -> None:
        """Append an event."""
        self._chunks.append(chunk)
        self._wake()

    def __len__(self) -> int:
        return len(self._chunks)

    def end(self) -> None:
        """End the stream; queued chunks can still be read."""
        self._ended = True
        if self._on_close is not None:
            close, self._on_close = self._on_close, None
            close()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Watch:
    """One watch of one resource: filters and encodes events for its stream."""

    def __init__(
        self, core: Core, route: Route, options: ListOptions, accepted: Accepted, query: Mapping[str, str]
    ) -> None:
        self._core = core
        self.resource: Resource = route.resource
        self._namespace = route.address.namespace or None
        self._selector = selectors.parse(options.labels, options.fields, route.resource)
        self._accepted = accepted
        self._included = tables.include(query.get("includeObject", "")) if accepted.form == "Table" else "None"
        self._definitions = accepted.form == "Table"
        self._bookmarks = options.bookmarks
        self._table: Table = core.registry.table(route.resource)
        self._shape = (route.resource.version, accepted.form, self._included)
        self._timers: list[Timer] = []
        self._unlisten: Callable[[], None] | None = None
        self.stream = Stream(self._close)

    def start(self, options: ListOptions) -> None:
        """Send the requested past events, and listen to new ones."""
        initial = options.version in (None, 0) if options.initial_events is None else options.initial_events
        if initial:
            self._put_present()
            if options.initial_events and options.bookmarks:
                self._bookmark({INITIAL_EVENTS_END: "true"})
        elif options.version and not self._replay(options.version):
            return
        self._unlisten = self._table.listen(self._on_event, self._namespace)
        self._core.watches.add(self)
        clock = self._core.clock
        self._timers.append(clock.call_later(options.timeout or TIMEOUT_SECONDS, self._time_out))
        if options.bookmarks:
            self._timers.append(clock.call_later(BOOKMARK_SECONDS, self._regular_bookmark))

    def _close(self) -> None:
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        self._core.watches.discard(self)
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _time_out(self) -> None:
        if self._bookmarks:
            self._bookmark(None)
        self.stream.end()

    def _regular_bookmark(self) -> None:
        self._timers = [self._timers[0], self._core.clock.call_later(BOOKMARK_SECONDS, self._regular_bookmark)]
        self._bookmark(None)

    # Past events

    def _put_present(self) -> None:
        for entry in self._table.select(self._namespace):
            if self._selector.everything or self._selector.matches(self._shown(entry)):
                self.stream.put(self._encode("ADDED", entry))

    def _replay(self, version: int) -> bool:
        """Send past events since a version; False if they are no longer known, which ends the stream."""
        store = self._core.store
        if version > store.rv:
            # The version is from before a restart, which lost all state: the client has to list again.
            return self._expire(f"too large resource version: {version}, current: {store.rv}")
        try:
            events = store.since(self._table, version)
        except HistoryGoneError:
            return self._expire(f"too old resource version: {version} ({store.compacted + 1})")
        for event in events:
            if self._namespace is None or event.after.key[0] == self._namespace:
                self._on_event(event)
        return True

    def _expire(self, text: str) -> bool:
        """Send 410, so that the client lists again; returns False."""
        status = StatusError(410, "Expired", text).body()
        self.stream.put(answer.encode({"type": "ERROR", "object": status}) + b"\n")
        self.stream.end()
        return False

    # New events

    def _on_event(self, event: Event) -> None:
        type_, entry, version = self._seen(event)
        if type_ is None:
            return
        if len(self.stream) >= BACKLOG and self._unlisten is not None:
            self.stream.end()
            return
        if self._definitions:
            self.stream.put(self._encode(type_, entry, version))
            return
        if event.encoded is None:
            event.encoded = {}
        key = (self._shape, type_)
        chunk = event.encoded.get(key)
        if chunk is None:
            chunk = event.encoded[key] = self._encode(type_, entry, version)
        self.stream.put(chunk)

    def _seen(self, event: Event) -> tuple[EventType | None, Entry, int | None]:
        """What this watch shows of an event: objects are added and deleted as they start and stop matching the
        selector.

        An object that no longer matches is shown as it was before, with the version of the change.
        """
        if self._selector.everything:
            return event.type, event.after, None
        before = event.before
        was = before is not None and self._selector.matches(self._shown(before))
        if event.type == "DELETED":
            return ("DELETED" if was else None), event.after, None
        now = self._selector.matches(self._shown(event.after))
        if now:
            return ("MODIFIED" if was else "ADDED"), event.after, None
        if was and before is not None:
            return "DELETED", before, event.rv
        return None, event.after, None

    def _shown(self, entry: Entry) -> Obj:
        return self._core.registry.show(self.resource, self._core.store.obj(self._table, entry))

    # Encoding

    def _encode(self, type_: str, entry: Entry, version: int | None = None) -> bytes:
        if version is None and not self._accepted.form and plain(self._core, self.resource):
            return b"".join(
                (b'{"type":"', type_.encode(), b'","object":', answer.full(self.resource, entry.raw), b"}\n")
            )
        obj = self._shown(entry)
        if version is not None:
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        return answer.encode({"type": type_, "object": self._formed(obj)}) + b"\n"

    def _formed(self, obj: Obj) -> Obj:
        if self._accepted.form == "Table":
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            shown = tables.table(
                self.resource,
                [obj],
                metadata=metadata,
                now=self._core.clock.now(),
                included=self._included,
                definitions=self._definitions,
            )
            self._definitions = False
            return shown
        return tables.partial(obj) if self._accepted.form else obj

    def _bookmark(self, annotations: Mapping[str, str] | None) -> None:
        metadata: Obj = {"resourceVersion": str(self._core.store.rv)}
        if annotations:
            metadata["annotations"] = annotations
        obj: Obj = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": metadata}
        if self._accepted.form == "Table":
            obj = tables.table(
                self.resource, [], metadata=metadata, now=self._core.clock.now(), included="None", definitions=False
            )
        elif self._accepted.form:
            obj = tables.partial(obj)
        self.stream.put(answer.encode({"type": "BOOKMARK", "object": obj}) + b"\n")


def watch(core: Core, route: Route, accepted: Accepted, query: Mapping[str, str]) -> Response:
    """Open a watch."""
    options = list_options(query, watched=True)
    if options.initial_events and options.version and options.version > core.store.rv:
        raise too_large(options.version, core.store.rv)
    opened = Watch(core, route, options, accepted, query)
    opened.start(options)
    return Response(200, {"content-type": JSON}, stream=opened.stream)
