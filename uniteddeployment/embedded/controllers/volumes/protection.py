"""Protects claims in use by pods and volumes in use by claims from deletion, with finalizers."""

from collections import defaultdict
from random import Random
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.controller import Controller, EventSink, Key
from uniteddeployment.embedded.controllers.scheduler.model import claim_names
from uniteddeployment.embedded.controllers.workloads.pods import is_finished

MANAGER: Final = "kube-controller-manager"
CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"
CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"


class VolumeProtection(Controller):
    """Keys are claims, and volumes with an empty namespace."""

    name: ClassVar[str] = "volume-protection"

    def __init__(self, access: Access, clock: Clock, random: Random, events: EventSink) -> None:
        super().__init__(access, clock, random, events)
        self._users: dict[Key, dict[str, None]] = defaultdict(dict)
        """Names of the pods that use each claim."""

    def setup(self) -> None:
        self._users.clear()
        self._unsubscribe.append(self.access.subscribe("pods", self._on_pod))
        for pod in self.access.list("pods"):
            self._on_pod(Change("ADDED", "pods", pod, None))
        self.watch(CLAIMS, _key)
        self.watch(VOLUMES, _key)

    def _on_pod(self, change: Change) -> None:
        """A pod uses its claims until it is deleted, or has finished on a node."""
        pod = change.obj
        uses = change.type != "DELETED" and not is_finished(pod)
        metadata = pod["metadata"]
        for name in claim_names(pod):
            key = (metadata["namespace"], name)
            if uses:
                self._users[key][metadata["name"]] = None
            elif key in self._users:
                self._users[key].pop(metadata["name"], None)
                if not self._users[key]:
                    del self._users[key]
                self.enqueue(key)

    def sync(self, key: Key) -> None:
        resource, finalizer = (CLAIMS, CLAIM_FINALIZER) if key[0] else (VOLUMES, VOLUME_FINALIZER)
        obj = self.access.get(resource, *key)
        if obj is None:
            return
        metadata = obj["metadata"]
        held = finalizer in (metadata.get("finalizers") or ())
        if not metadata.get("deletionTimestamp"):
            if not held:
                self._set(resource, obj, [*(metadata.get("finalizers") or ()), finalizer])
        elif held and not self._in_use(key, obj):
            self._set(resource, obj, [name for name in metadata["finalizers"] if name != finalizer])

    def _in_use(self, key: Key, obj: Obj) -> bool:
        if key[0]:
            return key in self._users
        return bool((obj.get("status") or {}).get("phase") == "Bound")

    def _set(self, resource: str, obj: Obj, finalizers: list[str]) -> None:
        updated = {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}}
        self.access.update(resource, updated, manager=MANAGER)


def _key(obj: Obj) -> Key:
    return (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
