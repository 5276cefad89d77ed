"""Which pods each node has: an index for the controllers that look after nodes."""

from collections import defaultdict
from collections.abc import Callable

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key


class PodsByNode:
    """Keys of assigned pods by node, kept up to date by changes.

    ``noticed`` hears of each pod that is new on its node or changed there; it must not write.
    """

    def __init__(self, noticed: Callable[[Change], None] | None = None) -> None:
        self._keys: dict[str, dict[Key, None]] = defaultdict(dict)
        self._noticed = noticed

    def follow(self, access: Access) -> Callable[[], None]:
        """Start from what is there; gives the function that ends it."""
        self._keys.clear()
        for pod in access.list("pods"):
            self._put(pod)
        return access.subscribe("pods", self._on_pod)

    def of(self, node: str) -> list[Key]:
        """The pods of one node, in the order in which they came."""
        return list(self._keys.get(node, ()))

    def nodes(self) -> list[str]:
        """Nodes that have pods, whether the Node objects exist or not."""
        return list(self._keys)

    def _on_pod(self, change: Change) -> None:
        node = change.obj["spec"].get("nodeName")
        if not node:
            return
        if change.type == "DELETED":
            pods = self._keys[node]
            pods.pop((change.obj["metadata"]["namespace"], change.obj["metadata"]["name"]), None)
            if not pods:
                del self._keys[node]
        else:
            self._put(change.obj)
        if self._noticed is not None:
            self._noticed(change)

    def _put(self, pod: Obj) -> None:
        node = pod["spec"].get("nodeName")
        if node:
            self._keys[node][pod["metadata"]["namespace"], pod["metadata"]["name"]] = None
