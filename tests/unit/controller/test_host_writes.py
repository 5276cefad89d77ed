"""Writes on the host: what is sent for each step, and what its answer does to the caches."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.host_writes import HostWriter
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, RevisionMetadata, Stored, StoredRevision
from uniteddeployment.kube import errors
from uniteddeployment.kube.resource import CONTROLLERREVISIONS, Resource
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
TYPES = {UNITED_DEPLOYMENTS: Stored, CONTROLLERREVISIONS: StoredRevision}
OWNER = {
    "apiVersion": names.API_VERSION,
    "kind": names.UNITED_DEPLOYMENT_KIND,
    "name": "web",
    "uid": "uid-web",
    "controller": True,
    "blockOwnerDeletion": False,
}
CREATE = CreateRevision(
    APP.revision_name, 3, APP.hash, APP.template_hash, {"a": "hash"}, APP.revision_data, "for the test", cause="why"
)


class Server:
    """The host's API server: it notes writes, and fails chosen ones."""

    def __init__(self, **fails: errors.KubeError) -> None:
        self.fails = fails
        self.sent: list[tuple[str, str, Any]] = []
        self.live = Stored(Metadata("web", "default", "uid-web", "8"))
        self.listed = [revision("9")]

    def _answer(self, verb: str, name: str, body: Any, resource: Resource, namespace: str) -> Any:
        assert namespace == "default"
        self.sent.append((verb, name, body))
        if verb in self.fails:
            raise self.fails[verb]
        return {UNITED_DEPLOYMENTS: self.live, CONTROLLERREVISIONS: revision("9")}[resource]

    async def merge_patch(self, resource: Resource, name: str, patch: Any, type_: Any, *, namespace: str) -> Any:
        assert type_ is TYPES[resource]
        return self._answer("patch", name, patch, resource, namespace)

    async def create(self, resource: Resource, body: Any, type_: Any, *, namespace: str) -> Any:
        assert type_ is TYPES[resource]
        return self._answer("create", body["metadata"]["name"], body, resource, namespace)

    async def get(self, resource: Resource, name: str, type_: Any, *, namespace: str) -> Any:
        assert type_ is TYPES[resource]
        return self._answer("get", name, None, resource, namespace)

    async def delete(self, resource: Resource, name: str, *, namespace: str) -> None:
        self._answer("delete", name, None, resource, namespace)

    async def list_all(self, resource: Resource, type_: Any, *, label_selector: str, namespace: str) -> Any:
        assert type_ is TYPES[resource]
        self._answer("list", label_selector, None, resource, namespace)
        return self.listed


class Caches:
    """The host's caches: they note what they are given."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def get(self, key: Any) -> Stored:
        assert key == ("default", "web")
        return Stored(Metadata("web", "default", "uid-web", "7"))

    def merge_answer(self, _answer: Stored, written: str) -> None:
        self.log.append(written)

    def merge_revision(self, merged: StoredRevision) -> None:
        self.log.append(merged.metadata.resource_version)

    def drop_revision(self, key: Any, name: str) -> None:
        assert key == ("default", "web")
        self.log.append(f"drop {name}")

    def orphaning_was_checked(self, uid: str) -> None:
        self.log.append(f"checked {uid}")


def revision(version: str) -> StoredRevision:
    return StoredRevision(RevisionMetadata(APP.revision_name, "default", "uid-r", version), 3)


async def written(step: Any, *, subject: Subject = SUBJECT, server: Server | None = None) -> tuple[Server, list[Any]]:
    server, caches = server or Server(), Caches()
    await HostWriter(server, caches).write(subject, step)  # type: ignore[arg-type]  # stand-ins
    return server, caches.log


def guard(finalizers: list[str] | None) -> dict[str, Any]:
    return {"metadata": {"uid": "uid-web", "finalizers": finalizers, "resourceVersion": "7"}}


async def test_the_finalizer_is_added_at_the_cached_version_of_that_very_object_only() -> None:
    """Others write the list as well, and it is replaced as a whole. A new object of this name has its own list."""
    subject = make.subject(APP, guarded=False)
    server, log = await written(AddFinalizer(), subject=subject)
    assert server.sent == [
        ("patch", "web", guard([names.FINALIZER])),
    ]
    assert log == ["finalizers"]


async def test_the_finalizers_of_others_stay_when_ours_is_removed() -> None:
    subject = replace(SUBJECT, finalizers=(OTHERS, names.FINALIZER))
    server, log = await written(RemoveFinalizer(), subject=subject)
    assert server.sent == [("patch", "web", guard([OTHERS]))]
    assert log == [], "the object may be gone: its watch event says so"


async def test_an_object_that_is_gone_needs_no_finalizer_removed() -> None:
    server, log = await written(RemoveFinalizer(), server=Server(patch=errors.NotFound(404)))
    assert server.sent == [("patch", "web", guard(None))]
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
    selector = "app.kubernetes.io/managed-by=uniteddeployment,uniteddeployment.io/name=web"
    assert server.sent == [("list", selector, None)]
    assert log == ["9", "checked uid-web"]


async def test_a_revision_has_the_template_its_hashes_and_its_owner() -> None:
    server, log = await written(CREATE)
    ((verb, name, body),) = server.sent
    assert (verb, name) == ("create", APP.revision_name)
    notes = body["metadata"].pop("annotations")
    body["data"] = msgspec.json.decode(body["data"])
    assert msgspec.json.decode(notes.pop(names.ANNOTATION_SUBSET_REVISIONS)) == {"a": "hash"}
    assert notes == {names.ANNOTATION_TEMPLATE_REVISION: APP.template_hash, names.ANNOTATION_CHANGE_CAUSE: "why"}
    assert body == {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": APP.revision_name,
            "namespace": "default",
            "labels": {
                names.LABEL_MANAGED_BY: names.MANAGER,
                names.LABEL_NAME: "web",
                names.LABEL_REVISION: APP.hash,
            },
            "ownerReferences": [OWNER],
        },
        "data": {"template": APP.pod_template, "subsets": ["member-1", "member-2", "member-3"]},
        "revision": 3,
    }
    assert log == ["9"]


async def test_a_revision_without_patches_and_without_a_cause_has_no_empty_annotations() -> None:
    server, _ = await written(replace(CREATE, patched={}, cause=""))
    assert server.sent[0][2]["metadata"]["annotations"] == {names.ANNOTATION_TEMPLATE_REVISION: APP.template_hash}


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
    assert server.sent[1] == ("patch", "r", {"metadata": {"ownerReferences": [OWNER]}})
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
    server, log = await written(DeleteRevision("r", "for the test"), server=Server(**fails))
    assert server.sent == [("delete", "r", None)]
    assert log == ["drop r"]
