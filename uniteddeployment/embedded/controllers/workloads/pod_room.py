"""Limits the number of pods that controllers create: as many as nodes have room for, plus a bounded number.

In a real cluster a workload of a billion replicas would create pods until something breaks. This limit prevents that.
"""

from collections.abc import Callable
from typing import Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.quantity import QuantityError, value
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key

BATCH: Final = 500
"""Maximum number of pods that one sync creates; their events cause the next sync."""

WAITING: Final = 1000
"""Number of pods beyond the room on nodes, so that users see pending pods."""


class PodRoom:
    """Counts unfinished pods and the room on nodes. ``wake`` queues an owner that got less than it asked for."""

    def __init__(self, access: Access, wake: Callable[[Key], None]) -> None:
        self._access = access
        self._wake = wake
        self._living = 0
        self._short: dict[Key, None] = {}

    def follow(self) -> Callable[[], None]:
        """Start to count (existing pods arrive through :meth:`note`); return a function that stops."""
        self._living = 0
        self._short.clear()
        return self._access.subscribe("nodes", self._on_node)

    def note(self, change: Change) -> None:
        """Apply a change of a pod."""
        before = change.old is not None and _is_living(change.old)
        after = change.type != "DELETED" and _is_living(change.obj)
        self._living += after - before
        if before and not after:
            self._wake_all()

    def grant(self, key: Key, wanted: int) -> int:
        """The number of the ``wanted`` pods that an owner may create now; if it is less, the owner is queued later."""
        requested = min(wanted, BATCH)
        if self._living + requested <= WAITING:
            return requested
        room = max(0, WAITING + self._capacity() - self._living)
        if room < requested:
            self._short[key] = None
        return min(requested, room)

    def _capacity(self) -> int:
        return sum(_pods_of(node) for node in self._access.list("nodes"))

    def _on_node(self, change: Change) -> None:
        if self._short and (change.old is None or _pods_of(change.old) < _pods_of(change.obj)):
            self._wake_all()

    def _wake_all(self) -> None:
        short = list(self._short)
        self._short.clear()
        for key in short:
            self._wake(key)


def _is_living(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _pods_of(node: Obj) -> int:
    """The number of pods that fit on a node."""
    try:
        return value(str(((node.get("status") or {}).get("allocatable") or {}).get("pods", "0")))
    except QuantityError:
        # A client wrote an invalid status; such a node takes no pods.
        return 0
