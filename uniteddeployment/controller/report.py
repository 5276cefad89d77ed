"""Telling people how things are: status on the host when it differs, Events, metrics."""

import msgspec
import structlog

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.subject import Subject

_log = structlog.get_logger(__name__)


class Reporter:
    """Writes status. It is background work: another application's first pods go before this one's counters."""

    def __init__(self, client: Client, host: Host) -> None:
        self._client = client
        self._host = host

    async def status(self, subject: Subject, plan: Plan) -> bool:
        """Write the plan's status if it is not what is stored; says whether there is nothing left to write."""
        if plan.status is None or plan.status == subject.status:
            return True
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
        except (errors.NotFound, errors.Conflict):
            return True  # it is gone, or another one has its name: nobody is left to tell
        except (errors.KubeError, msgspec.MsgspecError) as error:
            _log.warning("status not written", key=subject.key, error=str(error))
            return False
        self._host.keep(stored)
        return True
