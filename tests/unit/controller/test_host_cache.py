"""The caches of the host's own objects: which keys are queued for events and answers, and what is kept (I9)."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from uniteddeployment.controller.host import Host, Part
from uniteddeployment.controller.objects import RevisionMetadata, Stored, StoredRevision
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.watch import ADDED, DELETED, MODIFIED, Change
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names

KEY = ("default", "web")


def stored(version: int, *, status: bytes = b"{}", uid: str = "uid-1", **meta: Any) -> Stored:
    return Stored(Metadata("web", "default", uid, str(version), **{"generation": 1, **meta}), status=Raw(status))


def revision(version: int, uid: str = "uid-r") -> StoredRevision:
    labels = {names.LABEL_NAME: "web"}
    notes = {names.ANNOTATION_TEMPLATE_REVISION: "abc"}
    return StoredRevision(
        RevisionMetadata("web-abc", "default", uid, str(version), labels=labels, annotations=notes), 1
    )


class Cache(Host):
    """A cache that notes which keys it queues, and whether for a user's edit."""

    def __init__(self) -> None:
        self.queued: list[tuple[tuple[str, str], bool]] = []
        unused: Client = None  # type: ignore[assignment]  # nothing is requested here
        super().__init__(Client(unused, "host"), lambda key, user: self.queued.append((key, user)))  # type: ignore[arg-type]

    def sees(self, kind: str, *states: Stored) -> None:
        """Events of the watch of UnitedDeployments."""
        self.deployments.cache.take([Change(kind, state) for state in states])

    def sees_revisions(self, kind: str, *states: StoredRevision) -> None:
        self.revisions.cache.take([Change(kind, state) for state in states])


@pytest.fixture
def cache() -> Cache:
    found = Cache()
    found.sees(ADDED, stored(5))
    found.queued.clear()
    return found


CHANGES: dict[str, dict[str, Any]] = {
    "generation": {"generation": 2},
    "deletion": {"deletion_timestamp": "2026-01-01T00:00:00Z"},
    "finalizers": {"finalizers": ("somebody/else",)},
    "annotations": {"annotations": {names.ANNOTATION_RECREATE: "true"}},
    "status": {"status": b'{"replicas":1}'},
}


@pytest.mark.parametrize("written", ["status", "finalizers", "annotations"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_answer_queues_the_key_for_all_that_it_shows_beside_our_own_write(
    cache: Cache, written: Part, change: str
) -> None:
    """I9, and I3: our own write alone queues nothing."""
    cache.merge_answer(stored(6, **CHANGES[change]), written)
    assert cache.queued == ([] if change == written else [(KEY, change == "generation")])
    cache.queued.clear()
    cache.sees(MODIFIED, stored(6, **CHANGES[change]))
    assert cache.queued == [], "its watch event shows nothing new"


def test_an_answer_does_not_bring_back_an_object_that_is_gone(cache: Cache) -> None:
    cache.sees(DELETED, stored(7))
    cache.merge_answer(stored(6), "status")
    assert cache.get(KEY) is None


def test_an_answer_about_a_namesake_that_is_gone_changes_nothing(cache: Cache) -> None:
    cache.sees(DELETED, stored(7))
    cache.sees(ADDED, stored(9, uid="uid-2"))
    cache.merge_answer(stored(8, generation=3), "status")
    found = cache.get(KEY)
    assert found is not None
    assert found.metadata.uid == "uid-2"


def test_an_answer_about_a_revision_from_before_its_deletion_does_not_bring_it_back(cache: Cache) -> None:
    cache.sees_revisions(ADDED, revision(5))
    cache.sees_revisions(DELETED, revision(7))
    cache.merge_revision(revision(6))
    assert cache.records(KEY) == ()


def test_a_revision_that_was_made_again_outlives_the_late_event_of_its_deletion(cache: Cache) -> None:
    cache.sees_revisions(ADDED, revision(5))
    cache.merge_revision(revision(8, uid="uid-new"))
    cache.sees_revisions(DELETED, revision(7))
    assert len(cache.records(KEY)) == 1


def test_a_status_is_kept_as_it_was_answered(cache: Cache) -> None:
    cache.merge_answer(stored(6, status=b'{"replicas":3}'), "status")
    found = cache.get(KEY)
    assert found is not None
    assert msgspec.json.decode(found.status) == {"replicas": 3}


@pytest.mark.parametrize(("generation", "by_user"), [(1, False), (2, True)])
def test_an_edit_of_the_spec_goes_before_other_changes(cache: Cache, generation: int, by_user: bool) -> None:
    cache.sees(MODIFIED, stored(6, generation=generation))
    assert cache.queued == [(KEY, by_user)]


def test_what_a_start_finds_is_no_edit_and_a_deletion_is_one(cache: Cache) -> None:
    cache.sees(DELETED, stored(6))
    cache.sees(ADDED, stored(7, uid="uid-2"))
    assert cache.queued == [(KEY, True), (KEY, False)]


def test_a_revision_queues_the_key_of_its_application(cache: Cache) -> None:
    cache.sees_revisions(ADDED, revision(6))
    cache.sees_revisions(DELETED, revision(7))
    assert cache.queued == [(KEY, False)] * 2
    cache.sees(DELETED, stored(8))
    cache.queued.clear()
    cache.sees_revisions(ADDED, revision(9, uid="uid-new"))
    assert cache.queued == [], "nobody is left to plan for"


def test_a_name_that_is_too_long_for_a_label_is_found_by_its_shortened_value(cache: Cache) -> None:
    name = "x" * 100
    cache.sees(ADDED, Stored(Metadata(name, "default", "uid-long", "9")))
    assert cache.key_of("default", names.label_value(name)) == ("default", name)
    assert cache.key_of("default", name) is None


def test_a_revision_that_a_request_has_shown_to_be_gone_is_not_listed(cache: Cache) -> None:
    cache.sees_revisions(ADDED, revision(6))
    assert len(cache.records(KEY)) == 1
    cache.drop_revision(KEY, "web-abc")
    assert cache.records(KEY) == ()


def test_an_answer_that_is_older_than_the_cache_queues_nothing(cache: Cache) -> None:
    """I3: what it shows differs because it is outdated."""
    cache.sees(MODIFIED, stored(9, generation=2))
    cache.queued.clear()
    cache.merge_answer(stored(8, generation=1), "status")
    assert cache.queued == []
