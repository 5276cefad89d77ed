"""What each step of a plan asks a member for, and what is kept of the answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.member_namespaces import LabelsUnknown, NamespaceCreator, NamespaceRequired
from uniteddeployment.controller.member_writes import MemberWriter, Written
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import NotOurs, NotReplaceable
from uniteddeployment.fleet.cache import MemberCache
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.kube import errors
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.meta import Scale as Scaled
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.planning.observed import Workload, WorkloadRef
from uniteddeployment.planning.steps import Apply, Delete, DeletePod, MemberStep, Reclaim, Release, Scale
from uniteddeployment_api import names

APP = make.application(make.manifest())
SUBJECT = make.subject(APP)
NAME = "web-member-1"
HOST_LABELS = {"pod-security.kubernetes.io/enforce": "restricted"}
REF = WorkloadRef("near", "member-1", "StatefulSet", NAME)
NOTED = REF.key
PLACE = ("statefulsets", "default")
"""Where all requests about the workload go."""
CONFLICT = errors.Conflict(409, "Conflict", "it has changed")
GONE = errors.NotFound(404, "NotFound", "it is gone", {"kind": "statefulsets"})
NO_NAMESPACE = errors.NotFound(404, "NotFound", "no namespace", {"kind": "namespaces"})


def stored(version: int = 5, generation: int = 1, *, replicas: int = 4, uid: str = "uid-1", **meta: Any) -> Workload:
    found = make.stateful_set(APP, "member-1", replicas=replicas, generation=generation)
    changed = {"uid": uid, "resource_version": str(version), **meta}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, **changed))


def live(found: Workload, **spec: Any) -> dict[str, Any]:
    """The same as the API server shows it."""
    document: dict[str, Any] = msgspec.to_builtins(found)
    return {**document, "spec": {**document["spec"], **spec}}


class Client:
    """An API server that gives prepared answers, one after the other, and notes what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    def _answer(self, verb: str, what: Any) -> Any:
        self.asked.append((verb, what))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, resource: Any, name: str, type_: Any, *, namespace: str) -> Any:
        assert (resource.plural, namespace) == PLACE
        return self._answer("get", (name, namespace))

    async def apply(self, resource: Any, name: str, body: Any, type_: Any, **options: Any) -> Any:
        assert (resource.plural, options["namespace"]) == PLACE
        return self._answer("apply", (name, body, options))

    async def apply_new(self, resource: Any, name: str, body: Any, type_: Any, **options: Any) -> Any:
        place = (resource.plural, options.get("namespace"))
        assert place == (PLACE if name == NAME else ("namespaces", None))
        assert options["field_manager"] == names.FIELD_MANAGER
        return self._answer("create", name)

    async def create(self, resource: Any, body: Any, type_: Any, **options: Any) -> Any:
        return self._answer("dry run" if options.get("dry_run") else "post", (resource.plural, body["metadata"]))

    async def scale(self, resource: Any, name: str, replicas: int, **options: Any) -> Any:
        assert (resource.plural, options["namespace"]) == PLACE
        return self._answer("scale", (name, replicas, options["resource_version"]))

    async def delete(self, resource: Any, name: str, **options: Any) -> Any:
        return self._answer("delete", (resource.plural, name, options["uid"], options.get("propagation")))

    async def merge_patch(self, resource: Any, name: str, patch: Any, type_: Any, **options: Any) -> Any:
        assert (resource.plural, options["namespace"]) == PLACE
        return self._answer("patch", (name, patch))

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]


class Member:
    """A member with a cache and such a client."""

    def __init__(self, *answers: Any, known: Workload | None = None) -> None:
        self.client = Client(*answers)
        self.cache = MemberCache(lambda _: None)
        self.memory = Memory(generations={NOTED: 1})
        self.name = "default/near"
        self.policy = "Create"
        if known is not None:
            self.cache.merge("StatefulSet", known)

    async def write(self, step: MemberStep) -> Written:
        writer = MemberWriter(self, NamespaceCreator(self, lambda _: HOST_LABELS))  # type: ignore[arg-type]  # stands for a fleet
        return await writer.write(SUBJECT, self, step, self.memory)  # type: ignore[arg-type]  # stands for one

    def cluster(self, _name: str) -> ClusterObject:
        return ClusterObject(ClusterMetadata("near", "default"), ClusterSpec(namespaces=self.policy))

    @property
    def shown(self) -> Workload | None:
        return self.cache.workload(("default", "web"), "StatefulSet", NAME)


def applied(*, create: bool = False, drift: bool = False, **spec: Any) -> Apply:
    meta = live(stored())["metadata"]
    body = {"metadata": {key: meta[key] for key in ("name", "labels", "annotations")}, "spec": {"replicas": 4, **spec}}
    return Apply(REF, body, "for the test", create=create, drift=drift)


def scaled(replicas: int = 6, generation: int = 1) -> Scale:
    return Scale(REF, replicas, generation, "for the test")


def answer(version: int) -> Scaled:
    return Scaled(metadata=ObjectMeta(name=NAME, resource_version=str(version)))


def deleted(**more: Any) -> Delete:
    return Delete(REF, "uid-1", "for the test", **more)


async def test_an_apply_takes_our_fields_and_its_answer_is_kept() -> None:
    member = Member(stored(9, generation=3), known=stored(5))
    assert await member.write(applied()) == Written()
    ((_, (name, _, options)),) = member.client.asked
    assert (name, options["force"], options["field_manager"]) == (NAME, True, names.FIELD_MANAGER)
    assert member.memory.generations == {NOTED: 3}
    assert member.shown is not None
    assert member.shown.metadata.resource_version == "9"


async def test_scaling_is_for_the_very_state_that_was_planned_from() -> None:
    """I9, I13: nothing else can be in what comes of it."""
    member = Member(answer(6), known=stored(5))
    await member.write(scaled())
    assert member.client.asked == [("scale", (NAME, 6, "5"))]
    assert member.memory.generations == {NOTED: 2}
    assert member.shown is not None
    meta = member.shown.metadata
    assert (meta.generation, meta.resource_version, member.shown.spec.replicas) == (2, "6", 6)


async def test_scaling_to_what_is_there_raises_no_generation() -> None:
    """An API server does not count a write that changes nothing."""
    member = Member(answer(5), known=stored(5, replicas=6))
    await member.write(scaled())
    assert member.memory.generations == {NOTED: 1}


async def test_a_status_write_in_between_is_looked_at_and_scaling_goes_on() -> None:
    member = Member(CONFLICT, stored(6), CONFLICT, stored(7), answer(8), known=stored(5))
    await member.write(scaled())
    assert [what[2] for verb, what in member.client.asked if verb == "scale"] == ["5", "6", "7"]
    assert member.memory.generations == {NOTED: 2}


async def test_a_server_that_is_always_faster_is_left_to_the_next_plan() -> None:
    member = Member(*[CONFLICT, stored(6)] * 3, known=stored(5))
    with pytest.raises(errors.Conflict):
        await member.write(scaled())
    assert member.client.answers == []
    assert member.memory.generations == {NOTED: 1}


@pytest.mark.parametrize("between", [stored(6, generation=2), stored(6, uid="uid-2")], ids=["changed", "replaced"])
async def test_what_somebody_changed_or_replaced_in_between_is_not_scaled(between: Workload) -> None:
    """I9, I13"""
    member = Member(CONFLICT, between, known=stored(5))
    with pytest.raises(errors.Conflict, match="has changed since it was planned for"):
        await member.write(scaled())
    assert member.client.verbs == ["scale", "get"]
    assert member.shown == between


@pytest.mark.parametrize("known", [None, stored(5, generation=2)], ids=["gone", "changed"])
async def test_a_plan_that_is_out_of_date_already_scales_nothing(known: Workload | None) -> None:
    member = Member(known=known)
    with pytest.raises(errors.Conflict):
        await member.write(scaled())
    assert member.client.asked == []


async def test_a_creation_creates() -> None:
    member = Member(stored(6))
    member.memory.generations.clear()
    await member.write(applied(create=True))
    assert member.client.verbs == ["create"]
    assert member.memory.generations == {NOTED: 1}
    assert member.shown == stored(6)


async def test_a_creation_by_another_process_of_ours_is_kept_and_inspected_by_the_next_plan() -> None:
    """I9: the workload may have been changed since it was created."""
    member = Member(CONFLICT, stored(6, generation=3))
    member.memory.generations.clear()
    await member.write(applied(create=True))
    assert member.client.verbs == ["create", "get"]
    assert member.memory.generations == {}
    assert member.shown == stored(6, generation=3)


async def test_a_workload_of_ours_without_its_labels_gets_them_back() -> None:
    """No watch shows it. The uid makes the write fail if another object has the name by now."""
    member = Member(CONFLICT, stored(6, labels={}), stored(7, generation=2))
    await member.write(applied(create=True))
    assert member.client.verbs == ["create", "get", "apply"]
    (_, body, options) = member.client.asked[-1][1]
    assert body["metadata"] == {**applied().body["metadata"], "uid": "uid-1"}
    assert options["force"] is True
    assert member.shown == stored(7, generation=2)


async def test_an_adoption_tries_the_write_first_and_names_the_uid_that_it_has_seen() -> None:
    """I13: the pods stay as they are, and another object of that name is left alone."""
    found = stored(6)
    theirs = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, annotations={}, labels={}))
    body = live(theirs)
    member = Member(body, body, stored(7, generation=2))
    step = Apply(REF, body={"metadata": {"name": NAME}, "spec": {}}, why="adopted", create=False, adopt=True)
    await member.write(step)
    assert member.client.verbs == ["get", "apply", "apply"]
    tried, written = (what for verb, what in member.client.asked if verb == "apply")
    assert [one[1]["metadata"]["uid"] for one in (tried, written)] == ["uid-1", "uid-1"]
    assert [one[2]["dry_run"] for one in (tried, written)] == [True, False]
    assert member.shown == stored(7, generation=2)
    assert member.memory.generations == {NOTED: 2}


async def test_a_namespace_that_is_missing_is_created_once() -> None:
    member = Member(NO_NAMESPACE, CONFLICT, stored(6))
    await member.write(applied(create=True))
    assert member.client.asked == [("create", NAME), ("create", "default"), ("create", NAME)]


async def test_a_namespace_is_not_created_where_the_cluster_requires_that_it_exists() -> None:
    """I15; the message names the field and what to do."""
    member = Member(NO_NAMESPACE)
    member.policy = "Require"
    with pytest.raises(NamespaceRequired, match=r"default .*spec.namespaces of the Cluster default/near.*create the"):
        await member.write(applied(create=True))
    assert member.client.verbs == ["create"]


async def test_a_namespace_is_not_created_without_the_pod_security_labels_of_the_host() -> None:
    """I15: as long as they are not known, the subset waits."""
    member = Member(NO_NAMESPACE)
    writer = MemberWriter(member, NamespaceCreator(member, lambda _: None))  # type: ignore[arg-type]  # stands for a fleet
    with pytest.raises(LabelsUnknown):
        await writer.write(SUBJECT, member, applied(create=True), Memory())  # type: ignore[arg-type]  # stands for one
    assert member.client.verbs == ["create"]


async def test_another_thing_that_is_missing_creates_no_namespace() -> None:
    member = Member(GONE)
    with pytest.raises(errors.NotFound):
        await member.write(applied(create=True))
    assert member.client.verbs == ["create"]


async def test_what_we_created_before_and_somebody_changed_since_is_looked_at() -> None:
    """I9: the answer of the creation was lost, so which generation it got is not known."""
    member = Member(CONFLICT, stored(6, generation=2))
    member.memory.generations.clear()
    await member.write(applied(create=True))
    assert member.memory.generations == {}
    assert member.shown == stored(6, generation=2)


@pytest.mark.parametrize(
    ("annotations", "whose"),
    [
        (
            {names.ANNOTATION_OWNER_UID: "uid-other", names.ANNOTATION_OWNER: "default/other"},
            r"^it belongs to the UnitedDeployment default/other",
        ),
        ({}, r"^it is not of this UnitedDeployment$"),
    ],
)
async def test_a_name_that_somebody_else_has_is_left_alone(annotations: dict[str, str], whose: str) -> None:
    """I13"""
    member = Member(CONFLICT, stored(6, annotations=annotations))
    with pytest.raises(NotOurs, match=whose):
        await member.write(applied(create=True))
    assert member.shown is None


async def test_a_look_that_finds_our_fields_as_they_should_be_writes_nothing() -> None:
    """I3"""
    member = Member(live(stored(6, generation=3)), known=stored(5))
    assert await member.write(applied(drift=True)) == Written(changed=False)
    assert member.client.verbs == ["get"]
    assert member.memory.generations == {NOTED: 3}


async def test_a_look_that_finds_a_changed_field_puts_it_back_and_says_so() -> None:
    member = Member(live(stored(6, generation=3), replicas=1), stored(7, generation=4), known=stored(5))
    written = await member.write(applied(drift=True))
    assert member.client.verbs == ["get", "apply"]
    (event,) = written.events
    assert (event.type, event.reason) == ("Warning", "DriftRepaired")
    assert event.message == "StatefulSet web-member-1 in near: put back spec.replicas"
    assert member.memory.generations == {NOTED: 4}


async def test_an_answer_that_is_no_workload_is_an_error_of_that_member() -> None:
    """I16"""
    member = Member({**live(stored(6)), "status": "odd"}, known=stored(5))
    with pytest.raises(errors.Malformed, match="StatefulSet web-member-1 is not as expected"):
        await member.write(applied(drift=True))


@pytest.mark.parametrize("refusal", [None, GONE, CONFLICT], ids=["done", "gone", "replaced"])
async def test_a_deletion_names_the_object_and_is_expected(refusal: Exception | None) -> None:
    """I13: an object of that name that came in between stays."""
    member = Member(refusal, known=stored(5))
    await member.write(deleted())
    assert member.client.asked == [("delete", ("statefulsets", NAME, "uid-1", Propagation.BACKGROUND))]
    assert member.memory.generations == {}
    assert member.shown is not None
    assert member.shown.metadata.deletion_timestamp == "requested"


async def test_a_deletion_that_failed_is_not_expected() -> None:
    member = Member(errors.ServerError(500), known=stored(5))
    with pytest.raises(errors.ServerError):
        await member.write(deleted())
    assert member.shown is not None
    assert member.shown.metadata.deletion_timestamp is None
    assert member.memory.generations == {NOTED: 1}


def successor(*claims: str) -> Mapping[str, Any]:
    body = applied().body
    return {**body, "spec": {**body["spec"], "volumeClaimTemplates": [{"metadata": {"name": one}} for one in claims]}}


async def test_a_recreation_asks_first_whether_its_successor_would_be_taken() -> None:
    """I7"""
    member = Member(live(stored(5)), {}, None, known=stored(5))
    await member.write(deleted(orphan=True, successor=successor()))
    assert member.client.verbs == ["get", "dry run", "delete"]
    (_, metadata) = member.client.asked[1][1]
    assert metadata["generateName"] == "successor-"
    assert "name" not in metadata
    assert member.client.asked[2][1][3] is Propagation.ORPHAN


async def test_a_successor_that_would_be_refused_keeps_what_runs() -> None:
    """I7"""
    member = Member(live(stored(5)), errors.Invalid(422), known=stored(5))
    with pytest.raises(errors.Invalid):
        await member.write(deleted(orphan=True, successor=successor()))
    assert member.client.verbs == ["get", "dry run"]


async def test_a_successor_that_the_pods_could_not_go_over_to_keeps_what_runs() -> None:
    """I7"""
    member = Member(live(stored(5)), known=stored(5))
    with pytest.raises(NotReplaceable, match="data"):
        await member.write(deleted(orphan=True, successor=successor("data")))
    assert member.client.verbs == ["get"]


@pytest.mark.parametrize("refusal", [None, GONE, CONFLICT], ids=["done", "gone", "another pod"])
async def test_a_pod_is_deleted_by_its_uid(refusal: Exception | None) -> None:
    member = Member(refusal)
    assert await member.write(DeletePod(REF, "web-0", "uid-pod", "it is stuck")) == Written()
    assert member.client.asked == [("delete", ("pods", "web-0", "uid-pod", None))]


@pytest.mark.parametrize("refusal", [None, GONE, CONFLICT], ids=["done", "gone", "replaced"])
async def test_a_release_takes_our_marks_off_that_very_object(refusal: Exception | None) -> None:
    """I13"""
    member = Member(refusal)
    await member.write(Release(REF, "uid-1", "it stays"))
    ((_, (name, patch)),) = member.client.asked
    metadata = patch["metadata"]
    assert (name, metadata["uid"]) == (NAME, "uid-1")
    assert set(metadata["labels"].values()) == set(metadata["annotations"].values()) == {None}
    assert {names.LABEL_NAME, names.LABEL_SUBSET} <= set(metadata["labels"])
    assert {names.ANNOTATION_OWNER_UID, names.ANNOTATION_APPLIED} <= set(metadata["annotations"])


async def test_reclaiming_writes_our_uid_and_nothing_else_and_keeps_the_answer() -> None:
    """I13: the template is not touched, so no pod restarts."""
    member = Member(stored(9), known=stored(5))
    assert await member.write(Reclaim(REF, "uid-1", "it was lost")) == Written()
    ((_, (name, patch)),) = member.client.asked
    annotations = {names.ANNOTATION_OWNER_UID: SUBJECT.uid}
    assert (name, patch) == (NAME, {"metadata": {"uid": "uid-1", "annotations": annotations}})
    assert member.shown is not None
    assert member.shown.metadata.resource_version == "9"


@pytest.mark.parametrize("refusal", [GONE, CONFLICT], ids=["gone", "replaced"])
async def test_what_is_reclaimed_may_be_gone_by_then(refusal: Exception) -> None:
    member = Member(refusal, known=stored(5))
    await member.write(Reclaim(REF, "uid-1", "it was lost"))
    assert member.shown == stored(5)


async def test_a_field_that_is_left_to_others_is_applied_as_the_cluster_has_it() -> None:
    """Otherwise the apply would put it back."""
    member = Member(live(stored(9)) | {"spec": {"replicas": 7, "serviceName": "old"}}, stored(10, generation=2))
    await member.write(replace(applied(serviceName="web"), keep=("spec.replicas",)))
    assert member.client.verbs == ["get", "apply"]
    (_, (_, body, _)) = member.client.asked[1]
    assert body["spec"] == {"replicas": 7, "serviceName": "web"}
