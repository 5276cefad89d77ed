"""The served resources, and the table that holds each resource's objects.

Contract: the first version registered under a key is the form that the table decodes to and that controllers see.
:meth:`Registry.show` converts objects to other versions and :meth:`Registry.hide` converts them back.
"""

from collections.abc import Callable, Iterable, Iterator

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.schema.node import Node, node_of
from uniteddeployment.embedded.storage.store import Store, Table

Path = tuple[str, str, str]
"""(group, version, plural)"""


def reader(resource: Resource) -> Callable[[Obj], Obj]:
    """The function that completes a decoded object of this resource: kind, apiVersion and, for custom resources,
    defaults.
    """
    kind, api_version = resource.kind, resource.api_version
    if not resource.custom:
        return lambda stored: {"kind": kind, "apiVersion": api_version, **stored}

    def read(stored: Obj) -> Obj:
        obj = {"apiVersion": api_version, "kind": kind, **stored}
        resource.strategy.default(obj)
        return obj

    return read


class Registry:
    """The served resources of one cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_path: dict[Path, Resource] = {}
        self._by_key: dict[str, Resource] = {}
        self._tables: dict[str, Table] = {}
        self.generation = 0
        """Number of changes; invalidates whatever is computed from all resources."""

    def register(self, resources: Iterable[Resource]) -> None:
        """Serve these resources; replace versions that are served already."""
        for resource in resources:
            path = (resource.group, resource.version, resource.plural)
            replaced = self._by_path.get(path)
            self._by_path[path] = resource
            first = self._by_key.get(resource.key)
            if first is None or first is replaced:
                self._by_key[resource.key] = resource
            if resource.storage in ("", resource.key):
                main = self._by_key[resource.key]
                if main is resource:
                    self._tables[resource.key] = self._store.table(resource.key, reader(resource))
        self.generation += 1

    def unregister(self, resources: Iterable[Resource]) -> None:
        """Stop serving these versions. The table stays until :meth:`forget`."""
        for resource in resources:
            path = (resource.group, resource.version, resource.plural)
            if self._by_path.pop(path, None) is None:
                continue
            if self._by_key.get(resource.key) is not resource:
                continue
            del self._by_key[resource.key]
            others = [other for other in self._by_path.values() if other.key == resource.key]
            if others:
                self._by_key[resource.key] = others[0]
                self._tables[resource.key] = self._store.table(resource.key, reader(others[0]))
        self.generation += 1

    def forget(self, key: str) -> None:
        """Drop the objects of a resource that is no longer served."""
        table = self._tables.pop(key, None)
        if table is not None:
            self._store.discard(table)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def main(self, key: str) -> Resource:
        """The version of a resource that controllers see. Raises KeyError if it is not served."""
        return self._by_key[key]

    def serves(self, key: str) -> bool:
        return key in self._by_key

    def table(self, resource: Resource) -> Table:
        """The table that holds the objects of a resource."""
        return self._tables[resource.storage or resource.key]

    @staticmethod
    def node(resource: Resource) -> Node:
        """The schema of a resource for merging and field ownership."""
        return node_of(resource.schema, resource.resolve)

    def is_main(self, resource: Resource) -> bool:
        """Whether the table decodes to this version's form."""
        return self._by_key.get(resource.storage or resource.key) is resource

    def show(self, resource: Resource, obj: Obj) -> Obj:
        """Convert a decoded object of the table to this version; returns the same object if nothing differs."""
        if self.is_main(resource):
            return obj
        shown = resource.decode(obj) if resource.decode else obj
        shown = {**shown, "kind": resource.kind, "apiVersion": resource.api_version}
        if resource.custom:
            resource.strategy.default(shown)
        return shown

    def hide(self, resource: Resource, obj: Obj) -> Obj:
        """Convert an object of this version to the form of the table."""
        if self.is_main(resource):
            return obj
        main = self._by_key[resource.storage or resource.key]
        stored = resource.encode(obj) if resource.encode else obj
        stored = {**stored, "kind": main.kind, "apiVersion": main.api_version}
        if resource.encode:
            main.strategy.default(stored)
        return stored
