"""Escalation checks: nobody grants rights through a role or a binding that they do not hold.

A role may be written by a user who holds all of its rules or has the verb ``escalate`` on it. A binding may be written
by a user who holds all rules of its role or has the verb ``bind`` on the role.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth import rbac
from uniteddeployment.embedded.auth.attributes import Attributes, forbidden, forbidden_object
from uniteddeployment.embedded.auth.rules import RawRule, described, missing, quoted
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Identity

CHECKED: Final = frozenset(rbac.TABLES)
_EVERYTHING: Final[Sequence[RawRule]] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_COLLECTED: Final = ("ownerReferences", "finalizers", "managedFields")
"""Metadata that the garbage collector changes; a change of nothing else grants nothing."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The checks that a user's write must pass besides the authorization of its request."""

    authorizer: rbac.RbacAuthorizer
    identity: Identity
    attributes: Attributes

    def creating(self, key: str, obj: Obj) -> None:
        """Check a new object. Raises StatusError."""
        if key in CHECKED:
            self._check(key, obj, None)

    def changing(self, key: str, new: Obj, old: Obj) -> None:
        """Check the new state of an object. Raises StatusError."""
        if key in CHECKED and not _same(new, old):
            self._check(key, new, old)

    def creating_by_update(self) -> None:
        """Check that a PUT or an apply may create a missing object. Raises StatusError."""
        if self.attributes.verb == "create":
            return
        create = self.attributes._replace(verb="create")
        decision = self.authorizer.decide(self.identity, create)
        if not decision.allowed:
            raise forbidden(self.identity, create, decision.reason)

    def _check(self, key: str, new: Obj, old: Obj | None) -> None:
        if key in (rbac.BINDINGS, rbac.CLUSTER_BINDINGS):
            self._check_binding(new)
        elif not self._may(self.attributes._replace(verb="escalate", subresource="")):
            self._check_role(new, old)

    def _check_role(self, new: Obj, old: Obj | None) -> None:
        self._hold(new, new.get("rules") or ())
        if (_aggregates(new) or (old is not None and _aggregates(old))) and self._missing(_EVERYTHING):
            raise self._refused(new, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, binding: Obj) -> None:
        reference, namespace = binding.get("roleRef") or {}, self.attributes.namespace
        plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(reference.get("kind", ""))
        if plural is None:
            # Validation refuses it.
            return
        group, name = reference.get("apiGroup", ""), reference.get("name", "")
        if not self._may(Attributes("bind", group, plural, namespace=namespace, name=name)):
            self._hold(binding, self.authorizer.referenced(reference, namespace))

    def _may(self, attributes: Attributes) -> bool:
        return self.authorizer.decide(self.identity, attributes).allowed

    def _missing(self, wanted: Sequence[RawRule]) -> str:
        held = self.authorizer.rules(self.identity, self.attributes.namespace)
        lacking = described(missing(held.rules, wanted))
        if not lacking:
            return ""
        text = (
            f'user "{self.identity.name}" (groups={quoted(self.identity.groups)}) is attempting to grant RBAC '
            f"permissions not currently held:\n{lacking}"
        )
        return f"{text}; resolution errors: [{rbac.aggregated(held.errors)}]" if held.errors else text

    def _hold(self, obj: Obj, wanted: Sequence[RawRule]) -> None:
        text = self._missing(wanted)
        if text:
            raise self._refused(obj, text)

    def _refused(self, obj: Obj, why: str) -> StatusError:
        name = obj["metadata"].get("name", "")
        return forbidden_object(self.attributes._replace(name=name), why)


def _aggregates(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _same(new: Obj, old: Obj) -> bool:
    """Whether two states differ only in what the garbage collector changes."""
    after, before = clone(new), clone(old)
    for metadata in (after["metadata"], before["metadata"]):
        for field in _COLLECTED:
            metadata.pop(field, None)
    return after == before
