"""Writes Events (events.k8s.io/v1) beside the work: ``event`` returns at once, never fails, and never blocks.

The same thing said again within ten minutes is one Event with a growing count. What is said while an Event waits to
be written is written with it. Each object has a bucket of events, and the queue has a bound: when there is too much
to say, saying less is right, and ``dropped`` counts what was left out.
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
"""How long after the last time the same thing counts as the same Event."""
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
    """One Event and how often it happened."""

    name: str
    namespace: str
    body: dict[str, Any]
    last: datetime
    count: int = 1
    written: int = 0
    queued: bool = False


class Recorder:
    """Events of one controller on one API server. ``run`` writes them until it is cancelled."""

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
        """Says that something happened to an object; call it in the event loop.

        ``note`` must hold no secrets: anybody may read Events.
        """
        key: _Key = (regarding, related, type_, reason, action, _shortened(note))
        known = self._series.get(key)
        if known is not None:
            known.count += 1
            known.last = self._wall()
            self._series[key] = known  # the ten minutes begin anew
        if not self._allowed(regarding):
            self.dropped += 1
            return
        if known is None:
            known = self._series[key] = self._begin(key)
        self._enqueue(known)

    def pending(self) -> int:
        """How many Events wait to be written."""
        return len(self._waiting)

    async def run(self) -> None:
        """Writes Events until cancelled."""
        while True:
            await self._more.wait()
            await self.flush()

    async def flush(self) -> None:
        """Writes what waits now; for the end of a program, under a time-out."""
        while self._waiting:
            series = self._waiting.popleft()
            series.queued = False
            await self._write_patiently(series)
        self._more.clear()

    def _allowed(self, regarding: ObjectReference) -> bool:
        """Whether this object's bucket has one left; only then is one taken."""
        bucket = self._buckets.get(regarding)
        if bucket is None:
            bucket = self._buckets[regarding] = TokenBucket(self._rate, self._burst, self._clock)
        return bucket.take()

    def _begin(self, key: _Key) -> _Series:
        regarding, related, type_, reason, action, note = key
        now = self._wall()
        # Events of objects without a namespace live in the default one; the API server insists on it.
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
        """Tries a few times while the server cannot; gives up at once when it will not."""
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
        _log.debug("an event was not written", cluster=self._client.name, name=series.name, why=why)

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
                series.written = 0  # servers forget Events after an hour; this one is then told anew
        if not series.written:
            body = series.body | ({"series": times} if count > 1 else {})
            with contextlib.suppress(errors.AlreadyExists):  # then it was written and only the answer was lost
                await self._client.create(
                    EVENTS, body, PartialObject, namespace=series.namespace, priority=Priority.BACKGROUND
                )
        series.written = count


def _shortened(note: str) -> str:
    """The note in one line and in the 1,024 bytes that the API server allows."""
    line = shortened(note, _LONGEST_NOTE)
    data = line.encode()
    if len(data) <= _LONGEST_NOTE:
        return line
    return data[: _LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."
