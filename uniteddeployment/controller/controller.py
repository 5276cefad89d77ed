"""The controller: the sources, the queue and the workers, wired together.

A key is all that crosses the queue (I1). One pass over a key reads as the recipe it is: observe, plan, act, observe
again, report.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import structlog

from uniteddeployment.controller.act import Actor
from uniteddeployment.controller.flights import Flight, Outcome
from uniteddeployment.controller.host import Host, Key
from uniteddeployment.controller.metrics import Metrics, NoMetrics
from uniteddeployment.controller.objects import Parser
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.report import Reporter
from uniteddeployment.controller.revisions import load_template
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.registry import Connect, Fleet
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.ratelimit import ItemExponential, Longest, TokenBucket
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.workqueue import ShutDown, WorkQueue
from uniteddeployment.planning.news import changes
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.status import refused, with_conditions
from uniteddeployment.planning.steps import Event
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

USER, ROUTINE = 1, 0
"""Priorities in the queue: what a person has just changed goes before the resync of ten thousand."""
SYNC_SECONDS = 5.0
"""How long a start waits for members to be reached; the dead ones are then worked around."""
DRAIN_SECONDS = 20.0
"""How long a stop waits for what is being worked on; kubelets kill after 30."""
RETRY_CAP_SECONDS = 60.0
"""A failed key is tried again at least this often: a member that is mended should not have to wait longer."""


class Controller:
    """Reconciles UnitedDeployments until it is cancelled or told to stop."""

    def __init__(
        self,
        client: Client,
        connect: Connect,
        *,
        workers: int = 128,
        namespace: str | None = None,
        recorder: Recorder | None = None,
        metrics: Metrics | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._now = now
        self._workers = workers
        self._recorder = recorder
        self._metrics = metrics or NoMetrics()
        self.queue: WorkQueue[Key] = WorkQueue(
            limiter=Longest(ItemExponential(cap=RETRY_CAP_SECONDS), TokenBucket(rate=100.0, burst=1000)),
            metrics=self._metrics.queue,
        )
        self.host = Host(client, self._deployment_changed, namespace)
        self.fleet = Fleet(
            client,
            connect,
            changed=self._application_changed,
            turned=self._cluster_turned,
            namespace=namespace,
            now=now,
        )
        self._parser = Parser()
        self._actor = Actor(client, self.host, self.fleet, self._landed)
        self._flights = self._actor.flights
        self._observer = Observer(self.host, self.fleet, now, self._flights.remaining)
        self._reporter = Reporter(client, self.host)
        self._unreported: set[Key] = set()
        """Keys whose status has yet to be written although the queue takes no keys any more."""
        self.synced = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Make :meth:`run` finish what is being worked on, and return."""
        self._stopping.set()

    async def run(self) -> None:
        """Watch, then work, until told to stop or cancelled. What is being worked on then is finished first."""
        sources = asyncio.create_task(self._run_sources())
        flights = asyncio.create_task(self._flights.run())
        work = asyncio.create_task(self._run_workers())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((sources, work, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drain()
            for task in (work, flights, sources, stopping):
                task.cancel()
            results = await asyncio.gather(work, flights, sources, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _drain(self) -> None:
        """Finish what is being worked on, and say what came of it: the next process starts from status."""
        await self.queue.shut_down_with_drain()
        await self._flights.drain()
        async with asyncio.TaskGroup() as tasks:
            for key in self._unreported:
                tasks.create_task(self._guarded(key, self._conclude))

    async def _conclude(self, key: Key) -> None:
        """The last status of an application."""
        subject = self._subject(key)
        if subject is not None:
            left = await self._plan(subject)
            if not left.early:
                await self._reporter.status(subject, left)

    async def _guarded(self, key: Key, work: Callable[[Key], Awaitable[None]]) -> None:
        """One application's trouble must not end the work on all others: it is logged, counted and tried again."""
        try:
            await work(key)
        except Exception as error:  # noqa: BLE001  # see above
            _log.exception("reconcile failed", namespace=key[0], name=key[1])
            self._metrics.failed("internal")
            self.queue.add_rate_limited(key)
            await self._tell_failure(key, type(error).__name__)

    async def _tell_failure(self, key: Key, error: str) -> None:
        """Say in status that an application cannot be worked on; what runs is left as it is (I11)."""
        message = f"internal error: {error}; nothing is changed, and it is tried again. The controller's log says where"
        try:
            subject = self._subject(key)
            if subject is not None:
                now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
                told = with_conditions(subject, refused("InternalError", message), now)
                await self._reporter.status(subject, Plan(status=told))
        except Exception:  # noqa: BLE001  # what made the pass fail may also make this fail
            _log.exception("status not written", namespace=key[0], name=key[1])

    async def _run_sources(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.host.deployments.run())
            tasks.create_task(self.host.revisions.run())
            tasks.create_task(self.fleet.run())
            if self._recorder is not None:
                tasks.create_task(self._recorder.run())

    async def _run_workers(self) -> None:
        await self._first_look()
        self.synced.set()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._workers):
                tasks.create_task(self._work())

    async def _first_look(self) -> None:
        """No work before the host is known in full, or a second workload could be made (I9)."""
        await self.host.deployments.synced.wait()
        await self.host.revisions.synced.wait()
        await self.fleet.wait_synced()
        await self.fleet.wait_settled(SYNC_SECONDS)

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._guarded(key, self._reconcile)
            finally:
                self.queue.done(key)

    async def _reconcile(self, key: Key) -> None:
        subject = self._subject(key)
        if subject is None:
            self._observer.forget(key)
            self.queue.forget(key)
            return
        self._flights.supersede(subject)
        wanted = await self._plan(subject)
        if wanted.early and wanted.remember:
            return  # it is queued again when all its clusters have been looked at
        if wanted.remember:
            # What is decided now cannot be seen again once it is acted on: it is acted on when status has it (I9).
            self._tell(subject, wanted.events)
            await self._reporter.status(subject, wanted)
            self.queue.add_rate_limited(key)
            return
        outcome = Outcome()
        if wanted.writes:
            outcome = await self._actor.carry_out(subject, wanted, self._observer.memory(subject))
            self._account(subject, outcome)
            subject = self._subject(key)
            if subject is None:
                return
        left = await self._plan(subject) if wanted.writes else wanted
        written = left.early or await self._report(subject, left)
        if left.again_in is not None:
            # The times that plans compare are whole seconds: sooner, nothing could be different.
            self.queue.add_after(key, max(left.again_in, 1.0))
        if outcome.failed or left.writes or not written:
            self._retry(key)
        elif not self._flights.of(key):
            self.queue.forget(key)

    async def _report(self, subject: Subject, plan: Plan) -> bool:
        """Say how things are, now or a little later; says whether that need not be tried again."""
        key = (subject.namespace, subject.name)
        begun = [flight.begun for flight in self._flights.of(key).values()]
        pause = self._reporter.pause(subject, plan, max(begun, default=None))
        if pause and self.queue.shutting_down:
            self._unreported.add(key)
            return True
        if pause:
            self.queue.add_after(key, pause)
            return True
        self._tell(subject, plan.events)
        return await self._reporter.status(subject, plan)

    def _account(self, subject: Subject, outcome: Outcome) -> None:
        """Tell, log and count how writes went."""
        self._metrics.steps(outcome.done)
        self._tell(subject, [*changes(outcome.untold), *outcome.events])
        if outcome.host_error:
            _log.warning("host refused", key=subject.key, error=outcome.host_error)

    def _landed(self, flight: Flight) -> None:
        """Writes that no pass has waited for are finished: what is left to do is planned from what came of them."""
        self._account(flight.subject, flight.outcome)
        if self.queue.shutting_down:
            self._unreported.add(flight.key)
        elif flight.outcome.failed:
            self._retry(flight.key)
        else:
            self.queue.add(flight.key)

    def _retry(self, key: Key) -> None:
        self._metrics.failed("retry")
        self.queue.add_rate_limited(key)

    def _subject(self, key: Key) -> Subject | None:
        stored = self.host.get(key)
        if stored is None:
            return None
        return self._parser.subject(stored, orphaning=self.host.orphaning(stored.metadata.uid))

    async def _plan(self, subject: Subject) -> Plan:
        """The plan on what is seen now; loads old templates if it asks for them."""
        wanted = plan(subject, self._observer.observe(subject))
        if not wanted.missing:
            return wanted
        for name in wanted.missing:
            await load_template(self._client, self.host, self._observer, subject, name)
        return plan(subject, self._observer.observe(subject))

    def _tell(self, subject: Subject, events: Sequence[Event]) -> None:
        if self._recorder is None:
            return
        about = ObjectReference(
            api_version=names.API_VERSION,
            kind=names.UNITED_DEPLOYMENT_KIND,
            namespace=subject.namespace,
            name=subject.name,
            uid=subject.uid,
        )
        for event in events:
            self._recorder.event(about, event.type, event.reason, event.message)

    def _deployment_changed(self, key: Key, by_user: bool) -> None:
        self.queue.add(key, USER if by_user else ROUTINE)

    def _application_changed(self, cluster: str, application: AppKey) -> None:  # noqa: ARG002  # the key is enough
        key = self.host.key_of(*application)
        if key is not None:
            self.queue.add(key)

    def _cluster_turned(self, cluster: str) -> None:
        for key in self._observer.in_cluster(cluster):
            self.queue.add(key)
