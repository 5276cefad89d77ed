"""Which resources are served, and which table each of them lives in.

Contract: the first version registered under a key is the one whose form the table decodes to, and the one that
controllers see; other versions are shown through :meth:`Registry.show` and taken through :meth:`Registry.hide`.
"""

from collections.abc import Callable, Iterable, Iterator

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.schema.node import Node, node_of
from uniteddeployment.embedded.storage.store import Store, Table

Path = tuple[str, str, str]
"""(group, version, plural)"""


def reader(resource: Resource) -> Callable[[Obj], Obj]:
    """How a stored object of this resource is dressed for use."""
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
        """Counts changes, for what is computed from all resources."""

    def register(self, resources: Iterable[Resource]) -> None:
        """Serve these; a version that is served already is replaced."""
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
        """Serve these versions no longer. The table stays: see :meth:`forget`."""
        for resource in resources:
            path = (resource.group, resource.version, resource.plural)
            if self._by_path.pop(path, None) is None:
                continue
            if self._by_key.get(resource.key) is not resource:
                continue
            del self._by_key[resource.key]
            heirs = [other for other in self._by_path.values() if other.key == resource.key]
            if heirs:
                self._by_key[resource.key] = heirs[0]
                self._tables[resource.key] = self._store.table(resource.key, reader(heirs[0]))
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
        """The resource as controllers know it. KeyError if it is not served."""
        return self._by_key[key]

    def serves(self, key: str) -> bool:
        return key in self._by_key

    def table(self, resource: Resource) -> Table:
        """Where the objects of a resource are."""
        return self._tables[resource.storage or resource.key]

    @staticmethod
    def node(resource: Resource) -> Node:
        """The schema of a resource as merging and owning see it."""
        return node_of(resource.schema, resource.resolve)

    def is_main(self, resource: Resource) -> bool:
        """Whether what the table decodes to is this version's form already."""
        return self._by_key.get(resource.storage or resource.key) is resource

    def show(self, resource: Resource, obj: Obj) -> Obj:
        """A decoded object of the table as this version shows it (the same object where nothing differs)."""
        if self.is_main(resource):
            return obj
        shown = resource.decode(obj) if resource.decode else obj
        shown = {**shown, "kind": resource.kind, "apiVersion": resource.api_version}
        if resource.custom:
            resource.strategy.default(shown)
        return shown

    def hide(self, resource: Resource, obj: Obj) -> Obj:
        """An object of this version as the table keeps it."""
        if self.is_main(resource):
            return obj
        main = self._by_key[resource.storage or resource.key]
        stored = resource.encode(obj) if resource.encode else obj
        return {**stored, "kind": main.kind, "apiVersion": main.api_version}
