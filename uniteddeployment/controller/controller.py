"""The controller: sources, work queue and workers, wired together.

A source maps each change to the key of its application and adds the key to the queue; nothing else crosses the queue.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime

from uniteddeployment.controller.act import Actor
from uniteddeployment.controller.flights import Flight
from uniteddeployment.controller.host import Host, Key
from uniteddeployment.controller.member_namespaces import NamespaceCreator, NamespaceLabeller
from uniteddeployment.controller.metrics import Metrics, NoMetrics
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.occupancy import HostOccupancy
from uniteddeployment.controller.planner import Planner
from uniteddeployment.controller.profiles import Profiles
from uniteddeployment.controller.reconcile import Reconciler, Result
from uniteddeployment.controller.report import Reporter
from uniteddeployment.controller.rooms import Rooms
from uniteddeployment.controller.worker import Workers
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.connector import Connect
from uniteddeployment.fleet.namespaces import Namespaces
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.ratelimit import ItemExponential, Longest, TokenBucket
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.kube.workqueue import WorkQueue
from uniteddeployment.planning.observed import HOST

USER, ROUTINE = 1, 0
"""Priorities in the queue: a user's edit goes before the resync of ten thousand."""
SYNC_SECONDS = 5.0
"""How long a start waits for members; those that have not answered by then are worked around."""
DRAIN_SECONDS = 20.0
"""How long a stop waits for the work in progress; kubelets kill after 30."""
RETRY_CAP_SECONDS = 60.0
"""The longest pause before a failed key is tried again, so that a member that recovers does not wait longer."""


class Controller:
    """Reconciles UnitedDeployments until it is cancelled or stopped."""

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
        self._recorder = recorder
        self._metrics = metrics = metrics or NoMetrics()
        limiter = Longest[Key](ItemExponential(cap=RETRY_CAP_SECONDS), TokenBucket(rate=100.0, burst=1000))
        self.queue = WorkQueue(limiter=limiter, metrics=metrics.queue)
        self.host = Host(client, self._deployment_changed, namespace)
        self._namespaces = Namespaces(client, self._namespace_labels_changed, namespace)
        occupancy = HostOccupancy(self.host)
        self._rooms = Rooms(asyncio.get_running_loop().time)
        self.fleet = Fleet(
            client,
            connect,
            on_change=self._application_changed,
            on_reach_changed=self._reach_changed,
            on_namespace_changed=self._member_namespace_changed,
            namespace=namespace,
            now=now,
            occupancy=occupancy,
            recorder=recorder,
            on_capacity_changed=self._capacity_changed,
            on_shown=self._rooms.shown,
        )
        occupancy.fleet = self._rooms.fleet = self.fleet
        self._profiles = Profiles(client, self.fleet, self._reach_changed)
        creator = NamespaceCreator(self.fleet, self._namespaces.labels)
        self._labeller = NamespaceLabeller(self.fleet, self._namespaces.labels)
        actor = Actor(client, self.host, self.fleet, self._late_writes_answered, creator)
        self._flights = actor.flights
        self._observer = Observer(
            self.host,
            self.fleet,
            now,
            self._flights.remaining,
            namespace_labels=self._namespaces.labels,
            profile_problem=self._profiles.problem,
            rooms=self._rooms,
        )
        self._reporter = Reporter(client, self.host, recorder, metrics)
        reconciler = Reconciler(
            host=self.host,
            observer=self._observer,
            planner=Planner(client, self.host, self._observer),
            actor=actor,
            reporter=self._reporter,
            now=now,
            is_dirty=self.queue.is_dirty,
        )
        self._workers = Workers(self.queue, reconciler, metrics, workers)
        self.synced = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Make :meth:`run` finish the work in progress, and return."""
        self._stopping.set()

    async def run(self) -> None:
        """Watch, then work, until stopped or cancelled. The work in progress is finished first."""
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
        """Finish the passes and the writes in progress, then report the outcome."""
        await self.queue.shut_down_with_drain()
        await self._flights.drain()
        await self._workers.conclude()
        if self._recorder is not None:
            await self._recorder.flush()

    async def _run_sources(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.host.deployments.run())
            tasks.create_task(self.host.revisions.run())
            tasks.create_task(self._namespaces.reflector.run())
            tasks.create_task(self.fleet.run())
            tasks.create_task(self._profiles.run())
            if self._recorder is not None:
                tasks.create_task(self._recorder.run())

    async def _run_workers(self) -> None:
        await self._wait_synced()
        self.synced.set()
        async with asyncio.TaskGroup() as tasks:
            labeller = tasks.create_task(self._labeller.run())
            await self._workers.run()
            labeller.cancel()

    async def _wait_synced(self) -> None:
        """No work before everything on the host is known, or a second workload could be created (I9)."""
        await self.host.deployments.synced.wait()
        await self.host.revisions.synced.wait()
        await self._namespaces.reflector.synced.wait()
        await self.fleet.wait_synced()
        await self.fleet.wait_settled(SYNC_SECONDS)

    def _deployment_changed(self, key: Key, by_user: bool) -> None:
        self.queue.add(key, USER if by_user else ROUTINE)

    def _application_changed(self, cluster: str, application: AppKey) -> None:  # noqa: ARG002  # the key is enough
        key = self.host.key_of(*application)
        if key is not None:
            self.queue.add(key)

    def _reach_changed(self, cluster: str) -> None:
        if cluster != HOST and self.fleet.cluster(cluster) is None:
            self._metrics.forget(cluster)
        self._profiles.cluster_changed(cluster)
        for key in self._observer.in_cluster(cluster):
            self.queue.add(key)

    def _capacity_changed(self, cluster: str) -> None:
        """Plan again what waits for room; other applications are not concerned."""
        for key in self._rooms.waiting(cluster):
            self.queue.add(key)

    def _namespace_labels_changed(self, namespace: str) -> None:
        self._labeller.host_changed(namespace)
        for key in self.host.in_namespace(namespace):
            self.queue.add(key)

    def _member_namespace_changed(self, cluster: str, namespace: str) -> None:
        self._labeller.member_changed(cluster, namespace)

    def _late_writes_answered(self, flight: Flight) -> None:
        """Writes that no pass waits for are answered: plan again from their outcome."""
        self._reporter.record_outcome(flight.subject, flight.outcome)
        failed = flight.outcome.failed
        self._workers.apply(flight.key, Result(back_off=failed, failed=failed, unreported=True))
        if not failed:
            self.queue.add(flight.key)
