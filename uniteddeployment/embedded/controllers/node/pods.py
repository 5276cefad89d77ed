"""An index of pods by node, for the node controllers."""

from collections import defaultdict
from collections.abc import Callable

from uniteddeployment.embedded.access import Access, Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Key


class PodsByNode:
    """Keys of assigned pods by node, updated from changes.

    ``on_change`` is called with each pod that is new on its node or changed; it must not write.
    """

    def __init__(self, on_change: Callable[[Change], None] | None = None) -> None:
        self._keys: dict[str, dict[Key, None]] = defaultdict(dict)
        self._on_change = on_change

    def follow(self, access: Access) -> Callable[[], None]:
        """Index existing pods and follow changes; return a function that stops."""
        self._keys.clear()
        for pod in access.list("pods"):
            self._put(pod)
        return access.subscribe("pods", self._on_pod)

    def of(self, node: str) -> list[Key]:
        """The pods of one node, in the order of their arrival."""
        return list(self._keys.get(node, ()))

    def nodes(self) -> list[str]:
        """Nodes that have pods, with or without a Node object."""
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
        if self._on_change is not None:
            self._on_change(change)

    def _put(self, pod: Obj) -> None:
        node = pod["spec"].get("nodeName")
        if node:
            self._keys[node][pod["metadata"]["namespace"], pod["metadata"]["name"]] = None
