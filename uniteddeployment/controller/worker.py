"""Workers take keys from the queue, reconcile them, and apply the results to the queue: forget, requeue, back off.

This is the only place that decides how a key comes back into the queue after a pass.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from uniteddeployment.controller.host import Key
from uniteddeployment.controller.metrics import Metrics
from uniteddeployment.controller.reconcile import Reconciler, Result
from uniteddeployment.kube.workqueue import ShutDown, WorkQueue

_log = structlog.get_logger(__name__)


class Workers:
    """``count`` coroutines that reconcile keys side by side; the queue gives no key to two of them at once (I1)."""

    def __init__(self, queue: WorkQueue[Key], reconciler: Reconciler, metrics: Metrics, count: int) -> None:
        self._queue = queue
        self._reconciler = reconciler
        self._metrics = metrics
        self._count = count
        self._unreported: set[Key] = set()
        """Keys whose status has yet to be written, by a pass that may not come if the queue is shut down."""

    async def run(self) -> None:
        """Work until the queue is shut down and empty."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._count):
                tasks.create_task(self._work())

    async def conclude(self) -> None:
        """Write the status of the keys that were left without: the next process starts from status."""
        async with asyncio.TaskGroup() as tasks:
            for key in self._unreported:
                tasks.create_task(self._guarded(key, self._reconciler.conclude))

    def apply(self, key: Key, result: Result) -> None:
        """Do with a key what its pass asks for."""
        if result.failed:
            self._metrics.failed("retry")
        if result.unreported:
            self._unreported.add(key)
        else:
            self._unreported.discard(key)
        if result.forget:
            self._queue.forget(key)
        if result.requeue_after is not None:
            self._queue.add_after(key, result.requeue_after)
        if result.back_off:
            self._queue.add_rate_limited(key)

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except ShutDown:
                return
            try:
                await self._guarded(key, self._reconcile)
            finally:
                self._queue.done(key)

    async def _reconcile(self, key: Key) -> None:
        self.apply(key, await self._reconciler.reconcile(key))

    async def _guarded(self, key: Key, work: Callable[[Key], Awaitable[None]]) -> None:
        """An error about one application must not end the work on the others: log it, count it and try again."""
        try:
            await work(key)
        except Exception as error:  # noqa: BLE001  # see above
            _log.exception("reconcile failed", namespace=key[0], name=key[1])
            self._metrics.failed("internal")
            self._queue.add_rate_limited(key)
            await self._report_failure(key, type(error).__name__)

    async def _report_failure(self, key: Key, error: str) -> None:
        try:
            await self._reconciler.report_failure(key, error)
        except Exception:  # noqa: BLE001  # whatever made the pass fail may also make this fail
            _log.exception("status not written", namespace=key[0], name=key[1])
