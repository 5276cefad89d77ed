"""Remembers which objects a watch has shown to be gone, so that a late answer to a write does not bring them back.

An object can come back with the same uid: a watch with a label selector says DELETED when the label is removed, and
ADDED when it is there again. So it is the resource version that decides which states are older than the deletion.
"""

from cachetools import LRUCache

from uniteddeployment.kube.meta import Identified

_REMEMBERED = 1000
_DIGITS = 20
"""The digits of the largest number that API servers count with."""


class Tombstones:
    """The last objects that were seen to be gone, with the resource version at which they were."""

    def __init__(self, size: int = _REMEMBERED) -> None:
        self._versions: LRUCache[str, str] = LRUCache(size)

    def add(self, gone: Identified) -> None:
        """``gone`` has the resource version of its deletion."""
        self._versions[gone.uid] = gone.resource_version

    def discard(self, back: Identified) -> None:
        """A watch has shown the object again."""
        self._versions.pop(back.uid, None)

    def cover(self, state: Identified) -> bool:
        """Whether this state of an object is from before it was seen to be gone."""
        version = self._versions.get(state.uid)
        return version is not None and not newer(state.resource_version, version)


def newer(version: str, other: str) -> bool:
    """Whether a resource version is later than another of the same resource (KEP-5504). Unknown when not numbers."""
    return _is_number(version) and _is_number(other) and int(version) > int(other)


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdecimal() and len(version) <= _DIGITS
