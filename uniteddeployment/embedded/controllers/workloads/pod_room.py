"""How many pods controllers may create: what nodes have room for, and a bounded number that wait.

A real cluster lets a workload of a billion replicas create pods until something gives way. Here nothing may give way:
what a controller creates is bounded by what exists.
"""

from collections.abc import Callable
from typing import Final

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.quantity import QuantityError, value
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key

BATCH: Final = 500
"""How many pods one sync creates at most; the next ones come with the sync that these cause."""

WAITING: Final = 1000
"""How many pods there may be beyond those that the nodes have room for, so that people see what waits."""


class PodRoom:
    """Counts the pods that have not ended, and the room on nodes. ``wake`` brings back an owner that got too little."""

    def __init__(self, access: Access, wake: Callable[[Key], None]) -> None:
        self._access = access
        self._wake = wake
        self._living = 0
        self._short: dict[Key, None] = {}

    def follow(self) -> Callable[[], None]:
        """Begin to count (the pods that are there come as :meth:`note`); gives the function that ends it."""
        self._living = 0
        self._short.clear()
        return self._access.subscribe("nodes", self._on_node)

    def note(self, change: Change) -> None:
        """Take account of a change of a pod."""
        before = change.old is not None and _is_living(change.old)
        after = change.type != "DELETED" and _is_living(change.obj)
        self._living += after - before
        if before and not after:
            self._wake_all()

    def grant(self, key: Key, wanted: int) -> int:
        """How many of the ``wanted`` pods an owner may create now; if there is too little room, it is woken later."""
        asked = min(wanted, BATCH)
        if self._living + asked <= WAITING:
            return asked
        room = max(0, WAITING + self._capacity() - self._living)
        if room < asked:
            self._short[key] = None
        return min(asked, room)

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
    """For how many pods a node has room."""
    try:
        return value(str(((node.get("status") or {}).get("allocatable") or {}).get("pods", "0")))
    except QuantityError:
        # A client has written a status of its own; such a node takes no pods.
        return 0
