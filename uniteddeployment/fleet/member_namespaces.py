"""The namespaces of a member that the controller created, from a watch."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from uniteddeployment.fleet.namespaces import NamespaceMetadata
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment_api import names

MOST_NAMESPACES = 20_000
_SELECTOR = f"{names.LABEL_MANAGED_BY}={names.MANAGER}"


class Fields(Struct, rename="camel", frozen=True):
    """An entry of ``managedFields``."""

    manager: str = ""
    operation: str = ""
    fields_v1: dict[str, Any] = {}


class MemberNamespaceMetadata(NamespaceMetadata, rename="camel", frozen=True):
    """The used part of the metadata of a namespace in a member."""

    deletion_timestamp: str | None = None
    managed_fields: tuple[Fields, ...] = ()


class MemberNamespace(Struct, frozen=True):
    """A namespace in a member."""

    metadata: MemberNamespaceMetadata

    @property
    def owned_labels(self) -> frozenset[str]:
        """The keys of the labels that the controller applied."""
        owned: set[str] = set()
        for entry in self.metadata.managed_fields:
            if (entry.manager, entry.operation) == (names.FIELD_MANAGER, "Apply"):
                metadata = entry.fields_v1.get("f:metadata")
                labels = metadata.get("f:labels") if isinstance(metadata, dict) else None
                owned |= {key.removeprefix("f:") for key in labels} if isinstance(labels, dict) else set()
        return frozenset(owned)


class MemberNamespaces:
    """Follows the namespaces of a member that have the label of the controller.

    ``on_change`` is called with the name of a namespace that was added or changed.
    """

    def __init__(self, client: Client, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self.cache: Cache[MemberNamespace] = Cache(self._changed, most=MOST_NAMESPACES)
        self.reflector = Reflector(client, NAMESPACES, MemberNamespace, self.cache, label_selector=_SELECTOR)

    def get(self, name: str) -> MemberNamespace | None:
        """Return a namespace; None if it does not exist or does not have the label."""
        return self.cache.get(("", name))

    def _changed(self, _old: MemberNamespace | None, new: MemberNamespace | None) -> None:
        if new is not None:
            self._on_change(new.metadata.name)
