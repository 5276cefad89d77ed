"""The state that the probes report: whether this process is alive, and whether it is ready."""

from typing import Protocol

from uniteddeployment.controller.controller import Controller
from uniteddeployment.kube.election import Elector


class Served(Protocol):
    """Webhooks: why they have ended permanently, and why they have a problem; empty if not."""

    @property
    def ended(self) -> str: ...

    @property
    def problem(self) -> str: ...


class Health:
    """The state of one process. ``elector`` is None without leader election."""

    def __init__(self, controller: Controller, elector: Elector | None, *, expects_webhooks: bool) -> None:
        self._controller = controller
        self._elector = elector
        self._expects_webhooks = expects_webhooks
        self.webhooks: Served | None = None
        """Set once the webhooks are served."""

    def dead(self) -> str:
        """Why only a restart helps; empty if none is needed. An answer at all shows that the event loop runs."""
        return self.webhooks.ended if self.webhooks is not None else ""

    def not_ready(self) -> str:
        """Why this process is not ready; empty if it is.

        A process on standby is ready once it could take over: it serves webhooks like the leader. A process that may
        not use the Lease could not take over, so it is not ready, and a rollout that removes that right stops there.
        """
        if self._elector is not None and self._elector.problem:
            return self._elector.problem
        if (self._elector is None or self._elector.is_leader) and not self._controller.synced.is_set():
            return "the caches are not in sync yet"
        if self._expects_webhooks and self.webhooks is None:
            return "the webhooks are not served yet"
        return self.webhooks.problem if self.webhooks is not None else ""
