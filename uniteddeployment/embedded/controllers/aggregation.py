"""Aggregated ClusterRoles: a role whose rules are gathered from all roles that have certain labels."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.controllers.scheduler.selectors import matches_labels

CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"


def gathered(role: Obj, roles: Iterable[Obj]) -> list[Any]:
    """The rules that an aggregated role must have: each once, in the order of selectors and of the roles' names."""
    found: list[Any] = []
    name = role["metadata"]["name"]
    others = sorted((one for one in roles if one["metadata"]["name"] != name), key=lambda one: one["metadata"]["name"])
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for other in others:
            if matches_labels(selector, other["metadata"].get("labels") or {}):
                found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


class ClusterRoleAggregation(Controller):
    """Keys are aggregated roles; each is looked at again when any ClusterRole changes."""

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
        rules = gathered(role, self.access.list(CLUSTER_ROLES))
        if rules != (role.get("rules") or []):
            self.access.update(CLUSTER_ROLES, {**role, "rules": rules or None}, manager=self.name)
