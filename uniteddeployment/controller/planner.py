"""The planning loop: observe, plan, load the templates that the plan is missing, and plan again.

The controller and ``ud plan`` both use it, so a dry run plans exactly what the controller would do.
"""

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.revisions import load_template
from uniteddeployment.kube.client import Client
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.plan import Plan, plan


class Planner:
    """Plans from the caches. ``client`` is the host's: it loads the templates of earlier revisions."""

    def __init__(self, client: Client, host: Host, observer: Observer) -> None:
        self._client = client
        self._host = host
        self._observer = observer

    async def plan(self, subject: Subject) -> Plan:
        """The plan for the present state. Raises KubeError if a template that it needs cannot be loaded."""
        first = plan(subject, self._observer.observe(subject))
        if not first.missing:
            return self._noted(subject, first)
        for name in first.missing:
            await load_template(self._client, self._host, self._observer, subject, name)
        return self._noted(subject, plan(subject, self._observer.observe(subject)))

    def _noted(self, subject: Subject, made: Plan) -> Plan:
        """Keep room for what the plan assigns, before another application is planned."""
        self._observer.rooms.planned(subject, made)
        return made
