"""Routes: the resource, namespace, name and subresource that a path addresses, and the verb of a method."""

from typing import Final, NamedTuple

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.storage.registry import Registry

COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_AUTHORIZED: Final = {**OBJECT_VERBS, "HEAD": "get"}
_OF_COLLECTIONS: Final = {"get": "list", "delete": "deletecollection"}
WATCH: Final = "watch"
NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


class Address(NamedTuple):
    """A parsed path under /api or /apis/<group>, whether or not it is served."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watched: bool = False
    """A path below ``watch/``: deprecated in favour of ``?watch=true``, but still used by old clients."""

    def verb(self, method: str, *, watch: bool) -> str:
        """The verb for authorization; empty for a method that is not supported."""
        if self.watched:
            return "watch"
        verb = _AUTHORIZED.get(method, "")
        if self.name:
            return verb
        return "watch" if watch and verb == "get" else _OF_COLLECTIONS.get(verb, verb)


class Route(NamedTuple):
    """An address whose resource is served."""

    address: Address
    resource: Resource

    @property
    def collection(self) -> bool:
        return not self.address.name


def address(path: str) -> Address | None:
    """Parse a path; None if it cannot be the path of a resource."""
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


def find(registry: Registry, address: Address) -> Route | None:
    """The route of an address; None if it is not served."""
    resource = registry.find(address.group, address.version, address.plural)
    if resource is None:
        return None
    if address.namespace and not resource.namespaced:
        return None
    if address.name and resource.namespaced and not address.namespace:
        return None
    if address.watched and (address.subresource or WATCH not in resource.verbs):
        return None
    return Route(address, resource)
