"""Indexes between labels and selectors, so that a change of one object is not compared with all others.

Both return candidates: callers must still evaluate the whole selector.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj

Pair = tuple[str, str, str]
"""(namespace, label, value)"""


def labels_of(obj: Obj) -> dict[str, str]:
    """The labels of an object; empty if it has none."""
    return obj["metadata"].get("labels") or {}


class LabelIndex:
    """Names of objects by each of their labels. Feed it every :class:`Change` of a resource, or of the objects to
    index.
    """

    def __init__(self, present: Iterable[Obj] = ()) -> None:
        self._names: dict[Pair, dict[str, None]] = {}
        for obj in present:
            self._add(obj)

    def note(self, change: Change) -> None:
        """Apply a change of a resource whose objects are all in the index."""
        if change.type == "DELETED":
            self.replace(change.old or change.obj, None)
        else:
            self.replace(change.old, change.obj)

    def replace(self, old: Obj | None, new: Obj | None) -> None:
        """Replace ``old``, which is in the index, by ``new``; None means no object."""
        if old is not None and new is not None and labels_of(old) == labels_of(new):
            return
        if old is not None:
            self._remove(old)
        if new is not None:
            self._add(new)

    def find(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """The names, sorted, of the objects with the rarest of these labels. At least one label is required."""
        buckets = [self._names.get((namespace, key, value), {}) for key, value in labels.items()]
        rarest = min(buckets, key=len)
        return sorted(rarest)

    def _add(self, obj: Obj) -> None:
        metadata = obj["metadata"]
        for key, value in labels_of(obj).items():
            self._names.setdefault((metadata["namespace"], key, value), {})[metadata["name"]] = None

    def _remove(self, obj: Obj) -> None:
        metadata = obj["metadata"]
        for key, value in labels_of(obj).items():
            pair = (metadata["namespace"], key, value)
            names = self._names.get(pair, {})
            names.pop(metadata["name"], None)
            if not names:
                self._names.pop(pair, None)


class SelectorIndex:
    """Names of the objects whose selector may match given labels, indexed by one label of each selector."""

    def __init__(self) -> None:
        self._names: dict[Pair, dict[str, None]] = {}
        self._places: dict[tuple[str, str], Pair] = {}

    def put(self, obj: Obj, match_labels: Mapping[str, Any]) -> None:
        """Index the equality requirements of a selector; a selector without any is a candidate for all labels."""
        self.drop(obj)
        metadata = obj["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        label, value = min(match_labels.items(), default=("", ""))
        self._places[namespace, name] = pair = (namespace, label, value)
        self._names.setdefault(pair, {})[name] = None

    def drop(self, obj: Obj) -> None:
        """Remove an object."""
        metadata = obj["metadata"]
        pair = self._places.pop((metadata["namespace"], metadata["name"]), None)
        if pair is not None:
            self._names[pair].pop(metadata["name"])
            if not self._names[pair]:
                del self._names[pair]

    def candidates(self, namespace: str, *labels: Mapping[str, str]) -> list[str]:
        """The names, sorted, of the objects whose selector may match one of these sets of labels."""
        pairs = {(namespace, key, value) for some in labels for key, value in some.items()}
        pairs.add((namespace, "", ""))
        return sorted({name for pair in pairs for name in self._names.get(pair, ())})
