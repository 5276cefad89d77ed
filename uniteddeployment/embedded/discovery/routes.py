"""Where a path leads: to which resource, namespace, name and subresource, and which verb a method means there."""

from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.storage.registry import Registry

COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_AUTHORIZED: Final = {**OBJECT_VERBS, "HEAD": "get"}
_OF_COLLECTIONS: Final = {"get": "list", "delete": "deletecollection"}
WATCH: Final = "watch"
NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Address:
    """A path under /api or /apis/<group>, taken apart without asking whether it is served."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watched: bool = False
    """A path below ``watch/``: deprecated, but every client of the time before ``?watch=true`` uses it."""

    def verb(self, method: str, *, watch: bool) -> str:
        """What authorization calls this request; empty for a method that means nothing here."""
        if self.watched:
            return "watch"
        verb = _AUTHORIZED.get(method, "")
        if self.name:
            return verb
        return "watch" if watch and verb == "get" else _OF_COLLECTIONS.get(verb, verb)


@dataclass(frozen=True, slots=True)
class Route:
    """An address whose resource is served."""

    address: Address
    resource: Resource

    @property
    def collection(self) -> bool:
        return not self.address.name


def address(path: str) -> Address | None:
    """Take a path apart; None for what cannot be the path of a resource."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watched = rest[0] == WATCH
    if watched:
        rest = rest[1:]
    if not rest or len(rest) > 5 or "" in rest:
        return Address(group, version, "", "", "", "/".join(rest), watched)
    if rest[0] != "namespaces" or len(rest) < 3 or (len(rest) == 3 and rest[2] in NAMESPACE_SUBRESOURCES):
        plural, name, subresource = (*rest[:3], "", "")[:3]
        return Address(group, version, plural, "", name, subresource, watched)
    plural, name, subresource = (*rest[2:5], "", "")[:3]
    return Address(group, version, plural, rest[1], name, subresource, watched)


def find(registry: Registry, found: Address) -> Route | None:
    """The route of an address; None if nothing is served there."""
    resource = registry.find(found.group, found.version, found.plural)
    if resource is None:
        return None
    if found.namespace and not resource.namespaced:
        return None
    if found.name and resource.namespaced and not found.namespace:
        return None
    if found.watched and (found.subresource or WATCH not in resource.verbs):
        return None
    return Route(found, resource)
