"""What the host shows: UnitedDeployments and revisions, from watches and from the answers to our own writes.

As with members, the newest state by resource version wins: an answer is as good as the watch event that follows it,
and that event then queues no key (I3). So whatever an answer shows beside our own write has to queue the key itself.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from uniteddeployment.controller.objects import (
    ORPHAN_FINALIZER,
    REVISION_SELECTOR,
    UNITED_DEPLOYMENTS,
    Stored,
    StoredRevision,
)
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.kube.tombstones import Tombstones, newer
from uniteddeployment.planning.observed import Metadata, RevisionRecord
from uniteddeployment_api import names

Key = tuple[str, str]
"""(namespace, name) of a UnitedDeployment"""
Part = Literal["status", "finalizers", "annotations"]
"""A part of a UnitedDeployment that we write."""


class Host:
    """The caches of the host's own objects. ``changed(key, by_user)`` is called for each change that is news."""

    def __init__(self, client: Client, changed: Callable[[Key, bool], None], namespace: str | None = None) -> None:
        self._changed = changed
        self._deployments: dict[Key, Stored] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._revisions: dict[tuple[str, str], dict[str, StoredRevision]] = {}
        self._gone = Tombstones()
        self._orphaning: set[str] = set()
        """The uids of those that were seen being deleted with ``--cascade=orphan``."""
        self._checked: set[str] = set()
        """The uids of those whose revisions were read from the API server since they are being deleted."""
        self.deployments = Reflector(
            client,
            UNITED_DEPLOYMENTS,
            Stored,
            on_change=self._deployment_changed,
            on_seen=self._note_orphaning,
            namespace=namespace,
        )
        self.revisions = Reflector(
            client,
            CONTROLLERREVISIONS,
            StoredRevision,
            on_change=self._revision_changed,
            namespace=namespace,
            label_selector=REVISION_SELECTOR,
        )

    @property
    def synced(self) -> bool:
        return self.deployments.synced.is_set() and self.revisions.synced.is_set()

    def get(self, key: Key) -> Stored | None:
        return self._deployments.get(key)

    def orphaning(self, uid: str) -> bool:
        """Whether its deletion asked for the workloads to stay, by any state of it that was ever seen."""
        return uid in self._orphaning

    def orphaning_checked(self, uid: str) -> bool:
        """Whether its revisions were read from the API server since it is being deleted."""
        return uid in self._checked

    def orphaning_was_checked(self, uid: str) -> None:
        """Its revisions in the cache are as new as its deletion."""
        self._checked.add(uid)

    def keys(self) -> Iterable[Key]:
        return self._deployments.keys()

    def key_of(self, namespace: str, label: str) -> Key | None:
        """The UnitedDeployment that a label value stands for."""
        name = self._labels.get((namespace, label))
        return (namespace, name) if name is not None else None

    def records(self, key: Key) -> tuple[RevisionRecord, ...]:
        found = self._revisions.get((key[0], names.label_value(key[1])), {})
        return tuple(record for name in sorted(found) if (record := found[name].record()) is not None)

    def keep(self, stored: Stored) -> bool:
        """Put it in unless what is here is as new; says whether it did."""
        self._note_orphaning(stored)
        known = self._deployments.get(stored.key)
        if known is not None and known.metadata.as_new_as(stored.metadata):
            return False
        self._deployments[stored.key] = stored
        self._labels[stored.metadata.namespace, names.label_value(stored.metadata.name)] = stored.metadata.name
        return True

    def keep_answer(self, answer: Stored, written: Part) -> None:
        """Put in the answer to a write of ours, and queue the key if it also shows a change by somebody else (I9).

        An object that the watch has shown to be gone stays gone.
        """
        before = self._deployments.get(answer.key)
        if before is None or before.metadata.uid != answer.metadata.uid:
            return
        if self.keep(answer) and _inputs(before, written) != _inputs(answer, written):
            self._changed(answer.key, before.metadata.generation != answer.metadata.generation)

    def keep_revision(self, revision: StoredRevision) -> bool:
        """Put it in unless what is here is as new, or it is known to be gone; says whether it did."""
        if self._gone.cover(revision.metadata):
            return False
        known = self._revisions.setdefault(_label_key(revision.metadata), {})
        here = known.get(revision.metadata.name)
        if here is not None and here.metadata.as_new_as(revision.metadata):
            return False
        known[revision.metadata.name] = revision
        return True

    def drop_revision(self, key: Key, name: str) -> None:
        self._revisions.get((key[0], names.label_value(key[1])), {}).pop(name, None)

    def _note_orphaning(self, stored: Stored) -> None:
        """The garbage collector removes its finalizer within milliseconds, so no state may be overlooked."""
        if stored.metadata.deletion_timestamp is not None and ORPHAN_FINALIZER in stored.metadata.finalizers:
            self._orphaning.add(stored.metadata.uid)

    def _deployment_changed(self, old: Stored | None, new: Stored | None) -> None:
        if new is not None:
            before = self._deployments.get(new.key)
            if self.keep(new):
                edited = before is None or before.metadata.generation != new.metadata.generation
                self._changed(new.key, edited and old is not None)
        elif old is not None:
            self._orphaning.discard(old.metadata.uid)
            self._checked.discard(old.metadata.uid)
            known = self._deployments.get(old.key)
            if known is not None and known.metadata.uid == old.metadata.uid:
                del self._deployments[old.key]
                self._labels.pop((old.metadata.namespace, names.label_value(old.metadata.name)), None)
            self._changed(old.key, True)

    def _revision_changed(self, old: StoredRevision | None, new: StoredRevision | None) -> None:
        revision = new or old
        if revision is None:
            return
        label = _label_key(revision.metadata)
        if new is not None:
            if not self.keep_revision(new):
                return
        else:
            self._gone.add(revision.metadata)
            known = self._revisions.get(label, {})
            here = known.get(revision.metadata.name)
            if here is None or here.metadata.uid != revision.metadata.uid:
                return
            if newer(here.metadata.resource_version, revision.metadata.resource_version):
                return
            del known[revision.metadata.name]
            if not known:
                del self._revisions[label]
        key = self.key_of(*label)
        if key is not None:
            self._changed(key, False)


def _inputs(stored: Stored, written: Part) -> tuple[Any, ...]:
    """What a plan reads of a UnitedDeployment, without the part that we have written ourselves."""
    meta = stored.metadata
    return (
        meta.generation,
        meta.deletion_timestamp,
        None if written == "finalizers" else meta.finalizers,
        None if written == "annotations" else meta.annotations,
        None if written == "status" else bytes(stored.status),
    )


def _label_key(metadata: Metadata) -> tuple[str, str]:
    return metadata.namespace, metadata.labels.get(names.LABEL_NAME, "")
