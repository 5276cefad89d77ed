"""The base of the OpenKruise controllers: their kinds may be defined after they start."""

from typing import Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.label_index import SelectorIndex
from uniteddeployment.embedded.controllers.workloads.ownership import OwningController

_ALL: Final = "*"


class LateOwningController(OwningController):
    """An owning controller of a custom kind whose definition may be created and deleted."""

    def watch_owners(self) -> None:
        self._selectors = SelectorIndex()
        self._unsubscribe.append(self.access.subscribe(_ALL, self._note))
        for obj in self.access.list(self.resource):
            self.note_owner(Change("ADDED", self.resource, obj, None))

    def _note(self, change: Change) -> None:
        if change.resource == self.resource:
            self.note_owner(change)


def selector_text(selector: Obj) -> str:
    """The labels of a selector in the form of the scale subresource."""
    return ",".join(f"{label}={value}" for label, value in sorted((selector.get("matchLabels") or {}).items()))
