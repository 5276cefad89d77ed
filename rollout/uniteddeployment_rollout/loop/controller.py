"""The rollout controller: watches, work queue and workers, wired together."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime

import structlog

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import utc_now
from uniteddeployment.kube.ratelimit import ItemExponential, Longest, TokenBucket
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.web import Web
from uniteddeployment.kube.workqueue import QueueMetrics, ShutDown, WorkQueue
from uniteddeployment_rollout.gates.jobs import Jobs
from uniteddeployment_rollout.gates.measurer import Measurer
from uniteddeployment_rollout.gates.measuring import Members
from uniteddeployment_rollout.gates.objects import Objects
from uniteddeployment_rollout.gates.prometheus import Prometheus
from uniteddeployment_rollout.gates.webhook import Webhook
from uniteddeployment_rollout.loop.host import Host
from uniteddeployment_rollout.loop.metrics import RolloutMetrics
from uniteddeployment_rollout.loop.objects import Key, StoredRollout
from uniteddeployment_rollout.loop.reconcile import Reconciler, conflicts
from uniteddeployment_rollout.loop.writes import Writer
from uniteddeployment_rollout.notifications.sender import Sender

RETRY_CAP_SECONDS = 60.0
"""The longest pause before a failed rollout is tried again."""
DRAIN_SECONDS = 20.0
"""How long a stop waits for the passes in progress."""
_log = structlog.get_logger(__name__)


class Controller:
    """Advances rollouts until it is cancelled or stopped."""

    def __init__(
        self,
        client: Client,
        *,
        workers: int = 16,
        namespace: str | None = None,
        recorder: Recorder | None = None,
        metrics: RolloutMetrics | None = None,
        queue_metrics: QueueMetrics | None = None,
        now: Callable[[], datetime] = utc_now,
        members: Members | None = None,
    ) -> None:
        self.queue: WorkQueue[Key] = WorkQueue(
            limiter=Longest(ItemExponential(cap=RETRY_CAP_SECONDS), TokenBucket(rate=100.0, burst=1000)),
            metrics=queue_metrics,
        )
        self.host = Host(client, self.queue.add, self._deleted, namespace)
        self.synced = asyncio.Event()
        self._recorder = recorder
        self._web = Web()
        self._sender = Sender(self._web, client, self.queue.add, metrics)
        self._measurer = Measurer(
            {
                "prometheus": Prometheus(client, self._web),
                "webhook": Webhook(client, self._web),
                "job": Jobs(client, members),
                "object": Objects(client),
            },
            self.queue.add,
            metrics,
        )
        self._reconciler = Reconciler(
            self.host,
            Writer(client),
            recorder,
            metrics,
            sender=self._sender,
            measurer=self._measurer,
            now=now,
        )
        self._workers = workers
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Make :meth:`run` finish the passes in progress, and return."""
        self._stopping.set()

    async def run(self) -> None:
        """Watch, then work, until stopped or cancelled."""
        sources = asyncio.create_task(self._run_sources())
        work = asyncio.create_task(self._run_workers())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((sources, work, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    if self._stopping.is_set():
                        await self._sender.settle()
                    await self.queue.shut_down_with_drain()
            self._sender.cancel()
            for task in (sources, work, stopping):
                task.cancel()
            results = await asyncio.gather(sources, work, return_exceptions=True)
            await self._measurer.close()
            await self._web.close()
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _run_sources(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for reflector in self.host.reflectors:
                tasks.create_task(reflector.run())
            if self._recorder is not None:
                tasks.create_task(self._recorder.run())

    async def _run_workers(self) -> None:
        await self.host.wait_synced()
        self.synced.set()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._workers):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._pass(key)
            finally:
                self.queue.done(key)

    async def _pass(self, key: Key) -> None:
        """An error about one rollout must not end the work on the others: log it, and try again."""
        try:
            requeue_after = await self._reconciler.reconcile(key)
        except errors.KubeError as error:
            if not conflicts(error):
                _log.warning("pass failed", namespace=key[0], name=key[1], error=str(error))
            self.queue.add_rate_limited(key)
        except Exception:  # noqa: BLE001  # see above
            _log.exception("pass failed", namespace=key[0], name=key[1])
            self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)
            if requeue_after is not None:
                self.queue.add_after(key, requeue_after)

    def _deleted(self, rollout: StoredRollout) -> None:
        self._reconciler.record_deletion(rollout)
