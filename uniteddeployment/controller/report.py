"""Telling people how things are: status on the host when it differs, Events, metrics."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from cachetools import LRUCache

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.subject import Subject

_log = structlog.get_logger(__name__)

STATUS_SECONDS = 0.25
"""Counters of one application are written no more often than this."""
ANSWER_SECONDS = 2.0
"""How long a status waits for writes to be answered, since it will be another one then."""
SHORTEST_PAUSE = 0.001
"""A shorter pause is none: it may be less than the clock can tell apart."""


class Reporter:
    """Writes status. It is background work: another application's first pods go before this one's counters."""

    def __init__(self, client: Client, host: Host) -> None:
        self._client = client
        self._host = host
        self._written: LRUCache[str, float] = LRUCache(4096)
        """uid -> when its status was last written."""

    def pause(self, subject: Subject, plan: Plan, unanswered: float | None = None) -> float:
        """How long the status can wait, in seconds: counters that move all the time are written a few times a second.

        What people and programs wait for (another generation seen, a condition turned) does not wait for that, and only
        a moment for writes to be answered. ``unanswered`` is when the last of those began.
        """
        if plan.status is None or plan.status == subject.status:
            return 0.0
        due = 0.0 if unanswered is None else unanswered + ANSWER_SECONDS
        last = self._written.get(subject.uid)
        if last is not None and not _turned(plan.status, subject.status):
            due = max(due, last + STATUS_SECONDS)
        pause = due - asyncio.get_running_loop().time()
        return pause if pause >= SHORTEST_PAUSE else 0.0

    async def status(self, subject: Subject, plan: Plan) -> bool:
        """Write the plan's status if it is not what is stored; says whether there is nothing left to write."""
        if plan.status is None or plan.status == subject.status:
            return True
        self._written[subject.uid] = asyncio.get_running_loop().time()
        try:
            stored = await self._client.merge_patch(
                UNITED_DEPLOYMENTS,
                subject.name,
                {"metadata": {"uid": subject.uid}, "status": plan.status},
                Stored,
                namespace=subject.namespace,
                subresource="status",
                priority=Priority.BACKGROUND,
            )
        except errors.NotFound:
            return True  # it is gone: nobody is left to tell
        except errors.Conflict:
            # Another object has its name, or somebody else wrote at the same time: only then is it worth a try.
            here = self._host.get((subject.namespace, subject.name))
            return here is None or here.metadata.uid != subject.uid
        except (errors.KubeError, msgspec.MsgspecError) as error:
            _log.warning("status not written", key=subject.key, error=str(error))
            return False
        self._host.keep_answer(stored, "status")
        return True


def _turned(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether more than counters and messages differ."""
    if new.get("observedGeneration") != old.get("observedGeneration"):
        return True
    return _state(new) != _state(old)


def _state(status: Mapping[str, Any]) -> tuple[Any, ...]:
    conditions = [(one["type"], one["status"]) for one in status.get("conditions") or ()]
    return conditions, [(one["name"], one.get("replicas")) for one in status.get("subsetStatuses") or ()]
