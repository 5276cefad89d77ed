"""What the probes tell: whether this process is alive, and whether it can do its part."""

from typing import Protocol

from uniteddeployment.controller.controller import Controller
from uniteddeployment.kube.election import Elector


class Served(Protocol):
    """Webhooks: why they ended for good, and why they are not served well; empty where nothing is wrong."""

    @property
    def ended(self) -> str: ...

    @property
    def problem(self) -> str: ...


class Health:
    """The state of one process. ``elector`` is None when it need not lead to work."""

    def __init__(self, controller: Controller, elector: Elector | None, *, expects_webhooks: bool) -> None:
        self._controller = controller
        self._elector = elector
        self._expects_webhooks = expects_webhooks
        self.webhooks: Served | None = None
        """Set once they are served."""

    def dead(self) -> str:
        """Why only a restart helps; empty when it does not take one. That this is answered says that the loop turns."""
        return self.webhooks.ended if self.webhooks is not None else ""

    def not_ready(self) -> str:
        """Why this process cannot do its part; empty when it can.

        A process that stands by is ready as soon as it could take over: it serves webhooks as the leader does. One that
        is refused the Lease could not, so it is not ready, and a rollout that takes the right away stops there.
        """
        if self._elector is not None and self._elector.problem:
            return self._elector.problem
        if (self._elector is None or self._elector.is_leader) and not self._controller.synced.is_set():
            return "the caches are not in sync yet"
        if self._expects_webhooks and self.webhooks is None:
            return "the webhooks are not served yet"
        return self.webhooks.problem if self.webhooks is not None else ""
