"""Attributes of a request for authorization: the verb, and a resource or a path."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from uniteddeployment.embedded.discovery.routes import Address
from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Identity

_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SELECTED: Final = frozenset({"list", "watch"})
"""Verbs whose field selector can name a single object."""


class Attributes(NamedTuple):
    """One authorization question. ``path`` is set for non-resource URLs; then only the verb is set besides."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """Resource and subresource in the form of rules: ``deployments/scale``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def of_request(method: str, path: str, address: Address | None, query: Mapping[str, str], *, watch: bool) -> Attributes:
    """The attributes of a request; ``address`` is None if the path is not that of a resource."""
    if address is None:
        return Attributes(method.lower(), path=path)
    verb, name = address.verb(method, watch=watch), address.name
    if not name and verb in _SELECTED and "fieldSelector" in query:
        name = _selected_name(query["fieldSelector"])
    # A namespace is inside itself.
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


def forbidden(identity: Identity, attributes: Attributes, reason: str = "") -> StatusError:
    """403 with the real server's message."""
    text = _sentence(identity, attributes).translate(_HTML)
    if reason:
        text = f"{text}: {reason}"
    if attributes.path:
        return StatusError(403, "Forbidden", f"forbidden: {text}", details={})
    return forbidden_object(attributes, text)


def forbidden_object(attributes: Attributes, why: str) -> StatusError:
    """403 for an object: ``roles.rbac.authorization.k8s.io "r" is forbidden: ...``."""
    subject = qualified(attributes.resource, attributes.group)
    if attributes.name:
        subject += f' "{attributes.name}"'
    details = {"name": attributes.name} if attributes.name else {}
    if attributes.group:
        details["group"] = attributes.group
    details["kind"] = attributes.resource
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def _sentence(identity: Identity, attributes: Attributes) -> str:
    if attributes.path:
        return f'User "{identity.name}" cannot {attributes.verb} path "{attributes.path}"'
    where = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    resource = f'resource "{attributes.combined}" in API group "{attributes.group}"'
    return f'User "{identity.name}" cannot {attributes.verb} {resource} {where}'
