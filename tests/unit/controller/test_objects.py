"""UnitedDeployments and their revisions as they are watched, and what the planner gets of them."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.support import planning as make
from uniteddeployment.controller import objects
from uniteddeployment.controller.objects import Parser, RevisionMetadata, Stored, StoredRevision
from uniteddeployment.kube.meta import OwnerReference
from uniteddeployment.planning.observed import Metadata, RevisionData, RevisionRecord
from uniteddeployment_api import FieldError, names

SPEC = make.manifest()["spec"]


def stored(spec: Any = SPEC, status: Any = None, *, generation: int = 3, **meta: Any) -> Stored:
    return Stored(
        Metadata("web", "default", "uid-web", "8", generation=generation, **meta),
        Raw(msgspec.json.encode(spec)),
        Raw(msgspec.json.encode({} if status is None else status)),
    )


def test_the_planner_gets_the_parsed_application_and_its_status() -> None:
    subject = Parser().subject(
        stored(status={"observedGeneration": 2}, finalizers=("a",), annotations={names.ANNOTATION_RECREATE: "x"}),
    )
    assert (subject.namespace, subject.name, subject.uid, subject.generation) == ("default", "web", "uid-web", 3)
    assert subject.app is not None
    app = subject.app
    assert (app.namespace, app.name, app.uid, app.generation) == ("default", "web", "uid-web", 3)
    assert app.kind == "StatefulSet"
    assert (subject.errors, subject.finalizers, subject.annotations) == ((), ("a",), {names.ANNOTATION_RECREATE: "x"})
    assert (subject.deleting, subject.orphan, subject.keeps_workloads) == (False, False, False)
    assert subject.status.observed_generation == 2
    assert subject.document == {"observedGeneration": 2}


@pytest.mark.parametrize(
    ("meta", "earlier", "orphan"),
    [
        ({"finalizers": ("orphan",)}, False, True),
        ({"annotations": {names.ANNOTATION_ORPHAN: names.ORPHAN}}, False, True),
        ({}, True, True),
        ({"finalizers": ("foregroundDeletion",)}, False, False),
    ],
)
def test_workloads_stay_if_the_deletion_asks_for_it_or_did_so_before(
    meta: dict[str, Any], earlier: bool, orphan: bool
) -> None:
    """I7"""
    subject = Parser().subject(stored(deletion_timestamp="2026-01-01T00:00:00Z", **meta), orphaning=earlier)
    assert (subject.deleting, subject.orphan) == (True, orphan)


@pytest.mark.parametrize(
    ("spec", "keeps"),
    [
        ({**SPEC, "deletionPolicy": "Orphan"}, True),
        ({**SPEC, "deletionPolicy": "Delete"}, False),
        ({"deletionPolicy": "Orphan"}, True),
        ({"deletionPolicy": 3}, False),
        (SPEC, False),
    ],
)
def test_the_deletion_policy_counts_also_if_the_rest_of_the_spec_is_not_valid(spec: Any, keeps: bool) -> None:
    assert Parser().subject(stored(spec)).keeps_workloads is keeps


def test_errors_of_a_spec_come_with_their_fields_and_without_an_application() -> None:
    subject = Parser().subject(stored({**SPEC, "topology": {"subsets": [{"name": "a"}, {"name": "a"}]}}))
    assert subject.app is None
    assert [error.path for error in subject.errors] == ["spec.topology.subsets[1].name"]


def test_a_spec_is_parsed_once_for_each_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[Stored] = []

    def parse(one: Stored) -> Any:
        parsed.append(one)
        return None, (FieldError("spec", "wrong"),)

    monkeypatch.setattr(objects, "parse", parse)
    parser = Parser()
    for one in (stored(), stored(status={"replicas": 1}), stored(generation=4)):
        assert parser.subject(one).errors == (FieldError("spec", "wrong"),)
    assert [one.metadata.generation for one in parsed] == [3, 4]
    small = Parser(size=1)
    for generation in (1, 2, 1):
        small.subject(stored(generation=generation))
    assert len(parsed) == 5


def test_an_unexpected_error_is_one_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    """I16"""

    def broken(_document: Any) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(objects, "parse_united_deployment", broken)
    assert objects.parse(stored()) == (None, (FieldError("spec", "it cannot be processed (ZeroDivisionError)"),))


@pytest.mark.parametrize("status", [[], "x", 3])
def test_a_status_that_is_no_object_counts_as_empty(status: Any) -> None:
    assert Parser().subject(stored(status=status)).document == {}


def revision(**annotations: str) -> StoredRevision:
    labels = {names.LABEL_REVISION: "h"}
    owners = (OwnerReference("UnitedDeployment", "web", "uid-web"),)
    meta = RevisionMetadata(
        "web-h", "default", "uid-r", "1", labels=labels, annotations=annotations, owner_references=owners
    )
    return StoredRevision(meta, 7)


def test_a_revision_is_recorded_with_what_its_labels_and_annotations_say() -> None:
    notes = {
        names.ANNOTATION_TEMPLATE_REVISION: "t",
        names.ANNOTATION_SUBSET_REVISIONS: '{"a": "x"}',
        names.ANNOTATION_CHANGE_CAUSE: "why",
    }
    assert revision(**notes).record() == RevisionRecord(
        name="web-h",
        number=7,
        hash="h",
        template_hash="t",
        patched={"a": "x"},
        cause="why",
        owned=True,
        problem="",
        uid="uid-r",
    )
    assert revision().record() is None, "a StatefulSet's revision has our labels, and no such annotation"
    bare = StoredRevision(RevisionMetadata("r", annotations={names.ANNOTATION_TEMPLATE_REVISION: "t"})).record()
    assert bare is not None
    assert (bare.number, bare.hash, bare.patched, bare.cause, bare.owned, bare.problem) == (0, "", {}, "", False, "")


@pytest.mark.parametrize("text", ["[", "[1]", '{"a": 1}', "[" * 9999])
def test_an_unreadable_annotation_of_a_revision_is_its_problem(text: str) -> None:
    found = revision(**{names.ANNOTATION_TEMPLATE_REVISION: "t", names.ANNOTATION_SUBSET_REVISIONS: text}).record()
    assert found is not None
    assert found.patched == {}
    assert found.problem.startswith("its annotation uniteddeployment.io/subset-revisions is unreadable: ")


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (RevisionData({"a": 1}), {"template": {"a": 1}, "subsets": []}),
        (
            RevisionData({"a": 1}, {"s": {"p": 1}}, {"s": ({"o": 1},)}, frozenset({"t", "s"})),
            {
                "template": {"a": 1},
                "subsets": ["s", "t"],
                "patches": {"s": {"p": 1}},
                "overrides": {"s": ({"o": 1},)},
            },
        ),
    ],
)
def test_the_content_of_a_revision_has_no_empty_parts(data: RevisionData, content: dict[str, Any]) -> None:
    assert objects.revision_content(data) == content
    full = objects.FullRevision(Raw(msgspec.json.encode(content)))
    assert full.content() == data


def test_the_content_of_a_revision_is_written_as_an_api_server_would_write_it_again() -> None:
    """Otherwise it refuses each later patch of the object, that of the garbage collector included (I9)."""
    data = RevisionData(
        {"spec": {"é": "a<b>&\u2028c"}, "metadata": {}}, {"s": {"b": 1, "a": "\u0001"}}, {}, frozenset("s")
    )
    assert (
        bytes(objects.written_content(data))
        == (
            '{"patches":{"s":{"a":"\\u0001","b":1}},"subsets":["s"],'
            '"template":{"metadata":{},"spec":{"é":"a\\u003cb\\u003e\\u0026\\u2028c"}}}'
        ).encode()
    )
