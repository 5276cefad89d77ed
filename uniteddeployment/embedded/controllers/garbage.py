"""The garbage collector: dependents go with their owners, in the three ways in which a deletion can be asked for.

Owners are known by uid. It keeps one index, from the uid of an owner to what names it, and looks at an object when
its owner references changed, when an owner of it is gone or is being deleted in the foreground, or when it waits itself
for its dependents.
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
"""Seconds between what the collector sees and what it does about an owner that waits for it, as on a real server."""

IGNORED: Final = frozenset({"events", "events.events.k8s.io"})
"""Resources whose objects own nothing and are owned by nothing, and come in great numbers."""


class Item(NamedTuple):
    """Where an object is."""

    resource: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """As a key of a controller, which has two parts."""
        return (f"{self.resource}/{self.namespace}", self.name)


def item_of(key: Key) -> Item:
    """The reverse of :attr:`Item.key`."""
    resource, _, namespace = key[0].partition("/")
    return Item(resource, namespace, key[1])


class Owners(NamedTuple):
    """The owner references of an object by what became of the owners."""

    solid: list[Obj]
    dangling: list[Obj]
    waiting: list[Obj]


class GarbageCollector(Controller):
    """Keys are objects of all resources (see :class:`Item`)."""

    name: ClassVar[str] = "garbagecollector"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._dependents: dict[str, dict[Item, bool]] = {}
        """Owner's uid -> what names it, and whether that blocks the owner's deletion."""
        self._waiting: dict[str, Item] = {}
        """Objects that are deleted in the foreground, by uid."""
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
        """Look at an owner that waits for its dependents, after the time that a request takes."""
        self.enqueue(owner.key, after=self.random.uniform(*LATENCY))

    def _index(self, item: Item, before: Iterable[Obj], after: Iterable[Obj]) -> None:
        """Move an object in the index; an owner that waits for it hears of that."""
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
        """Set the dependents free; when none is left, and not in the same moment, let the owner go."""
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
        """Let the owner go when nothing blocks that any more; until then see that its dependents go."""
        dependents = self._dependents.get(owner["metadata"]["uid"], {})
        if not any(dependents.values()):
            self._drop_finalizer(item, owner, FOREGROUND)
        # What does not block goes as well, but nobody waits for it.
        for dependent in list(dependents):
            self.enqueue(dependent.key)

    def _drop_finalizer(self, item: Item, obj: Obj, finalizer: str) -> None:
        metadata = obj["metadata"]
        left = [name for name in metadata["finalizers"] if name != finalizer]
        fresh = {**obj, "metadata": {**metadata, "finalizers": left}}
        self.access.update(item.resource, fresh, manager=MANAGER)

    # Objects that have owners

    def _collect(self, item: Item, obj: Obj) -> None:
        """Keep an object that has an owner, delete one that has lost all."""
        owners = self._classify(item, obj)
        if owners.solid:
            gone = {reference["uid"] for reference in [*owners.dangling, *owners.waiting]}
            if gone:
                self._drop_references(item, obj, gone)
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
                # Nobody knows whether such an owner exists, so it counts as one that does.
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
        fresh = {**metadata, "ownerReferences": left}
        if not left:
            del fresh["ownerReferences"]
        self.access.update(item.resource, {**obj, "metadata": fresh}, manager=MANAGER)


def _waits(metadata: Obj) -> bool:
    finalizers = metadata.get("finalizers") or ()
    return FOREGROUND in finalizers or ORPHAN in finalizers


def _waits_in_foreground(metadata: Obj) -> bool:
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())


def _policy(obj: Obj) -> str:
    """How an object without owners is deleted: as its finalizers ask, in the background otherwise."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
