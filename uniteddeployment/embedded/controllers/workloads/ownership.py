"""Controller references, adoption and release.

:class:`OwningController` is the base of controllers that own objects of another kind. It follows events to know the
owner of each object and the objects without a controller. A sync therefore reads only its own dependents and the few
objects without a controller in its namespace.
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
"""The field manager of these controllers."""


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
            controller: Obj = reference
            return controller
    return None


def is_deleting(obj: Obj) -> bool:
    """Whether the object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


class OwningController(Controller):
    """A controller whose objects own objects of other resources through a label selector in ``spec.selector``."""

    resource: ClassVar[str]
    """The resource of the owners."""

    kind: ClassVar[str]
    """The kind of the owners in owner references."""

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._selectors = SelectorIndex()
        # Objects without a controller, per resource whose objects may be adopted.
        self._orphans: dict[str, LabelIndex] = {}
        self._room = PodRoom(access, self.enqueue)

    def watch_owners(self) -> None:
        """Queue each existing owner and each that changes."""
        self._selectors = SelectorIndex()
        self._unsubscribe.append(self.access.subscribe(self.resource, self.note_owner))
        for obj in self.access.list(self.resource):
            self.note_owner(Change("ADDED", self.resource, obj, None))

    def note_owner(self, change: Change) -> None:
        """Apply a change of an owner, and queue it."""
        owner = change.obj
        if change.type == "DELETED":
            self._selectors.drop(owner)
        else:
            self._selectors.put(owner, (owner["spec"].get("selector") or {}).get("matchLabels") or {})
        self.enqueue((owner["metadata"]["namespace"], owner["metadata"]["name"]))

    def watch_dependents(self, resource: str) -> None:
        """Queue the owner of each object of ``resource`` that changes, and track objects without a controller."""
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
        """The number of missing pods that an owner may create now; the owner is queued again when there is more
        room.
        """
        metadata = owner["metadata"]
        return self._room.grant((metadata["namespace"], metadata["name"]), wanted)

    def claim(self, resource: str, owner: Obj, *, fits: Callable[[Obj], bool] | None = None) -> list[Obj]:
        """The objects that ``owner`` controls, sorted by name, after adopting matching and releasing other objects.

        ``fits`` decides which objects may be adopted. An owner that is being deleted neither adopts nor releases, and
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
        """Objects without a controller that a selector matches, sorted by name."""
        orphans, wanted = self._orphans.get(resource), (selector or {}).get("matchLabels")
        if orphans is None:
            return []
        if wanted:
            candidates = (self.access.get(resource, namespace, name) for name in orphans.find(namespace, wanted))
        else:
            candidates = (obj for obj in self.access.list(resource, namespace))
        return [
            obj
            for obj in candidates
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
    """A copy of ``obj`` with these metadata fields; an empty value removes a field."""
    metadata = {**obj["metadata"], **fields}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key not in fields or value}}
