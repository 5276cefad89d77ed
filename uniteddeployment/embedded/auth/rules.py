"""RBAC rules: what one rule allows, what a set of rules covers, and how messages write a rule.

Pure functions on rules as they are in Roles and ClusterRoles.
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
    """One rule of a role, compiled. Empty ``names`` mean every name, also none."""

    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    urls: tuple[str, ...] = ()

    def about(self, resource: str, subresource: str) -> bool:
        """Whether the rule is about a resource, or one of its subresources."""
        resources = self.resources
        if not subresource:
            return resource in resources or ALL in resources
        combined = f"{resource}/{subresource}"
        return combined in resources or ALL in resources or f"*/{subresource}" in resources

    def allows(self, verb: str, group: str, name: str) -> bool:
        """Whether the rule allows this for a resource that it is about."""
        return (
            (verb in self.verbs or ALL in self.verbs)
            and (group in self.groups or ALL in self.groups)
            and (not self.names or name in self.names)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Whether the rule allows this for a path that is no resource."""
        return (verb in self.verbs or ALL in self.verbs) and any(_matches(url, path) for url in self.urls)


def compiled(raw: RawRule) -> Rule:
    """A rule ready for questions."""
    return Rule(
        frozenset(raw.get("verbs") or ()),
        frozenset(raw.get("apiGroups") or ()),
        frozenset(raw.get("resources") or ()),
        frozenset(raw.get("resourceNames") or ()),
        tuple(raw.get("nonResourceURLs") or ()),
    )


def allows(rule: Rule, asked: Attributes) -> bool:
    """Whether a rule answers a question with yes."""
    if asked.path:
        return rule.allows_path(asked.verb, asked.path)
    return rule.about(asked.resource, asked.subresource) and rule.allows(asked.verb, asked.group, asked.name)


def _matches(url: str, path: str) -> bool:
    """Whether a URL of a rule is or, with a star at its end, begins a path (or another such URL)."""
    return url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


# Escalation: whoever writes a role must hold all that it grants.


@dataclass(frozen=True, slots=True)
class Grant:
    """The smallest part of a rule: one verb on one resource (perhaps of one name) or on one URL."""

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
    """Grants as messages list them: verbs on the same thing together, in the order of the text."""
    verbs: dict[Grant, list[str]] = {}
    for grant in grants:
        # Verbs on URLs stay apart, as in the real server's messages.
        key = grant if grant.url else Grant("", grant.group, grant.resource, grant.name)
        verbs.setdefault(key, []).append(grant.verb)
    return "\n".join(sorted({_text(grant, said) for grant, said in verbs.items()}))


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
