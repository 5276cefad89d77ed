"""Namespaces: each gets a default ServiceAccount, and the content of a terminating one is deleted first.

Pods are deleted first, as in a real cluster, so that nothing they use disappears under them. The namespace's conditions
report what remains and what holds it.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import ClassVar, Final, NamedTuple

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.conditions import with_condition
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kube-controller-manager"
FINALIZER: Final = "kubernetes"
PODS: Final = "pods"

PAUSE: Final = 0.02
"""Seconds between passes over a terminating namespace, so that many deletions need few passes."""

_FOUND: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
)
_FAILED: Final = "NamespaceDeletionContentFailure"
_DELETED: Final = (_FAILED, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")


class Remains(NamedTuple):
    """The remaining content of a namespace."""

    counts: Counter[str]
    """Number of objects by resource and group, with a dot in between: ``configmaps.``."""
    finalizers: Counter[str]
    errors: Sequence[str]


class NamespaceLifecycle(Controller):
    """Keys are namespaces, with an empty namespace part."""

    name: ClassVar[str] = "namespace"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._terminating: set[str] = set()

    def setup(self) -> None:
        self.watch("namespaces", lambda namespace: ("", namespace["metadata"]["name"]))
        self._unsubscribe.append(self.access.subscribe("*", self._on_change))

    def _on_change(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        namespace = metadata.get("namespace", "")
        if not namespace:
            return
        last_account = change.resource == "serviceaccounts" and change.type == "DELETED"
        if last_account:
            self.enqueue(("", namespace))
        elif namespace in self._terminating:
            self.enqueue(("", namespace), after=PAUSE)

    def sync(self, key: Key) -> None:
        name = key[1]
        namespace = self.access.get("namespaces", "", name)
        if namespace is None:
            self._terminating.discard(name)
        elif namespace["metadata"].get("deletionTimestamp"):
            self._terminating.add(name)
            self._empty(namespace)
        elif self.access.get("serviceaccounts", name, "default") is None:
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default", "namespace": name},
            }
            self.access.create("serviceaccounts", account, manager=MANAGER)

    def _empty(self, namespace: Obj) -> None:
        """One pass: delete what can be deleted, report what remains, and release an empty namespace."""
        if FINALIZER not in ((namespace.get("spec") or {}).get("finalizers") or ()):
            return
        name = namespace["metadata"]["name"]
        remains = self._delete_content(name)
        moment = timestamp(self.clock.now())
        status = with_condition(namespace.get("status") or {}, *conditions(remains, moment))
        namespace = self.access.update(
            "namespaces", {**namespace, "status": status}, manager=MANAGER, subresource="status"
        )
        if remains.counts:
            return
        left = [finalizer for finalizer in namespace["spec"]["finalizers"] if finalizer != FINALIZER]
        done = {**namespace, "spec": {**namespace["spec"], "finalizers": left}}
        self.access.update("namespaces", done, manager=MANAGER, subresource="finalize")
        if not left:
            self._remove(namespace)

    def _remove(self, namespace: Obj) -> None:
        """Remove a namespace without finalizers, unless the last write removed it."""
        name, uid = namespace["metadata"]["name"], namespace["metadata"]["uid"]
        rest = self.access.get("namespaces", "", name)
        if rest is not None and rest["metadata"]["uid"] == uid:
            self.access.delete("namespaces", "", name, uid=uid)

    def _delete_content(self, namespace: str) -> Remains:
        """Delete the pods or, once there are none, everything else."""
        remains = Remains(Counter(), Counter(), [])
        errors: list[str] = []
        keys = [resource.key for resource in self.access.resources() if resource.namespaced]
        for key in [PODS] if self.access.list(PODS, namespace) else keys:
            for obj in list(self.access.list(key, namespace)):
                if not obj["metadata"].get("deletionTimestamp"):
                    self._delete(key, obj, errors)
        for key in keys:
            objects = self.access.list(key, namespace)
            if objects:
                remains.counts[key if "." in key else f"{key}."] = len(objects)
            for obj in objects:
                remains.finalizers.update(obj["metadata"].get("finalizers") or ())
        return remains._replace(errors=errors)

    def _delete(self, key: str, obj: Obj, errors: list[str]) -> None:
        metadata = obj["metadata"]
        try:
            self.access.delete(
                key, metadata["namespace"], metadata["name"], uid=metadata["uid"], propagation="Background"
            )
        except StatusError as error:
            # The namespace's conditions report it, and the next pass retries.
            if error.code != 404:
                errors.append(error.message)


def conditions(remains: Remains, moment: str) -> list[Obj]:
    """The conditions of a terminating namespace."""
    result = [_condition(moment, type_, reason, message, bad=False) for type_, reason, message in _FOUND]
    if remains.errors:
        message = f"Failed to delete all resource types, {len(remains.errors)} remaining: {', '.join(remains.errors)}"
        result.append(_condition(moment, _FAILED, "ContentDeletionFailed", message, bad=True))
    else:
        result.append(_condition(moment, *_DELETED, bad=False))
    what = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(remains.counts.items()))
    if what:
        message = f"Some resources are remaining: {what}"
        result.append(_condition(moment, "NamespaceContentRemaining", "SomeResourcesRemain", message, bad=True))
    else:
        message = "All content successfully removed"
        result.append(_condition(moment, "NamespaceContentRemaining", "ContentRemoved", message, bad=False))
    held = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(remains.finalizers.items()))
    if held:
        message = f"Some content in the namespace has finalizers remaining: {held}"
        result.append(_condition(moment, "NamespaceFinalizersRemaining", "SomeFinalizersRemain", message, bad=True))
    else:
        message = "All content-preserving finalizers finished"
        result.append(_condition(moment, "NamespaceFinalizersRemaining", "ContentHasNoFinalizers", message, bad=False))
    return result


def _condition(moment: str, type_: str, reason: str, message: str, *, bad: bool) -> Obj:
    return {
        "type": type_,
        "status": "True" if bad else "False",
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
