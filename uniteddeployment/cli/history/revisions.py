"""The revisions of an application, with the pods that run each of them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import Raw, Struct

from uniteddeployment.controller.objects import FullRevision, RevisionMetadata, StoredRevision
from uniteddeployment.controller.revisions import checked
from uniteddeployment.planning.observed import RevisionData, RevisionRecord
from uniteddeployment.planning.stored import StoredStatus, StoredSubset


class Kept(Struct, rename="camel", frozen=True):
    """A ControllerRevision with its metadata and its data."""

    metadata: RevisionMetadata
    revision: int = 0
    data: Raw = Raw(b"{}")

    def record(self) -> RevisionRecord | None:
        """None for a ControllerRevision that does not belong to an application."""
        return StoredRevision(self.metadata, self.revision).record()

    def checked(self, record: RevisionRecord) -> tuple[RevisionData, str]:
        """The data, and why it cannot be used; the controller makes the same check."""
        data, problem = checked(record, FullRevision(self.data))
        return data, record.problem or problem


@dataclass(frozen=True, slots=True)
class Place:
    """The pods of one subset that run one revision."""

    subset: str
    cluster: str
    replicas: int
    ready: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A revision of an application."""

    record: RevisionRecord
    content: RevisionData
    created: str | None
    current: bool
    updated: bool
    places: tuple[Place, ...] = ()
    problem: str = ""
    """Why the revision cannot be used; ``content`` is empty then."""

    @property
    def markers(self) -> str:
        """``current``: the last revision that was rolled out completely. ``updated``: the one of the current spec.

        ``damaged``: its data is not what the controller wrote.
        """
        marks = (("current", self.current), ("updated", self.updated), ("damaged", bool(self.problem)))
        return ", ".join(word for word, holds in marks if holds)

    @property
    def images(self) -> list[str]:
        containers: Sequence[Mapping[str, Any]] = (self.content.template.get("spec") or {}).get("containers") or ()
        return [container.get("image", "") for container in containers]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "revision": self.record.number,
            "name": self.record.name,
            "created": self.created,
            "changeCause": self.record.cause,
            "current": self.current,
            "updated": self.updated,
            "problem": self.problem,
            "images": self.images,
            "subsets": [
                {
                    "name": place.subset,
                    "cluster": place.cluster,
                    "replicas": place.replicas,
                    "readyReplicas": place.ready,
                }
                for place in self.places
            ],
        }


def entries(status: StoredStatus, kept: Iterable[Kept]) -> tuple[Entry, ...]:
    """The revisions of an application that has this status, the newest last."""
    current, updated = status.current_revision or "", status.updated_revision or ""
    listed: list[Entry] = []
    for revision in kept:
        record = revision.record()
        if record is None:
            continue
        content, problem = revision.checked(record)
        created = revision.metadata.creation_timestamp
        is_current, is_updated = record.name == current, record.name == updated
        listed.append(Entry(record, content, created, is_current, is_updated, problem=problem))
    listed.sort(key=lambda entry: entry.record.number)
    places: dict[str, list[Place]] = {}
    for subset in status.subset_statuses or ():
        for entry, replicas, ready in _running(subset, listed):
            place = Place(subset.name, subset.cluster, replicas, ready)
            places.setdefault(entry.record.name, []).append(place)
    return tuple(replace(entry, places=tuple(places.get(entry.record.name, ()))) for entry in listed)


def _running(subset: StoredSubset, listed: Sequence[Entry]) -> list[tuple[Entry, int, int]]:
    """Each revision that the pods of a subset run, with the number of pods and of ready pods."""
    if subset.revisions:
        pairs = [
            (_of_hash(subset.name, count.revision, listed), count.replicas, count.ready_replicas)
            for count in subset.revisions
        ]
    else:
        new, new_ready = subset.updated_replicas, subset.updated_ready_replicas
        old, old_ready = subset.observed_replicas - new, subset.ready_replicas - new_ready
        pairs = [
            (next((entry for entry in listed if entry.current), None), old, old_ready),
            (next((entry for entry in listed if entry.updated), None), new, new_ready),
        ]
    return [(entry, replicas, max(ready, 0)) for entry, replicas, ready in pairs if entry is not None and replicas > 0]


def _of_hash(subset: str, revision: str, listed: Sequence[Entry]) -> Entry | None:
    """The entry for a revision that pods of a subset have.

    Several entries have the same revision of a subset if they differ in other subsets only. Then the updated one is
    returned, else the current one, else the newest.
    """
    same = [entry for entry in listed if revision.endswith(entry.record.of_subset(subset))]
    return max(same, key=lambda entry: (entry.updated, entry.current, entry.record.number), default=None)
