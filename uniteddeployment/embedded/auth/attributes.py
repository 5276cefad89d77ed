"""What an authorizer is asked about: a user, a verb, and a resource or a path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.discovery.routes import Address
from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Identity

_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SELECTED: Final = frozenset({"list", "watch"})
"""Verbs whose field selector can name the one object that they are about."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """One question. ``path`` is set for what is no resource, and everything else but the verb is then empty."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """Resource and subresource as rules name them: ``deployments/scale``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def of_request(method: str, path: str, address: Address | None, query: Mapping[str, str], *, watch: bool) -> Attributes:
    """The attributes of a request; ``address`` is None when the path is not that of a resource."""
    if address is None:
        return Attributes(method.lower(), path=path)
    verb, name = address.verb(method, watch=watch), address.name
    if not name and verb in _SELECTED and "fieldSelector" in query:
        name = _selected_name(query["fieldSelector"])
    # A namespace counts as being inside itself.
    namespace = address.name if address.plural == "namespaces" else address.namespace
    return Attributes(verb, address.group, address.plural, address.subresource, namespace, name)


def _selected_name(selector: str) -> str:
    """The name that a field selector requires (``metadata.name=web``); empty if it requires none."""
    for term in selector.split(","):
        field, operator, value = term.partition("=")
        if field == "metadata.name" and operator:
            name = value.removeprefix("=")
            return name if name not in (".", "..") and not set(name) & {"/", "%"} else ""
    return ""


def forbidden(identity: Identity, asked: Attributes, reason: str = "") -> StatusError:
    """403 in the words of the real server."""
    text = _sentence(identity, asked).translate(_HTML)
    if reason:
        text = f"{text}: {reason}"
    if asked.path:
        return StatusError(403, "Forbidden", f"forbidden: {text}", details={})
    return forbidden_object(asked, text)


def forbidden_object(asked: Attributes, why: str) -> StatusError:
    """403 for an object: ``roles.rbac.authorization.k8s.io "r" is forbidden: ...``."""
    subject = qualified(asked.resource, asked.group)
    if asked.name:
        subject += f' "{asked.name}"'
    details = {"name": asked.name} if asked.name else {}
    if asked.group:
        details["group"] = asked.group
    details["kind"] = asked.resource
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def _sentence(identity: Identity, asked: Attributes) -> str:
    if asked.path:
        return f'User "{identity.name}" cannot {asked.verb} path "{asked.path}"'
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    return (
        f'User "{identity.name}" cannot {asked.verb} resource "{asked.combined}" in API group "{asked.group}" {where}'
    )
