"""The labels of the namespaces of the host, from a watch."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import NAMESPACES


class NamespaceMetadata(Struct, rename="camel", frozen=True):
    """The used part of a namespace's metadata. It has all labels, since selectors may name any of them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class Namespace(Struct, frozen=True):
    """A namespace."""

    metadata: NamespaceMetadata


class Namespaces:
    """Follows the namespaces of the host, or only the one that is named ``only``.

    ``on_labels_changed`` is called with a namespace that was added, or whose labels have changed.
    """

    def __init__(self, client: Client, on_labels_changed: Callable[[str], None], only: str | None = None) -> None:
        self._on_labels_changed = on_labels_changed
        self._cache: Cache[Namespace] = Cache(self._changed)
        selector = f"metadata.name={only}" if only is not None else None
        self.reflector = Reflector(client, NAMESPACES, Namespace, self._cache, field_selector=selector)

    def labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace; None if it is not known."""
        namespace = self._cache.get(("", name))
        return namespace.metadata.labels if namespace is not None else None

    def _changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is not None and (old is None or old.metadata.labels != new.metadata.labels):
            self._on_labels_changed(new.metadata.name)
