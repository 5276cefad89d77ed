"""Deletes the oldest finished pods when there are too many."""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.controllers.workloads.pods import is_finished

KEPT: Final = 12_500
"""Maximum number of finished pods, the default of a real cluster."""

PERIOD: Final = 1.0
"""Seconds between checks while there are too many."""

TICK: Final[Key] = ("", "")
"""The only key of this controller."""


class FinishedPods(Controller):
    """Deletes the oldest finished pods."""

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
        for oldest in sorted(self._created, key=lambda key: (self._created[key], key))[:surplus]:
            pod = self.access.get("pods", *oldest)
            if pod is not None and not pod["metadata"].get("deletionTimestamp"):
                self.access.delete("pods", *oldest, uid=pod["metadata"]["uid"], grace_seconds=0)
        # The finalizer of a Job holds a pod until it is counted, so the deletion takes effect later.
        self.enqueue(key, after=PERIOD)
