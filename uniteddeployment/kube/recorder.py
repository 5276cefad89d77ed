"""Records Events (events.k8s.io/v1) in the background: ``event`` returns at once, and never fails or blocks.

The same event within ten minutes is one Event with a growing count. Each object has a token bucket of events, and the
queue of unwritten Events has a bound. ``dropped`` counts the events beyond these limits.
"""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import structlog
from cachetools import LRUCache, TTLCache

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.kube.meta import ObjectReference, PartialObject, micro_time, utc_now
from uniteddeployment.kube.ratelimit import TokenBucket
from uniteddeployment.kube.resource import EVENTS
from uniteddeployment.text import shortened

SERIES_SECONDS = 600.0
"""Within this time, the same event is counted in the same Event."""
_REMEMBERED = 4096
_LONGEST_NOTE = 1024
_LONGEST_PREFIX = 220
_TRIES = 4
_PAUSE = 1.0

EventType = Literal["Normal", "Warning"]
_Key = tuple[ObjectReference, ObjectReference | None, str, str, str, str]
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Series:
    """One Event and its count."""

    name: str
    namespace: str
    body: dict[str, Any]
    last: datetime
    count: int = 1
    written: int = 0
    queued: bool = False


class Recorder:
    """Records the Events of one controller on one API server. ``run`` writes them until it is cancelled."""

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str,
        *,
        bound: int = 1000,
        burst: int = 25,
        per_second: float = 1 / 300,
        wall: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.dropped = 0
        self._client = client
        self._controller = controller
        self._instance = instance[:128]
        self._bound = bound
        self._burst = burst
        self._rate = per_second
        self._wall = wall
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._series: TTLCache[_Key, _Series] = TTLCache(_REMEMBERED, SERIES_SECONDS, timer=self._clock)
        self._buckets: LRUCache[ObjectReference, TokenBucket[None]] = LRUCache(_REMEMBERED)
        self._waiting: deque[_Series] = deque()
        self._more = asyncio.Event()
        self._numbers = itertools.count()

    def event(
        self,
        regarding: ObjectReference,
        type_: EventType,
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
        related: ObjectReference | None = None,
    ) -> None:
        """Record an event about an object. Call it in the event loop.

        ``note`` must contain no secrets, since many users may read Events.
        """
        key: _Key = (regarding, related, type_, reason, action, _shortened(note))
        known = self._series.get(key)
        if known is not None:
            known.count += 1
            known.last = self._wall()
            self._series[key] = known  # the ten minutes start again
        if not self._allowed(regarding):
            self.dropped += 1
            return
        if known is None:
            known = self._series[key] = self._begin(key)
        self._enqueue(known)

    def pending(self) -> int:
        """How many Events are not written yet."""
        return len(self._waiting)

    async def run(self) -> None:
        """Write Events until cancelled."""
        while True:
            await self._more.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write the Events that wait now. At the end of a program, call it with a time-out."""
        while self._waiting:
            series = self._waiting.popleft()
            series.queued = False
            await self._write_patiently(series)
        self._more.clear()

    def _allowed(self, regarding: ObjectReference) -> bool:
        """Take a token of this object's bucket; return whether there was one."""
        bucket = self._buckets.get(regarding)
        if bucket is None:
            bucket = self._buckets[regarding] = TokenBucket(self._rate, self._burst, self._clock)
        return bucket.take()

    def _begin(self, key: _Key) -> _Series:
        regarding, related, type_, reason, action, note = key
        now = self._wall()
        # The API server requires Events of cluster-scoped objects to be in the namespace default.
        namespace = regarding.namespace or "default"
        name = f"{regarding.name[:_LONGEST_PREFIX]}.{int(now.timestamp() * 1e6):x}{next(self._numbers) & 0xFFFF:04x}"
        body: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_time(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action[:128],
            "reason": reason[:128],
            "regarding": regarding,
            "note": note,
            "type": type_,
        }
        if related is not None:
            body["related"] = related
        return _Series(name, namespace, body, now)

    def _enqueue(self, series: _Series) -> None:
        if series.queued:
            return
        if len(self._waiting) >= self._bound:
            self.dropped += 1
            return
        series.queued = True
        self._waiting.append(series)
        self._more.set()

    async def _write_patiently(self, series: _Series) -> None:
        """Write an Event. Retry a few times if the server does not answer or fails, but not if it refuses."""
        for attempt in range(_TRIES):
            try:
                await self._write(series)
            except (errors.Unreachable, errors.ServerError, errors.TooManyRequests) as error:
                why = str(error)
                await asyncio.sleep(_PAUSE * 2**attempt)
            except errors.KubeError as error:
                why = str(error)
                break
            else:
                return
        self.dropped += 1
        _log.debug("event not written", cluster=self._client.name, name=series.name, why=why)

    async def _write(self, series: _Series) -> None:
        count, last = series.count, series.last
        times = {"count": count, "lastObservedTime": micro_time(last)}
        if series.written:
            patch = {"series": times}
            try:
                await self._client.merge_patch(
                    EVENTS,
                    series.name,
                    patch,
                    PartialObject,
                    namespace=series.namespace,
                    priority=Priority.BACKGROUND,
                )
            except errors.NotFound:
                series.written = 0  # servers delete Events after an hour: create it again
        if not series.written:
            body = series.body | ({"series": times} if count > 1 else {})
            with contextlib.suppress(errors.AlreadyExists):  # an earlier attempt was written, and its answer was lost
                await self._client.create(
                    EVENTS, body, PartialObject, namespace=series.namespace, priority=Priority.BACKGROUND
                )
        series.written = count


def _shortened(note: str) -> str:
    """The note in one line and within the 1,024 bytes that the API server allows."""
    line = shortened(note, _LONGEST_NOTE)
    data = line.encode()
    if len(data) <= _LONGEST_NOTE:
        return line
    return data[: _LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."
