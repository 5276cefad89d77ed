"""The host's own objects: UnitedDeployments and revisions, from watches and from the answers to our own writes.

The watch event that follows an answer changes nothing in the cache, so it queues no key (I3). So if an answer shows a
change by somebody else as well, the key is queued when the answer comes.
"""

from collections.abc import Callable, Collection
from typing import Any, Literal

from uniteddeployment.controller.objects import (
    ORPHAN_FINALIZER,
    REVISION_SELECTOR,
    UNITED_DEPLOYMENTS,
    Stored,
    StoredRevision,
)
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.index import Index
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.observed import RevisionRecord
from uniteddeployment_api import names

Key = tuple[str, str]
"""(namespace, name) of a UnitedDeployment"""
LabelKey = tuple[str, str]
"""(namespace, value of the name label)"""
Part = Literal["status", "finalizers", "annotations"]
"""A part of a UnitedDeployment that we write."""


class Host:
    """The caches of the host's own objects, and the reflectors that fill them.

    ``changed(key, by_user)`` is called for each change that somebody else made.
    """

    def __init__(self, client: Client, changed: Callable[[Key, bool], None], namespace: str | None = None) -> None:
        self._changed = changed
        self._by_label: Index[LabelKey, Stored] = Index(_label_of_deployment)
        self._by_namespace: Index[str, Stored] = Index(lambda stored: stored.metadata.namespace)
        self._revisions_of: Index[LabelKey, StoredRevision] = Index(_label_of_revision)
        self._deployments: Cache[Stored] = Cache(self._deployment_changed, indexes=(self._by_label, self._by_namespace))
        self._revisions: Cache[StoredRevision] = Cache(self._revision_changed, indexes=(self._revisions_of,))
        self._orphaning: set[str] = set()
        """The uids of those whose deletion with ``--cascade=orphan`` was seen."""
        self._checked: set[str] = set()
        """The uids of those whose revisions were read from the API server since their deletion."""
        self.deployments = Reflector(
            client,
            UNITED_DEPLOYMENTS,
            Stored,
            self._deployments,
            on_seen=self._note_orphaning,
            namespace=namespace,
        )
        self.revisions = Reflector(
            client,
            CONTROLLERREVISIONS,
            StoredRevision,
            self._revisions,
            namespace=namespace,
            label_selector=REVISION_SELECTOR,
        )

    @property
    def synced(self) -> bool:
        return self.deployments.synced.is_set() and self.revisions.synced.is_set()

    def get(self, key: Key) -> Stored | None:
        """The UnitedDeployment with this namespace and name."""
        return self._deployments.get(key)

    def all(self) -> Collection[Stored]:
        """All UnitedDeployments."""
        return self._deployments.objects.values()

    def orphaning(self, uid: str) -> bool:
        """Whether its deletion asked for the workloads to stay, in any state that was ever seen."""
        return uid in self._orphaning

    def orphaning_checked(self, uid: str) -> bool:
        """Whether its revisions were read from the API server since its deletion."""
        return uid in self._checked

    def orphaning_was_checked(self, uid: str) -> None:
        """Its revisions in the cache are as new as its deletion."""
        self._checked.add(uid)

    def key_of(self, namespace: str, label: str) -> Key | None:
        """The UnitedDeployment that a value of the name label stands for."""
        return next(iter(self._by_label.keys((namespace, label))), None)

    def in_namespace(self, namespace: str) -> frozenset[Key]:
        """The UnitedDeployments of a namespace."""
        return frozenset(self._by_namespace.keys(namespace))

    def records(self, key: Key) -> tuple[RevisionRecord, ...]:
        """The revisions of an application, sorted by name."""
        revisions = self._revisions.select(self._revisions_of.keys((key[0], names.label_value(key[1]))))
        return tuple(record for revision in revisions if (record := revision.record()) is not None)

    def merge_answer(self, answer: Stored, written: Part) -> None:
        """Store the answer to a write of ours. If it also shows a change by somebody else, queue the key (I9).

        State of a deleted object with the same name is discarded.
        """
        before = self._deployments.get(answer.key)
        if before is None or before.metadata.uid != answer.metadata.uid:
            return
        self._note_orphaning(answer)
        if self._deployments.merge(answer) and _inputs(before, written) != _inputs(answer, written):
            self._changed(answer.key, before.metadata.generation != answer.metadata.generation)

    def merge_revision(self, revision: StoredRevision) -> None:
        """Store a revision from an answer, unless the cached copy is at least as new."""
        self._revisions.merge(revision)

    def drop_revision(self, key: Key, name: str) -> None:
        """A request has shown that the revision is gone."""
        self._revisions.discard((key[0], name))

    def _note_orphaning(self, stored: Stored) -> None:
        """The garbage collector removes its finalizer within milliseconds, so every state has to be examined."""
        if stored.metadata.deletion_timestamp is not None and ORPHAN_FINALIZER in stored.metadata.finalizers:
            self._orphaning.add(stored.metadata.uid)

    def _deployment_changed(self, old: Stored | None, new: Stored | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._orphaning.discard(old.metadata.uid)
            self._checked.discard(old.metadata.uid)
        if new is not None:
            self._changed(new.key, old is not None and old.metadata.generation != new.metadata.generation)
        elif old is not None:
            self._changed(old.key, True)

    def _revision_changed(self, old: StoredRevision | None, new: StoredRevision | None) -> None:
        revision = new or old
        key = self.key_of(*_label_of_revision(revision)) if revision is not None else None
        if key is not None:
            self._changed(key, False)


def _inputs(stored: Stored, written: Part) -> tuple[Any, ...]:
    """The parts of a UnitedDeployment that a plan reads, without the part that we wrote."""
    meta = stored.metadata
    return (
        meta.generation,
        meta.deletion_timestamp,
        None if written == "finalizers" else meta.finalizers,
        None if written == "annotations" else meta.annotations,
        None if written == "status" else bytes(stored.status),
    )


def _label_of_deployment(stored: Stored) -> LabelKey:
    return stored.metadata.namespace, names.label_value(stored.metadata.name)


def _label_of_revision(revision: StoredRevision) -> LabelKey:
    return revision.metadata.namespace, revision.metadata.labels.get(names.LABEL_NAME, "")
