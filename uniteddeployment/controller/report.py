"""Reports on a pass: status on the host if it differs, Events and metrics."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from cachetools import LRUCache

from uniteddeployment.controller.flights import Outcome
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.metrics import Metrics, NoMetrics
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.events import changes
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.steps import Event
from uniteddeployment.planning.stored import StoredStatus, differs, to_document
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

STATUS_SECONDS = 0.25
"""The shortest time between two writes of the counters of one application."""
ANSWER_SECONDS = 2.0
"""How long a status waits for writes to be answered, since their answers change it."""
SHORTEST_PAUSE = 0.001
"""A shorter pause counts as none: it may be below the resolution of the clock."""


class Reporter:
    """Writes status, Events and metrics. Status has a low priority: writes that create pods go before it."""

    def __init__(
        self, client: Client, host: Host, recorder: Recorder | None = None, metrics: Metrics | None = None
    ) -> None:
        self._client = client
        self._host = host
        self._recorder = recorder
        self._metrics = metrics or NoMetrics()
        self._written: LRUCache[str, float] = LRUCache(4096)
        """uid -> when its status was last written."""

    def record_plan(self, subject: Subject, plan: Plan) -> None:
        """Record the Events of a plan, and count the replicas that begin to move."""
        self._metrics.moved(plan.moved)
        self.record_events(subject, plan.events)

    def record_events(self, subject: Subject, events: Sequence[Event]) -> None:
        """Record Events about an application; they are written in the background."""
        if self._recorder is None:
            return
        regarding = ObjectReference(
            api_version=names.API_VERSION,
            kind=names.UNITED_DEPLOYMENT_KIND,
            namespace=subject.namespace,
            name=subject.name,
            uid=subject.uid,
        )
        for event in events:
            self._recorder.event(regarding, event.type, event.reason, event.message)

    def record_outcome(self, subject: Subject, outcome: Outcome) -> None:
        """Count writes that were answered, and record the Events about them."""
        self._metrics.steps(outcome.done)
        self._metrics.steps_failed(outcome.broken)
        self.record_events(subject, [*changes(outcome.unmentioned), *outcome.events])
        if outcome.host_error:
            _log.warning("host refused", key=subject.key, error=outcome.host_error)

    def pause(self, subject: Subject, plan: Plan, unanswered: float | None = None) -> float:
        """How long the status can wait, in seconds: counters that change all the time are written a few times a second.

        What people and programs wait for (a new observed generation, a changed condition) waits only a moment, for
        writes to be answered. ``unanswered`` is when the last of those began, in the loop's time.
        """
        if plan.status is None or not differs(plan.status, subject.document):
            return 0.0
        due = 0.0 if unanswered is None else unanswered + ANSWER_SECONDS
        last = self._written.get(subject.uid)
        if last is not None and not _significant(plan.status, subject.status):
            due = max(due, last + STATUS_SECONDS)
        pause = due - asyncio.get_running_loop().time()
        return pause if pause >= SHORTEST_PAUSE else 0.0

    async def status(self, subject: Subject, plan: Plan) -> bool:
        """Write the plan's status if it differs from what is stored; return whether nothing is left to write."""
        if plan.status is None or not differs(plan.status, subject.document):
            return True
        self._written[subject.uid] = asyncio.get_running_loop().time()
        try:
            stored = await self._client.merge_patch(
                UNITED_DEPLOYMENTS,
                subject.name,
                {"metadata": {"uid": subject.uid}, "status": to_document(plan.status)},
                Stored,
                namespace=subject.namespace,
                subresource="status",
                priority=Priority.BACKGROUND,
            )
        except errors.NotFound:
            return True  # the object is gone
        except errors.Conflict:
            # A write at the same time is worth another try; another object with the same name is not.
            here = self._host.get((subject.namespace, subject.name))
            return here is None or here.metadata.uid != subject.uid
        except (errors.KubeError, msgspec.MsgspecError) as error:
            _log.warning("status not written", key=subject.key, error=str(error))
            return False
        self._host.merge_answer(stored, "status")
        return True


def _significant(new: StoredStatus, old: StoredStatus) -> bool:
    """Whether more than counters and messages differ."""
    return _state(new) != _state(old)


def _state(status: StoredStatus) -> tuple[Any, ...]:
    conditions = [(condition.type, condition.status) for condition in status.conditions or ()]
    subsets = [(subset.name, subset.replicas) for subset in status.subset_statuses or ()]
    return status.observed_generation, conditions, subsets
