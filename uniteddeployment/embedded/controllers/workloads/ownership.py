"""Who owns what: controller references, adoption and release.

:class:`OwningController` is the base of the controllers that own objects of another kind. It finds out by events which
owner an object concerns and which objects have no owner, so that a sync looks at what its own object owns and at the
few ownerless objects of its namespace, never at all objects.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink
from uniteddeployment.embedded.controllers.framework.label_index import LabelIndex, SelectorIndex, labels_of
from uniteddeployment.embedded.controllers.workloads.pod_room import PodRoom

PODS: Final = "pods"
MANAGER: Final = "kube-controller-manager"
"""The field manager of everything that these controllers write."""


def controller_reference(owner: Obj) -> Obj:
    """The owner reference that makes ``owner`` the controller of an object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Obj) -> Obj | None:
    """The reference to the controller of ``obj``, if it has one."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Obj = reference
            return found
    return None


def is_deleting(obj: Obj) -> bool:
    """Whether the object's deletion was asked for."""
    return bool(obj["metadata"].get("deletionTimestamp"))


class OwningController(Controller):
    """A controller whose objects own objects of other resources through a label selector in ``spec.selector``."""

    resource: ClassVar[str]
    """The resource of the owners."""

    kind: ClassVar[str]
    """The kind of the owners, as owner references name it."""

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._selectors = SelectorIndex()
        # Objects without a controller, of each resource whose objects may be adopted.
        self._orphans: dict[str, LabelIndex] = {}
        self._room = PodRoom(access, self.enqueue)

    def watch_owners(self) -> None:
        """Enqueue each owner that is there and each that changes."""
        self._selectors = SelectorIndex()
        self._unsubscribe.append(self.access.subscribe(self.resource, self.note_owner))
        for obj in self.access.list(self.resource):
            self.note_owner(Change("ADDED", self.resource, obj, None))

    def note_owner(self, change: Change) -> None:
        """Take account of a change of an owner, and enqueue it."""
        owner = change.obj
        if change.type == "DELETED":
            self._selectors.drop(owner)
        else:
            self._selectors.put(owner, (owner["spec"].get("selector") or {}).get("matchLabels") or {})
        self.enqueue((owner["metadata"]["namespace"], owner["metadata"]["name"]))

    def watch_dependents(self, resource: str) -> None:
        """Enqueue the owner of each object of ``resource`` that changes, and keep account of those without one."""
        orphans = self._orphans[resource] = LabelIndex()
        pods = resource == PODS
        if pods:
            self._unsubscribe.append(self._room.follow())

        def note(change: Change) -> None:
            old, obj = change.old, change.obj
            if pods:
                self._room.note(change)
            self._enqueue_controller(obj)
            if old is not None:
                self._enqueue_controller(old)
            was_orphan = old if old is not None and controller_of(old) is None else None
            is_orphan = obj if change.type != "DELETED" and controller_of(obj) is None else None
            orphans.replace(was_orphan, is_orphan)
            if is_orphan is not None and (was_orphan is None or labels_of(was_orphan) != labels_of(is_orphan)):
                self._enqueue_suitors(is_orphan)

        self._unsubscribe.append(self.access.subscribe(resource, note))
        for obj in self.access.list(resource):
            note(Change("ADDED", resource, obj, None))

    def grant(self, owner: Obj, wanted: int) -> int:
        """How many of the pods that an owner lacks it may create now; it is synced again when there can be more."""
        metadata = owner["metadata"]
        return self._room.grant((metadata["namespace"], metadata["name"]), wanted)

    def claim(self, resource: str, owner: Obj, *, fits: Callable[[Obj], bool] | None = None) -> list[Obj]:
        """What ``owner`` controls, in the order of names; adopts what matches its selector, releases what does not.

        ``fits`` says which objects may be adopted at all. An owner that is going away neither adopts nor releases, and
        one without a selector keeps what it has.
        """
        namespace = owner["metadata"]["namespace"]
        selector = owner["spec"].get("selector")
        claimed = []
        for obj in controlled(self.access, resource, owner):
            if selector is None or matches_labels(selector, labels_of(obj)):
                claimed.append(obj)
            elif not is_deleting(owner):
                self._release(resource, obj, owner)
        if not is_deleting(owner):
            orphans = self._matching_orphans(resource, namespace, selector)
            claimed += [self._adopt(resource, orphan, owner) for orphan in orphans if fits is None or fits(orphan)]
        return sorted(claimed, key=lambda obj: obj["metadata"]["name"])

    def _enqueue_controller(self, obj: Obj) -> None:
        reference = controller_of(obj)
        if reference is not None and reference["kind"] == self.kind:
            self.enqueue((obj["metadata"]["namespace"], reference["name"]))

    def _enqueue_suitors(self, orphan: Obj) -> None:
        namespace = orphan["metadata"]["namespace"]
        for name in self._selectors.candidates(namespace, labels_of(orphan)):
            self.enqueue((namespace, name))

    def _matching_orphans(self, resource: str, namespace: str, selector: Obj | None) -> list[Obj]:
        """Objects without a controller that a selector matches, in the order of names."""
        orphans, wanted = self._orphans.get(resource), (selector or {}).get("matchLabels")
        if orphans is None:
            return []
        if wanted:
            found = (self.access.get(resource, namespace, name) for name in orphans.find(namespace, wanted))
        else:
            found = (obj for obj in self.access.list(resource, namespace))
        return [
            obj
            for obj in found
            if obj is not None
            and controller_of(obj) is None
            and not is_deleting(obj)
            and matches_labels(selector, labels_of(obj))
        ]

    def _adopt(self, resource: str, obj: Obj, owner: Obj) -> Obj:
        references = [*(obj["metadata"].get("ownerReferences") or ()), controller_reference(owner)]
        return self.access.update(resource, with_metadata(obj, ownerReferences=references), manager=MANAGER)

    def _release(self, resource: str, obj: Obj, owner: Obj) -> None:
        uid = owner["metadata"]["uid"]
        references = [r for r in obj["metadata"]["ownerReferences"] if r["uid"] != uid]
        self.access.update(resource, with_metadata(obj, ownerReferences=references), manager=MANAGER)


def controlled(access: Access, resource: str, owner: Obj) -> Sequence[Obj]:
    """The objects whose controller is ``owner``."""
    metadata = owner["metadata"]
    uid = metadata["uid"]
    return [
        obj
        for obj in access.owned(resource, metadata["namespace"], uid)
        if (reference := controller_of(obj)) is not None and reference["uid"] == uid
    ]


def with_metadata(obj: Obj, **fields: Any) -> Obj:
    """A copy of ``obj`` with these fields of its metadata; an empty value removes the field."""
    metadata = {**obj["metadata"], **fields}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in fields or value}}
