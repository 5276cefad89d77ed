"""RBAC rules: matching, coverage and formatting.

Pure functions on the rules of Roles and ClusterRoles.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.embedded.auth.attributes import Attributes

ALL = "*"

RawRule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule of a role. Empty ``names`` match every name."""

    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    urls: tuple[str, ...] = ()

    def about(self, resource: str, subresource: str) -> bool:
        """Whether the rule applies to a resource or to one of its subresources."""
        resources = self.resources
        if not subresource:
            return resource in resources or ALL in resources
        combined = f"{resource}/{subresource}"
        return combined in resources or ALL in resources or f"*/{subresource}" in resources

    def allows(self, verb: str, group: str, name: str) -> bool:
        """Whether the rule allows this verb, group and name, for a resource that it applies to."""
        return (
            (verb in self.verbs or ALL in self.verbs)
            and (group in self.groups or ALL in self.groups)
            and (not self.names or name in self.names)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Whether the rule allows a verb on a non-resource URL."""
        return (verb in self.verbs or ALL in self.verbs) and any(_matches(url, path) for url in self.urls)


def compiled(raw: RawRule) -> Rule:
    """Compile a rule."""
    return Rule(
        frozenset(raw.get("verbs") or ()),
        frozenset(raw.get("apiGroups") or ()),
        frozenset(raw.get("resources") or ()),
        frozenset(raw.get("resourceNames") or ()),
        tuple(raw.get("nonResourceURLs") or ()),
    )


def allows(rule: Rule, attributes: Attributes) -> bool:
    """Whether a rule allows a request."""
    if attributes.path:
        return rule.allows_path(attributes.verb, attributes.path)
    return rule.about(attributes.resource, attributes.subresource) and rule.allows(
        attributes.verb, attributes.group, attributes.name
    )


def _matches(url: str, path: str) -> bool:
    """Whether a rule's URL equals a path (or another such URL) or, with a star at its end, is a prefix of it."""
    return url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


# Escalation: the writer of a role must hold everything that it grants.


@dataclass(frozen=True, slots=True)
class Grant:
    """The smallest part of a rule: one verb on one resource (possibly with one name) or one URL."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


def missing(held: Iterable[RawRule], wanted: Iterable[RawRule]) -> list[Grant]:
    """The grants of ``wanted`` that no single rule of ``held`` covers."""
    rules = [compiled(raw) for raw in held]
    return [grant for raw in wanted for grant in _grants(raw) if not any(_covers(rule, grant) for rule in rules)]


def _grants(raw: RawRule) -> Iterator[Grant]:
    verbs = raw.get("verbs") or ()
    names = raw.get("resourceNames") or ("",)
    for group in raw.get("apiGroups") or ():
        for resource in raw.get("resources") or ():
            for verb in verbs:
                for name in names:
                    yield Grant(verb, group, resource, name)
    for url in raw.get("nonResourceURLs") or ():
        for verb in verbs:
            yield Grant(verb, url=url)


def _covers(rule: Rule, grant: Grant) -> bool:
    if grant.url:
        return rule.allows_path(grant.verb, grant.url)
    resource, _, subresource = grant.resource.partition("/")
    return rule.about(resource, subresource) and rule.allows(grant.verb, grant.group, grant.name)


def described(grants: Sequence[Grant]) -> str:
    """The grants as messages list them: verbs on the same resource together, sorted by text."""
    verbs: dict[Grant, list[str]] = {}
    for grant in grants:
        # Verbs on URLs are listed separately, as in the real server's messages.
        key = grant if grant.url else Grant("", grant.group, grant.resource, grant.name)
        verbs.setdefault(key, []).append(grant.verb)
    return "\n".join(sorted({_text(grant, verbs_on) for grant, verbs_on in verbs.items()}))


def _text(grant: Grant, verbs: Sequence[str]) -> str:
    parts = (
        [("NonResourceURLs", [grant.url])]
        if grant.url
        else [
            ("APIGroups", [grant.group]),
            ("Resources", [grant.resource]),
        ]
    )
    if grant.name:
        parts.append(("ResourceNames", [grant.name]))
    parts.append(("Verbs", list(verbs)))
    return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in parts) + "}"


def quoted(values: Sequence[str]) -> str:
    """A list of strings as Go prints it: ``["a" "b"]``."""
    return "[" + " ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"
