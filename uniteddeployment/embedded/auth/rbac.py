"""The RBAC authorizer.

Contract: decisions follow the roles and bindings that are stored at the moment. Rules are collected once per user and
namespace and cached until a role or a binding changes. Members of ``system:masters`` need no rules.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.attributes import Attributes
from uniteddeployment.embedded.auth.rules import RawRule, Rule, compiled
from uniteddeployment.embedded.auth.users import is_master, service_account_name
from uniteddeployment.embedded.errors import StatusError, not_found
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Event, Table

GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"roles.{GROUP}"
BINDINGS: Final = f"rolebindings.{GROUP}"
CLUSTER_ROLES: Final = f"clusterroles.{GROUP}"
CLUSTER_BINDINGS: Final = f"clusterrolebindings.{GROUP}"
TABLES: Final = (ROLES, BINDINGS, CLUSTER_ROLES, CLUSTER_BINDINGS)

USERS_KEPT: Final = 1024
"""Maximum number of users and namespaces in the cache; beyond it the cache is cleared."""

RESOURCES_KEPT: Final = 256
"""Maximum number of resources per user whose rules are cached."""


class Decision(NamedTuple):
    """Whether a request is allowed, and the reason (or the roles that were not found)."""

    allowed: bool
    reason: str = ""


ALLOWED: Final = Decision(allowed=True)


class Held(NamedTuple):
    """The rules of a user, and the roles that were not found."""

    rules: Sequence[RawRule]
    errors: Sequence[str]


class Source(NamedTuple):
    """A rule with the reason that it gives: the binding through which the user has it."""

    rule: Rule
    raw: RawRule
    reason: str


class _Grants:
    """The rules of one user in one namespace, indexed by requested resource."""

    __slots__ = ("_by_resource", "errors", "sources")

    def __init__(self, sources: Sequence[Source], errors: Sequence[str]) -> None:
        self.sources = sources
        self.errors = errors
        self._by_resource: dict[tuple[str, str], list[Source]] = {}

    def decide(self, attributes: Attributes) -> Decision:
        verb, group, name, path = attributes.verb, attributes.group, attributes.name, attributes.path
        for source in self.sources if path else self._about(attributes.resource, attributes.subresource):
            if source.rule.allows_path(verb, path) if path else source.rule.allows(verb, group, name):
                return Decision(allowed=True, reason=source.reason)
        return Decision(allowed=False, reason=f"RBAC: {aggregated(self.errors)}" if self.errors else "")

    def _about(self, resource: str, subresource: str) -> list[Source]:
        key = (resource, subresource)
        sources = self._by_resource.get(key)
        if sources is None:
            if len(self._by_resource) >= RESOURCES_KEPT:
                self._by_resource.clear()
            sources = [source for source in self.sources if source.rule.about(resource, subresource)]
            self._by_resource[key] = sources
        return sources


class RbacAuthorizer:
    """Allows what the stored roles and bindings allow."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._grants: dict[tuple[Identity, str], _Grants] = {}
        self._compiled: dict[tuple[str, str, str], list[tuple[Rule, RawRule]]] = {}
        """Compiled rules of roles by table, namespace and name."""
        for key in TABLES:
            self._table(key).listen(self._forget)

    def _table(self, key: str) -> Table:
        registry = self._core.registry
        return registry.table(registry.main(key))

    def _forget(self, _: Event) -> None:
        self._grants.clear()
        self._compiled.clear()

    def decide(self, identity: Identity, attributes: Attributes) -> Decision:
        """Decide a request. The roles of a namespace count inside it only."""
        if is_master(identity):
            return ALLOWED
        return self._grants_of(identity, attributes.namespace).decide(attributes)

    def rules(self, identity: Identity, namespace: str) -> Held:
        grants = self._grants_of(identity, namespace)
        return Held([source.raw for source in grants.sources], grants.errors)

    def referenced(self, reference: Obj, namespace: str) -> Sequence[RawRule]:
        """The rules of the role that a binding references. Raises StatusError (404) if the role does not exist."""
        return [raw for _, raw in self._rules_of(reference, namespace)]

    def _grants_of(self, identity: Identity, namespace: str) -> _Grants:
        key = (identity, namespace)
        grants = self._grants.get(key)
        if grants is None:
            if len(self._grants) >= USERS_KEPT:
                self._grants.clear()
            errors: list[str] = []
            sources = list(self._sources(identity, namespace, errors))
            grants = self._grants[key] = _Grants(sources, errors)
        return grants

    def _sources(self, identity: Identity, namespace: str, errors: list[str]) -> Iterator[Source]:
        """Rules from cluster-wide bindings, then from those of the namespace."""
        yield from self._bound(identity, self._objects(CLUSTER_BINDINGS, ""), "", errors)
        if namespace:
            yield from self._bound(identity, self._objects(BINDINGS, namespace), namespace, errors)

    def _objects(self, key: str, namespace: str) -> Sequence[Obj]:
        table = self._table(key)
        return self._core.store.objects(table, table.select(namespace))

    def _bound(
        self, identity: Identity, bindings: Sequence[Obj], namespace: str, errors: list[str]
    ) -> Iterator[Source]:
        for binding in bindings:
            subject = _applies(identity, binding.get("subjects") or (), namespace)
            if subject is None:
                continue
            reference = binding["roleRef"]
            rules = self._find_rules(reference, namespace)
            if rules is None:
                errors.append(str(_missing(reference)))
                continue
            reason = _reason(binding, subject, namespace)
            for rule, raw in rules:
                yield Source(rule, raw, reason)

    def _rules_of(self, reference: Obj, namespace: str) -> list[tuple[Rule, RawRule]]:
        rules = self._find_rules(reference, namespace)
        if rules is None:
            raise _missing(reference)
        return rules

    def _find_rules(self, reference: Obj, namespace: str) -> list[tuple[Rule, RawRule]] | None:
        key = ROLES if reference["kind"] == "Role" else CLUSTER_ROLES
        where = namespace if key == ROLES else ""
        known = self._compiled.get((key, where, reference["name"]))
        if known is not None:
            return known
        table = self._table(key)
        entry = table.entries.get((where, reference["name"]))
        if entry is None:
            return None
        role = self._core.store.obj(table, entry)
        rules = [(compiled(raw), raw) for raw in role.get("rules") or ()]
        self._compiled[key, where, reference["name"]] = rules
        return rules


def _missing(reference: Obj) -> StatusError:
    """404 with the real server's message, which has the kind in the singular here."""
    return not_found(str(reference["kind"]).lower(), GROUP, reference["name"])


def aggregated(errors: Sequence[str]) -> str:
    """Several errors as one text: each once, in brackets if there is more than one."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _applies(identity: Identity, subjects: Sequence[Obj], namespace: str) -> Obj | None:
    """The first subject of a binding that includes the user."""
    for subject in subjects:
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User":
            applies = name == identity.name
        elif kind == "Group":
            applies = name in identity.groups
        else:
            where = subject.get("namespace") or namespace
            applies = kind == "ServiceAccount" and bool(where) and service_account_name(where, name) == identity.name
        if applies:
            return subject
    return None


def _reason(binding: Obj, subject: Obj, namespace: str) -> str:
    """The reason in the real server's words: ``RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "bob"``."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = binding["metadata"]["name"]
    named = f"{name}/{namespace}" if namespace else name
    who = subject["name"]
    if subject["kind"] == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    reference = binding["roleRef"]
    role = f'{reference["kind"]} "{reference["name"]}"'
    return f'RBAC: allowed by {kind} "{named}" of {role} to {subject["kind"]} "{who}"'
