"""Pods that ended are kept for people to look at, but not without end: the oldest go when there are too many."""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.controllers.workloads.pods import is_finished

KEPT: Final = 12_500
"""How many pods that ended are kept, the same number as on a real cluster."""

PERIOD: Final = 1.0
"""Seconds between looks, while there are too many."""

TICK: Final[Key] = ("", "")
"""The one key of this controller: look how many there are."""


class FinishedPods(Controller):
    """Deletes the oldest of the pods that ended."""

    name: ClassVar[str] = "podgc"

    def setup(self) -> None:
        self._created: dict[Key, str] = {}
        self._unsubscribe.append(self.access.subscribe("pods", self._note))
        for pod in self.access.list("pods"):
            self._note(Change("ADDED", "pods", pod, None))

    def _note(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if change.type == "DELETED" or not is_finished(change.obj):
            self._created.pop(key, None)
        elif key not in self._created:
            self._created[key] = metadata["creationTimestamp"]
            if len(self._created) > KEPT:
                self.enqueue(TICK, after=PERIOD)

    def sync(self, key: Key) -> None:
        surplus = len(self._created) - KEPT
        if surplus <= 0:
            return
        for found in sorted(self._created, key=lambda one: (self._created[one], one))[:surplus]:
            pod = self.access.get("pods", *found)
            if pod is not None and not pod["metadata"].get("deletionTimestamp"):
                self.access.delete("pods", *found, uid=pod["metadata"]["uid"], grace_seconds=0)
        # What a Job has not counted yet is held, and goes later.
        self.enqueue(key, after=PERIOD)
