"""One pass over one UnitedDeployment, as a numbered recipe, and what its key needs after that.

The recipe knows nothing of the work queue: it returns a :class:`Result`, and the worker applies it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from uniteddeployment.controller.act import Actor
from uniteddeployment.controller.flights import Outcome
from uniteddeployment.controller.host import Host, Key
from uniteddeployment.controller.objects import Parser
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.planner import Planner
from uniteddeployment.controller.report import Reporter, Superseded
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.status import refused_conditions, with_conditions

SHORTEST_REQUEUE_SECONDS = 1.0
"""Plans compare times in whole seconds, so an earlier pass would find nothing different."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a key needs after a pass. By default nothing: a watch event or an answered write queues it again."""

    forget: bool = False
    """Nothing is left to do, so the next failure counts as the first in a row."""
    requeue_after: float | None = None
    """Seconds after which to reconcile again even if nothing changes until then."""
    back_off: bool = False
    """Reconcile again after a pause, which grows with each such result in a row."""
    failed: bool = False
    """Something has to be tried again; metrics count the pass as a retry."""
    unreported: bool = False
    """Status was left to a later pass. If the queue shuts down before that, status is written at the end."""


class Reconciler:
    """Brings one UnitedDeployment at a time closer to its spec. One key must not be reconciled twice at once (I1).

    ``is_dirty`` says whether a key will be reconciled again after the present pass.
    """

    def __init__(
        self,
        *,
        host: Host,
        observer: Observer,
        planner: Planner,
        actor: Actor,
        reporter: Reporter,
        now: Callable[[], datetime],
        is_dirty: Callable[[Key], bool],
    ) -> None:
        self._host = host
        self._observer = observer
        self._planner = planner
        self._actor = actor
        self._flights = actor.flights
        self._reporter = reporter
        self._now = now
        self._is_dirty = is_dirty
        self._parser = Parser()

    async def reconcile(self, key: Key) -> Result:
        """Make one pass. Raises KubeError if the host does not give a template that the plan needs."""
        # 1. Read what the host's cache has.
        subject = self._read(key)
        if subject is None:
            self._observer.forget(key)
            return Result(forget=True)
        self._flights.supersede(subject)

        # 2. Observe and plan.
        plan = await self._planner.plan(subject)

        # 3. Persist first: such a decision cannot be re-derived after acting, so status has to hold it before (I9).
        if plan.persist_first:
            return await self._persist(subject, plan)

        # 4. Act.
        outcome = Outcome()
        if plan.writes:
            outcome = await self._actor.carry_out(subject, plan, self._observer.memory(subject))
            self._reporter.record_outcome(subject, outcome)

            # 5. Observe again: the answers to the writes are in the caches.
            subject = self._read(key)
            if subject is None:
                return Result()  # deleted meanwhile; the watch event queues the key
            plan = await self._planner.plan(subject)

        # 6. Report.
        return await self._report(subject, plan, outcome)

    async def conclude(self, key: Key) -> None:
        """Write the status that an earlier pass left for later; the controller ends after this."""
        subject = self._read(key)
        if subject is not None:
            plan = await self._planner.plan(subject)
            if not plan.early:
                await self._reporter.status(subject, plan)
                self._reporter.record_plan(subject, plan)

    async def report_failure(self, key: Key, error: str) -> None:
        """Report in status that a pass failed with an unexpected error. The workloads are left as they are (I11)."""
        message = f"internal error: {error}; nothing is changed, and it is tried again. The controller's log says where"
        subject = self._read(key)
        if subject is not None:
            status = with_conditions(subject, refused_conditions("InternalError", message), rfc3339(self._now()))
            await self._reporter.status(subject, Plan(status=status))

    def _read(self, key: Key) -> Subject | None:
        stored = self._host.get(key)
        if stored is None:
            return None
        return self._parser.subject(stored, orphaning=self._host.orphaning(stored.metadata.uid))

    def _superseded(self, subject: Subject) -> Callable[[], bool]:
        """Says whether the next pass of an application is certain to follow."""
        return lambda: self._is_dirty((subject.namespace, subject.name))

    async def _persist(self, subject: Subject, plan: Plan) -> Result:
        """Write the decision into status; the next pass plans from it and acts."""
        if plan.early:
            return Result()  # the key is queued again once all its clusters have been observed
        self._reporter.record_plan(subject, plan)
        await self._reporter.status(subject, plan)
        return Result(back_off=True)

    async def _report(self, subject: Subject, plan: Plan, outcome: Outcome) -> Result:
        """Write status and Events, now or a little later, and say what the key needs."""
        flights = self._flights.of((subject.namespace, subject.name))
        requeue_after = None if plan.requeue_after is None else max(plan.requeue_after, SHORTEST_REQUEUE_SECONDS)
        reported, unreported = True, False
        if not plan.early:
            unanswered = max((flight.started_at for flight in flights.values()), default=None)
            pause = self._reporter.pause(subject, plan, unanswered)
            if pause:
                unreported = True
                requeue_after = pause if requeue_after is None else min(pause, requeue_after)
            else:
                try:
                    reported = await self._reporter.status(subject, plan, self._superseded(subject))
                except Superseded:
                    unreported = True
                else:
                    self._reporter.record_plan(subject, plan)
        failed = outcome.failed or plan.writes or not reported
        forget = not failed and not self._flights.of((subject.namespace, subject.name))
        return Result(forget, requeue_after, back_off=failed, failed=failed, unreported=unreported)
