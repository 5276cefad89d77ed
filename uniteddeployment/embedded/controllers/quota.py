"""The quota controller: reports usage in the status of each ResourceQuota.

Admission counts usage itself and does not read this status.
"""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.builtin.admission.quota import resource_of, used
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key

QUOTAS: Final = "resourcequotas"


class QuotaController(Controller):
    """Maintains the status of ResourceQuotas. Keys are namespaces."""

    name: ClassVar[str] = "resourcequota-controller"

    def setup(self) -> None:
        self._counted: dict[str, frozenset[str]] = {}
        self.watch(QUOTAS, lambda obj: (obj["metadata"]["namespace"], ""))
        self._unsubscribe.append(self.access.subscribe("*", self._note))

    def _note(self, change: Change) -> None:
        """Queue a namespace with quotas if a counted object changed."""
        namespace = change.obj["metadata"].get("namespace", "")
        if change.resource in self._counted.get(namespace, ()):
            self.enqueue((namespace, ""))

    def sync(self, key: Key) -> None:
        namespace = key[0]
        quotas = self.access.list(QUOTAS, namespace)
        if not quotas:
            self._counted.pop(namespace, None)
            return
        names = {name for quota in quotas for name in quota["spec"].get("hard") or ()}
        self._counted[namespace] = frozenset(resource_of(name) for name in names)
        for quota in quotas:
            hard = quota["spec"].get("hard") or {}
            held = {
                name: used(name, self.access.list(counted, namespace))
                for name in hard
                if (counted := resource_of(name))
            }
            status = {"hard": dict(hard), "used": held}
            if quota.get("status") != status:
                new = {**quota, "status": status}
                self.access.update(QUOTAS, new, manager="kube-controller-manager", subresource="status")
