"""The garbage collector: deletes dependents with their owners, under all three deletion propagation policies.

Owners are identified by uid. An index leads from the uid of an owner to its dependents. An object is examined if its
owner references changed, if an owner of it was deleted or is being deleted in the foreground, or if it waits for its
own dependents.
"""

from collections.abc import Iterable
from random import Random
from typing import ClassVar, Final, NamedTuple

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kube-controller-manager"
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

LATENCY: Final = (0.001, 0.01)
"""Seconds between an event and the reaction for an owner that waits for its dependents, as on a real server."""

IGNORED: Final = frozenset({"events", "events.events.k8s.io"})
"""Resources whose objects have no owners and no dependents, and which are numerous."""


class Item(NamedTuple):
    """The location of an object."""

    resource: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """The item as a key of a controller, which has two parts."""
        return (f"{self.resource}/{self.namespace}", self.name)


def item_of(key: Key) -> Item:
    """Parse :attr:`Item.key`."""
    resource, _, namespace = key[0].partition("/")
    return Item(resource, namespace, key[1])


class Owners(NamedTuple):
    """The owner references of an object, by the state of the owners."""

    solid: list[Obj]
    dangling: list[Obj]
    waiting: list[Obj]


class GarbageCollector(Controller):
    """Keys are objects of all resources (see :class:`Item`)."""

    name: ClassVar[str] = "garbagecollector"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._dependents: dict[str, dict[Item, bool]] = {}
        """By the uid of an owner: its dependents, and whether they block its deletion."""
        self._waiting: dict[str, Item] = {}
        """Objects that are being deleted in the foreground, by uid."""
        self._kinds: dict[tuple[str, str], Resource] = {}

    def setup(self) -> None:
        self._dependents.clear()
        self._waiting.clear()
        self._unsubscribe.append(self.access.subscribe("*", self._on_change))
        for resource in self.access.resources():
            if resource.key not in IGNORED:
                for obj in self.access.list(resource.key):
                    self._on_change(Change("ADDED", resource.key, obj, None))

    def _on_change(self, change: Change) -> None:
        if change.resource in IGNORED:
            return
        metadata = change.obj["metadata"]
        item = Item(change.resource, metadata.get("namespace", ""), metadata["name"])
        before = (change.old["metadata"].get("ownerReferences") or ()) if change.old is not None else ()
        after = (metadata.get("ownerReferences") or ()) if change.type != "DELETED" else ()
        if before or after:
            self._index(item, before, after)
        if change.type == "DELETED":
            self._waiting.pop(metadata["uid"], None)
            for dependent in self._dependents.get(metadata["uid"], ()):
                self.enqueue(dependent.key)
            return
        if after and (before != after or change.old is None):
            self.enqueue(item.key)
        if not metadata.get("deletionTimestamp"):
            return
        if _waits(metadata):
            self._waiting[metadata["uid"]] = item
            self._enqueue_waiting(item)
        else:
            self._waiting.pop(metadata["uid"], None)

    def _enqueue_waiting(self, owner: Item) -> None:
        """Queue an owner that waits for its dependents, after the time that a request takes."""
        self.enqueue(owner.key, after=self.random.uniform(*LATENCY))

    def _index(self, item: Item, before: Iterable[Obj], after: Iterable[Obj]) -> None:
        """Update the index for an object, and queue the owners that wait for it."""
        now = {reference["uid"]: bool(reference.get("blockOwnerDeletion")) for reference in after}
        for reference in before:
            uid = reference["uid"]
            if uid in now:
                continue
            dependents = self._dependents.get(uid)
            if dependents is not None:
                dependents.pop(item, None)
                if not dependents:
                    del self._dependents[uid]
        for uid, blocks in now.items():
            self._dependents.setdefault(uid, {})[item] = blocks
        for reference in before:
            owner = self._waiting.get(reference["uid"])
            if owner is not None:
                self._enqueue_waiting(owner)

    def sync(self, key: Key) -> None:
        item = item_of(key)
        obj = self.access.get(*item)
        if obj is None:
            return
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            finalizers = metadata.get("finalizers") or ()
            if ORPHAN in finalizers:
                self._orphan_dependents(item, obj)
            elif FOREGROUND in finalizers:
                self._delete_dependents(item, obj)
            return
        if metadata.get("ownerReferences"):
            self._collect(item, obj)

    # Owners that are being deleted

    def _orphan_dependents(self, item: Item, owner: Obj) -> None:
        """Remove the owner references of dependents; once none is left, remove the owner's finalizer in a later
        sync.
        """
        uid = owner["metadata"]["uid"]
        dependents = list(self._dependents.get(uid, ()))
        for dependent in dependents:
            obj = self.access.get(*dependent)
            if obj is not None:
                self._drop_references(dependent, obj, {uid})
        if dependents:
            self._enqueue_waiting(item)
        else:
            self._drop_finalizer(item, owner, ORPHAN)

    def _delete_dependents(self, item: Item, owner: Obj) -> None:
        """Remove the owner's finalizer once nothing blocks it; until then delete its dependents."""
        dependents = self._dependents.get(owner["metadata"]["uid"], {})
        if not any(dependents.values()):
            self._drop_finalizer(item, owner, FOREGROUND)
        # Dependents that do not block are deleted too, but the owner does not wait for them.
        for dependent in list(dependents):
            self.enqueue(dependent.key)

    def _drop_finalizer(self, item: Item, obj: Obj, finalizer: str) -> None:
        metadata = obj["metadata"]
        left = [name for name in metadata["finalizers"] if name != finalizer]
        released = {**obj, "metadata": {**metadata, "finalizers": left}}
        self.access.update(item.resource, released, manager=MANAGER)

    # Objects that have owners

    def _collect(self, item: Item, obj: Obj) -> None:
        """Keep an object that has an owner, delete one that has lost all."""
        owners = self._classify(item, obj)
        if owners.solid:
            obsolete = {reference["uid"] for reference in [*owners.dangling, *owners.waiting]}
            if obsolete:
                self._drop_references(item, obj, obsolete)
            return
        if not owners.dangling and not owners.waiting:
            return
        uid = obj["metadata"]["uid"]
        policy = "Foreground" if owners.waiting and self._dependents.get(uid) else _policy(obj)
        try:
            self.access.delete(item.resource, item.namespace, item.name, uid=uid, propagation=policy)
        except StatusError as error:
            if error.code not in (404, 409):
                raise

    def _classify(self, item: Item, obj: Obj) -> Owners:
        owners = Owners([], [], [])
        for reference in obj["metadata"]["ownerReferences"]:
            resource = self._resource(reference)
            if resource is None or (resource.namespaced and not item.namespace):
                # Whether such an owner exists is unknown, so it counts as existing.
                owners.solid.append(reference)
                continue
            namespace = item.namespace if resource.namespaced else ""
            owner = self.access.get(resource.key, namespace, reference["name"])
            if owner is None or owner["metadata"]["uid"] != reference["uid"]:
                owners.dangling.append(reference)
            elif _waits_in_foreground(owner["metadata"]):
                owners.waiting.append(reference)
            else:
                owners.solid.append(reference)
        return owners

    def _resource(self, reference: Obj) -> Resource | None:
        group = reference["apiVersion"].rpartition("/")[0]
        kind = (group, reference["kind"])
        if kind not in self._kinds:
            self._kinds = {(resource.group, resource.kind): resource for resource in self.access.resources()}
        return self._kinds.get(kind)

    def _drop_references(self, item: Item, obj: Obj, uids: set[str]) -> None:
        metadata = obj["metadata"]
        left = [reference for reference in metadata["ownerReferences"] if reference["uid"] not in uids]
        kept = {**metadata, "ownerReferences": left}
        if not left:
            del kept["ownerReferences"]
        self.access.update(item.resource, {**obj, "metadata": kept}, manager=MANAGER)


def _waits(metadata: Obj) -> bool:
    finalizers = metadata.get("finalizers") or ()
    return FOREGROUND in finalizers or ORPHAN in finalizers


def _waits_in_foreground(metadata: Obj) -> bool:
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())


def _policy(obj: Obj) -> str:
    """The propagation policy for an object without owners: as its finalizers request, by default Background."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
