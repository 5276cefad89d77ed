"""Reports on a pass: status on the host if it differs, Events and metrics."""

import asyncio
from collections.abc import Callable, Sequence
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
from uniteddeployment.planning.status import RECONCILING, STALLED
from uniteddeployment.planning.steps import Event
from uniteddeployment.planning.stored import StoredStatus, differs, to_document
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

STATUS_SECONDS = 0.25
"""The shortest time between two writes of the counters of one application. A status that only shows that an application
is on its way also waits for as long after a write to a member, since more is known by then."""
ANSWER_SECONDS = 2.0
"""How long a status waits for writes to be answered, since their answers change it."""
LEFT_SECONDS = 1.0
"""How long the status of an application that changes all the time is left to the next pass."""
SHORTEST_PAUSE = 0.001
"""A shorter pause counts as none: it may be below the resolution of the clock."""


class Superseded(errors.KubeError):
    """A status was not sent, since the next pass has a newer one."""


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
        self._acted: LRUCache[str, float] = LRUCache(4096)
        """uid -> when a write to a member was last answered."""
        self._left: LRUCache[str, float] = LRUCache(4096)
        """uid -> since when its status is left to the next pass."""

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
        if outcome.done:
            self._acted[subject.uid] = asyncio.get_running_loop().time()
        self._metrics.steps(outcome.done)
        self._metrics.steps_failed(outcome.broken)
        self.record_events(subject, [*changes(outcome.unmentioned), *outcome.events])
        if outcome.host_error:
            _log.warning("host refused", key=subject.key, error=outcome.host_error)

    def pause(self, subject: Subject, plan: Plan, unanswered: float | None = None) -> float:
        """How long the status can wait, in seconds: counters that change all the time are written a few times a second.

        What people and programs wait for (a new observed generation, a changed condition) waits only a moment, for
        writes to be answered and for what follows from them. ``unanswered`` is when the last of those began, in the
        loop's time.
        """
        if plan.status is None or not differs(plan.status, subject.document):
            return 0.0
        due = 0.0 if unanswered is None else unanswered + ANSWER_SECONDS
        acted = self._acted.get(subject.uid)
        if acted is not None and _passing(plan.status, subject.status):
            due = max(due, acted + STATUS_SECONDS)
        last = self._written.get(subject.uid)
        if last is not None and not _significant(plan.status, subject.status):
            due = max(due, last + STATUS_SECONDS)
        pause = due - asyncio.get_running_loop().time()
        return pause if pause >= SHORTEST_PAUSE else 0.0

    async def status(self, subject: Subject, plan: Plan, superseded: Callable[[], bool] = lambda: False) -> bool:
        """Write the plan's status if it differs from what is stored; return whether nothing is left to write.

        ``superseded`` says whether another pass follows. Raises Superseded if that pass can write the status instead.
        """
        if plan.status is None or not differs(plan.status, subject.document):
            self._left.pop(subject.uid, None)
            return True
        may_wait = not _reassigned(plan.status, subject.status)
        client = self._client.checked(lambda: self._begin(subject, left=may_wait and superseded()))
        try:
            stored = await client.merge_patch(
                UNITED_DEPLOYMENTS,
                subject.name,
                {"metadata": {"uid": subject.uid}, "status": to_document(plan.status)},
                Stored,
                namespace=subject.namespace,
                subresource="status",
                priority=Priority.BACKGROUND,
            )
        except Superseded:
            raise
        except errors.NotFound:
            return True  # the object is gone
        except errors.Conflict:
            # A write at the same time is worth another try; another object with the same name is not.
            here = self._host.get((subject.namespace, subject.name))
            return here is None or here.metadata.uid != subject.uid
        except (errors.KubeError, msgspec.MsgspecError) as error:
            _log.warning("status not written", key=subject.key, error=str(error))
            return False
        self._left.pop(subject.uid, None)
        self._host.merge_answer(stored, "status")
        return True

    def _begin(self, subject: Subject, *, left: bool) -> None:
        """It is the turn of a status. Raises Superseded if it is left to the next pass, which is done for a while."""
        now = asyncio.get_running_loop().time()
        if left and now - self._left.setdefault(subject.uid, now) < LEFT_SECONDS:
            raise Superseded
        self._written[subject.uid] = now


def _passing(new: StoredStatus, old: StoredStatus) -> bool:
    """Whether a status only shows that an application is on its way, so that another one follows soon."""
    states = {condition.type: condition.status for condition in new.conditions or ()}
    return states.get(RECONCILING) == "True" and states.get(STALLED) == "False" and not _reassigned(new, old)


def _reassigned(new: StoredStatus, old: StoredStatus) -> bool:
    """Whether subsets were assigned other numbers than those stored: plans start from these, so they do not wait."""
    stored = {subset.name: subset.replicas for subset in old.subset_statuses or ()}
    return bool(stored) and stored != {subset.name: subset.replicas for subset in new.subset_statuses or ()}


def _significant(new: StoredStatus, old: StoredStatus) -> bool:
    """Whether more than counters and messages differ."""
    return _state(new) != _state(old)


def _state(status: StoredStatus) -> tuple[Any, ...]:
    conditions = [(condition.type, condition.status) for condition in status.conditions or ()]
    subsets = [(subset.name, subset.replicas) for subset in status.subset_statuses or ()]
    return status.observed_generation, conditions, subsets
