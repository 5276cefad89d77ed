"""The quota controller: says in the status of each ResourceQuota how much of its bounds is used.

Admission counts for itself; this is what people see.
"""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.builtin.admission.quota import resource_of, used
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key

QUOTAS: Final = "resourcequotas"


class QuotaController(Controller):
    """Keeps the status of ResourceQuotas. Its keys are namespaces."""

    name: ClassVar[str] = "resourcequota-controller"

    def setup(self) -> None:
        self._counted: dict[str, frozenset[str]] = {}
        self.watch(QUOTAS, lambda obj: (obj["metadata"]["namespace"], ""))
        self._unsubscribe.append(self.access.subscribe("*", self._note))

    def _note(self, change: Change) -> None:
        """Count again in a namespace that has quotas, when something changed that they count."""
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
