"""Writes on the host: what is sent for each step, and what its answer does to the caches."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.host_writes import HostWriter
from uniteddeployment.controller.objects import RevisionMetadata, Stored, StoredRevision
from uniteddeployment.kube import errors
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.steps import (
    AddFinalizer,
    CheckOrphaning,
    CreateRevision,
    DeleteRevision,
    NoteCause,
    NoteOrphaning,
    OwnRevision,
    RemoveFinalizer,
    RenumberRevision,
)
from uniteddeployment_api import names

APP = make.application(make.manifest())
SUBJECT = make.subject(APP)
OTHERS = "somebody/else"
CREATE = CreateRevision(
    APP.revision_name, 3, APP.hash, APP.template_hash, {"a": "hash"}, APP.revision_data, "for the test", cause="why"
)


class Server:
    """The host's API server: it notes writes, and fails those that it is told to."""

    def __init__(self, **fails: errors.KubeError) -> None:
        self.fails = fails
        self.sent: list[tuple[str, str, Any]] = []
        self.live = Stored(Metadata("web", "default", "uid-web", "8"))
        self.listed = [revision("9")]

    def _answer(self, verb: str, name: str, body: Any, type_: Any) -> Any:
        self.sent.append((verb, name, body))
        if verb in self.fails:
            raise self.fails[verb]
        return self.live if type_ is Stored else revision("9")

    async def merge_patch(self, _resource: Any, name: str, patch: Any, type_: Any, **_: Any) -> Any:
        return self._answer("patch", name, patch, type_)

    async def create(self, _resource: Any, body: Any, type_: Any, **_: Any) -> Any:
        return self._answer("create", body["metadata"]["name"], body, type_)

    async def get(self, _resource: Any, name: str, type_: Any, **_: Any) -> Any:
        return self._answer("get", name, None, type_)

    async def delete(self, _resource: Any, name: str, **_: Any) -> None:
        self._answer("delete", name, None, None)

    async def list_all(self, _resource: Any, _type: Any, *, label_selector: str, **_: Any) -> Any:
        self.sent.append(("list", label_selector, None))
        return self.listed


class Caches:
    """The host's caches: they note what they are given."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def get(self, _key: Any) -> Stored:
        return Stored(Metadata("web", "default", "uid-web", "7"))

    def merge_answer(self, _answer: Stored, written: str) -> None:
        self.log.append(written)

    def merge_revision(self, merged: StoredRevision) -> None:
        self.log.append(merged.metadata.resource_version)

    def drop_revision(self, _key: Any, name: str) -> None:
        self.log.append(f"drop {name}")

    def orphaning_was_checked(self, uid: str) -> None:
        self.log.append(f"checked {uid}")


def revision(version: str) -> StoredRevision:
    return StoredRevision(RevisionMetadata(APP.revision_name, "default", "uid-r", version), 3)


async def written(step: Any, *, subject: Subject = SUBJECT, server: Server | None = None) -> tuple[Server, list[Any]]:
    server, caches = server or Server(), Caches()
    await HostWriter(server, caches).write(subject, step)  # type: ignore[arg-type]  # stand-ins
    return server, caches.log


async def test_the_finalizer_is_added_at_the_cached_version_only() -> None:
    """Others write the list as well, and it is replaced as a whole."""
    subject = make.subject(APP, guarded=False)
    server, log = await written(AddFinalizer(), subject=subject)
    assert server.sent == [
        ("patch", "web", {"metadata": {"finalizers": [names.FINALIZER], "resourceVersion": "7"}}),
    ]
    assert log == ["finalizers"]


async def test_the_finalizers_of_others_stay_when_ours_is_removed() -> None:
    subject = replace(SUBJECT, finalizers=(OTHERS, names.FINALIZER))
    server, log = await written(RemoveFinalizer(), subject=subject)
    assert server.sent[0][2]["metadata"]["finalizers"] == [OTHERS]
    assert log == [], "the object may be gone: its watch event says so"


async def test_an_object_that_is_gone_needs_no_finalizer_removed() -> None:
    _, log = await written(RemoveFinalizer(), server=Server(patch=errors.NotFound(404)))
    assert log == []


async def test_an_object_that_is_gone_cannot_be_guarded() -> None:
    """Nothing may be created in a member for it (I9)."""
    with pytest.raises(errors.NotFound):
        await written(AddFinalizer(), server=Server(patch=errors.NotFound(404)))


async def test_orphaning_is_noted_on_that_very_object() -> None:
    """I13"""
    server, log = await written(NoteOrphaning())
    assert server.sent[0][2] == {"metadata": {"uid": "uid-web", "annotations": {names.ANNOTATION_ORPHAN: names.ORPHAN}}}
    assert log == ["annotations"]


async def test_the_revisions_are_read_before_orphaning_counts_as_checked() -> None:
    server, log = await written(CheckOrphaning())
    assert [verb for verb, *_ in server.sent] == ["list"]
    assert log == ["9", "checked uid-web"]


async def test_a_revision_has_the_template_its_hashes_and_its_owner() -> None:
    server, log = await written(CREATE)
    ((verb, name, body),) = server.sent
    assert (verb, name, body["revision"]) == ("create", APP.revision_name, 3)
    assert body["data"]["template"] == APP.pod_template
    assert body["metadata"]["labels"][names.LABEL_REVISION] == APP.hash
    notes = body["metadata"]["annotations"]
    assert notes[names.ANNOTATION_TEMPLATE_REVISION] == APP.template_hash
    assert msgspec.json.decode(notes[names.ANNOTATION_SUBSET_REVISIONS]) == {"a": "hash"}
    assert notes[names.ANNOTATION_CHANGE_CAUSE] == "why"
    assert [owner["uid"] for owner in body["metadata"]["ownerReferences"]] == ["uid-web"]
    assert log == ["9"]


async def test_a_revision_that_exists_already_is_read_instead() -> None:
    """I9: an earlier attempt stored it, and its answer was lost. The next plan has to see it."""
    server, log = await written(CREATE, server=Server(create=errors.AlreadyExists(409)))
    assert [verb for verb, *_ in server.sent] == ["create", "get"]
    assert log == ["9"]


@pytest.mark.parametrize(
    ("step", "patch"),
    [
        (RenumberRevision("r", 4, "for the test"), {"revision": 4}),
        (NoteCause("r", "why"), {"metadata": {"annotations": {names.ANNOTATION_CHANGE_CAUSE: "why"}}}),
    ],
)
async def test_changes_of_a_revision_go_into_the_cache(step: Any, patch: dict[str, Any]) -> None:
    server, log = await written(step)
    assert server.sent == [("patch", "r", patch)]
    assert log == ["9"]


async def test_a_lost_owner_reference_is_put_back() -> None:
    server, log = await written(OwnRevision("r"))
    assert [verb for verb, *_ in server.sent] == ["get", "patch"]
    assert server.sent[1][2]["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert log == ["9"]


@pytest.mark.parametrize(
    "live",
    [
        Stored(Metadata("web", "default", "uid-web", "8", deletion_timestamp="2026-01-01T00:00:00Z")),
        Stored(Metadata("web", "default", "uid-other", "8")),
    ],
    ids=["being deleted", "another object"],
)
async def test_a_missing_owner_reference_of_a_deletion_is_left_missing(live: Stored) -> None:
    """I7: it is the sign of ``--cascade=orphan``, so the workloads have to stay."""
    server = Server()
    server.live = live
    await written(OwnRevision("r"), server=server)
    assert [verb for verb, *_ in server.sent] == ["get"]


@pytest.mark.parametrize("fails", [{}, {"delete": errors.NotFound(404)}], ids=["deleted", "already gone"])
async def test_a_deleted_revision_leaves_the_cache_at_once(fails: dict[str, errors.KubeError]) -> None:
    _, log = await written(DeleteRevision("r", "for the test"), server=Server(**fails))
    assert log == ["drop r"]
