"""Deletes Events one hour after they last occurred, as the real API server does."""

from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key

TIME_TO_LIVE: Final = 3600.0
TICK: Final[Key] = ("", "")
"""The only key of this controller."""


class EventExpiry(Controller):
    """Deletes old Events. There is a single timer, for the Event that expires first."""

    name: ClassVar[str] = "event-expiry"

    def setup(self) -> None:
        # Sorted by expiry, because a change moves an Event to the end.
        self._dues: dict[Key, float] = {}
        for event in self.access.list("events"):
            self._note(Change("ADDED", "events", event, None))
        self._unsubscribe.append(self.access.subscribe("events", self._note))

    def _note(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        key = (metadata["namespace"], metadata["name"])
        self._dues.pop(key, None)
        if change.type != "DELETED":
            self._dues[key] = self.clock.monotonic() + TIME_TO_LIVE
            self.enqueue(TICK, after=TIME_TO_LIVE)

    def sync(self, _key: Key) -> None:
        now = self.clock.monotonic()
        due = []
        for key, moment in self._dues.items():
            if moment > now:
                self.enqueue(TICK, after=moment - now)
                break
            due.append(key)
        for key in due:
            self._dues.pop(key, None)
            if self.access.get("events", *key) is not None:
                self.access.delete("events", *key)
