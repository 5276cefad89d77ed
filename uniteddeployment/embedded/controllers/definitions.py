"""The controller for the lifecycle of CustomResourceDefinitions: names accepted, established, terminating, deleted."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from random import Random
from typing import Any, ClassVar, Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.crd.definition.conditions import (
    ESTABLISHED,
    FINALIZER,
    KEY,
    NAMES_ACCEPTED,
    TERMINATING,
    condition,
    is_true,
    set_condition,
)

MANAGER: Final = "kube-apiserver"


class LifecycleController(Controller):
    """Accepts names that are free, establishes definitions with accepted names, and deletes the objects of deleted
    ones.

    It writes only status, and removes its finalizer in the end.
    """

    name: ClassVar[str] = "crd-lifecycle"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._emptying: dict[str, Callable[[], None]] = {}
        """Definitions whose objects are being deleted, with the function that stops watching those objects."""

    def setup(self) -> None:
        """Queue every definition, now and whenever one changes."""
        self.watch(KEY, lambda crd: ("", crd["metadata"]["name"]))

    def stop(self) -> None:
        """Also stop watching the resources that are being emptied."""
        for unsubscribe in self._emptying.values():
            unsubscribe()
        self._emptying.clear()
        super().stop()

    def sync(self, key: Key) -> None:
        """Advance one definition by one step."""
        crd = self.access.get(KEY, "", key[1])
        if crd is None:
            self._requeue_group(key[1])
        elif crd["metadata"].get("deletionTimestamp"):
            self._finalize(crd)
        else:
            self._accept(crd)

    def _requeue_group(self, name: str) -> None:
        """Queue the other definitions of the group, which may be waiting for the names of a deleted one."""
        unsubscribe = self._emptying.pop(name, None)
        if unsubscribe is not None:
            unsubscribe()
        for other in self.access.list(KEY):
            if not is_true(other, NAMES_ACCEPTED):
                self.enqueue(("", other["metadata"]["name"]))

    # Names

    def _accept(self, crd: Obj) -> None:
        names, conflict = accepted_names(crd, self.access.list(KEY))
        new = {**crd, "status": deepcopy(crd["status"])}
        new["status"]["acceptedNames"] = names
        reason, message = conflict or ("NoConflicts", "no conflicts found")
        now = timestamp(self.clock.now())
        set_condition(new, NAMES_ACCEPTED, status=conflict is None, reason=reason, message=message, now=now)
        if not is_true(crd, ESTABLISHED):
            accepted = conflict is None
            set_condition(
                new,
                ESTABLISHED,
                status=accepted,
                reason="InitialNamesAccepted" if accepted else "NotAccepted",
                message="the initial names have been accepted" if accepted else "not all names are accepted",
                now=now,
            )
        self._write_status(new, crd)

    def _write_status(self, new: Obj, old: Obj) -> None:
        if new["status"] != old["status"]:
            self.access.update(KEY, new, manager=MANAGER, subresource="status")

    # Deletion

    def _finalize(self, crd: Obj) -> None:
        if FINALIZER not in crd["metadata"].get("finalizers", ()):
            return
        now = timestamp(self.clock.now())
        if is_true(crd, ESTABLISHED) and self._empty(crd, now):
            return
        new = deepcopy(crd)
        reason, message = ("InstanceDeletionCompleted", "removed all instances")
        if not is_true(crd, ESTABLISHED):
            reason, message = ("NeverEstablished", "resource was never established")
        set_condition(new, TERMINATING, status=False, reason=reason, message=message, now=now)
        self._write_status(new, crd)
        latest = self.access.get(KEY, "", crd["metadata"]["name"])
        if latest is None:
            return
        last = deepcopy(latest)
        last["metadata"]["finalizers"] = [name for name in last["metadata"]["finalizers"] if name != FINALIZER]
        self.access.update(KEY, last, manager=MANAGER)

    def _empty(self, crd: Obj, now: str) -> bool:
        """Delete all objects of a definition; return whether some remain."""
        resource = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
        name = crd["metadata"]["name"]
        if condition(crd, TERMINATING).get("reason") != "InstanceDeletionInProgress":
            new = deepcopy(crd)
            message = "CustomResource deletion is in progress"
            set_condition(new, TERMINATING, status=True, reason="InstanceDeletionInProgress", message=message, now=now)
            self._write_status(new, crd)
        for obj in self.access.list(resource):
            metadata = obj["metadata"]
            if not metadata.get("deletionTimestamp"):
                self.access.delete(resource, metadata.get("namespace", ""), metadata["name"])
        if not self.access.list(resource):
            return False
        if name not in self._emptying:
            self._emptying[name] = self.access.subscribe(resource, lambda _change: self.enqueue(("", name)))
        return True


def accepted_names(crd: Obj, others: Iterable[Obj]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The names that a definition may have, and the reason and message of the last conflict.

    A name is taken if another definition of the group has it already. A definition keeps the names that it has.
    """
    wanted: dict[str, Any] = crd["spec"]["names"]
    accepted: dict[str, Any] = (crd.get("status") or {}).get("acceptedNames") or {}
    taken, taken_kinds = _taken(crd, others)
    names: dict[str, Any] = {"plural": accepted.get("plural", ""), "kind": accepted.get("kind", "")}
    for field in ("singular", "listKind", "shortNames"):
        if accepted.get(field):
            names[field] = accepted[field]
    conflict: tuple[str, str] | None = None
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        used = taken_kinds if field in {"kind", "listKind"} else taken
        value = wanted.get(field)
        requested = (value or []) if field == "shortNames" else [value]
        held = (accepted.get(field) or []) if field == "shortNames" else [accepted.get(field)]
        clashes = [name for name in requested if name not in held and name in used]
        if clashes:
            conflict = (f"{field[0].upper()}{field[1:]}Conflict", _in_use(clashes))
        elif value:
            names[field] = value
        else:
            names.pop(field, None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    return names, conflict


def _in_use(names: list[str]) -> str:
    texts = [f'"{name}" is already in use' for name in names]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _taken(crd: Obj, others: Iterable[Obj]) -> tuple[set[str], set[str]]:
    """The resource names and kinds that other definitions of the group have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        same = other["metadata"]["name"] == crd["metadata"]["name"]
        if same or other["spec"]["group"] != crd["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources.update(name for name in (names.get("plural"), names.get("singular")) if name)
        resources.update(names.get("shortNames") or ())
        kinds.update(kind for kind in (names.get("kind"), names.get("listKind")) if kind)
    return resources, kinds
