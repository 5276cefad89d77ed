"""The controller that keeps the rules of aggregated ClusterRoles up to date."""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.auth.aggregation import aggregated_rules
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key

CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"


class ClusterRoleAggregation(Controller):
    """Keys are aggregated roles. Any change of a ClusterRole queues all of them."""

    name: ClassVar[str] = "clusterrole-aggregation-controller"

    def setup(self) -> None:
        self._unsubscribe.append(self.access.subscribe(CLUSTER_ROLES, self._note))
        self._note()

    def _note(self, _: Change | None = None) -> None:
        for role in self.access.list(CLUSTER_ROLES):
            if role.get("aggregationRule"):
                self.enqueue(("", role["metadata"]["name"]))

    def sync(self, key: Key) -> None:
        role = self.access.get(CLUSTER_ROLES, *key)
        if role is None or not role.get("aggregationRule"):
            return
        rules = aggregated_rules(role, self.access.list(CLUSTER_ROLES))
        if rules != (role.get("rules") or []):
            self.access.update(CLUSTER_ROLES, {**role, "rules": rules or None}, manager=self.name)
