"""An object on the host in an unexpected form becomes a condition of its own object (I11, I16)."""

from typing import Any

import msgspec
import pytest
import structlog

from tests.support.planning import manifest
from uniteddeployment.controller import objects
from uniteddeployment.controller.member_writes import MemberWriter
from uniteddeployment.controller.objects import Parser, Stored, parse
from uniteddeployment.controller.observe import Memory
from uniteddeployment.kube.errors import Malformed, Unreachable
from uniteddeployment.kube.watch import Changes, WatchDecoder
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed, WorkloadRef
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import DeletePod
from uniteddeployment.planning.stored import NO_STATUS
from uniteddeployment_api import names


def stored(spec: bytes, status: bytes = b"{}") -> Stored:
    line = (
        b'{"type":"ADDED","object":{"metadata":{"name":"web","namespace":"default","uid":"u"},"spec":%s,"status":%s}}\n'
    )
    (found,) = WatchDecoder(Stored).feed(line % (spec, status))
    assert isinstance(found, Changes)
    return found.events[0].object


def with_deep_value(levels: int) -> bytes:
    document = manifest()
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["x"] = "HERE"
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    return msgspec.json.encode(document["spec"]).replace(b'"HERE"', deep)


@pytest.mark.parametrize("levels", [65, 300, 990, 5000, 20_000])
def test_a_spec_that_is_nested_too_deep_is_refused_with_its_path(levels: int) -> None:
    app, errors = parse(stored(with_deep_value(levels)))
    assert app is None
    assert [error.path for error in errors] == ["spec.template.statefulSetTemplate.spec"]
    assert "must not be nested more than 64 levels deep" in errors[0].message


def test_a_spec_that_makes_reading_fail_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(objects, "parse_united_deployment", fails)
    with structlog.testing.capture_logs():
        app, errors = parse(stored(b"{}"))
    assert app is None
    assert [str(error) for error in errors] == ["spec: it cannot be processed (ZeroDivisionError)"]


@pytest.mark.parametrize("status", [b"5", b"[]", b"null", b'"x"'])
def test_a_status_that_is_no_object_is_as_good_as_none(status: bytes) -> None:
    subject = Parser().subject(stored(b"{}", status))
    assert (subject.status, subject.document) == (NO_STATUS, {})


def test_a_hundred_thousand_wrong_fields_are_told_by_the_first_of_them() -> None:
    """The message of a condition has a size, and a longer one would never be written."""
    document = manifest()
    document["spec"] |= {f"field-{n}": 1 for n in range(100_000)} | {"x" * 100_000: 1}
    app, errors = parse(stored(msgspec.json.encode(document["spec"])))
    assert app is None
    subject = Subject("default", "web", "u", 1, app=None, errors=errors)
    made = plan(subject, Observed(now="2026-01-01T00:00:00Z", members={}))
    assert made.status is not None
    stalled = made.status.condition("Stalled")
    assert stalled is not None
    message = stalled.message
    assert message.startswith("spec.field-0: unknown field; ")
    assert message.endswith("more")
    assert len(message) <= 4096


class Member:
    """A cluster of which nothing is needed but its name."""

    name = "default/member-1"


class Clusters:
    """A fleet without Cluster objects."""

    def cluster(self, _name: str) -> None:
        return None


@pytest.mark.parametrize("error", [KeyError("metadata"), RecursionError(), AttributeError("x")])
async def test_an_answer_that_cannot_be_worked_with_is_an_error_of_the_step(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I10: it becomes the reason of the subset."""

    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(MemberWriter, "_delete_pod", fails)
    step = DeletePod(WorkloadRef("default/member-1", "a", "StatefulSet", "web"), "web-0", "u", "it is stuck")
    subject = Subject("default", "web", "u", 1, app=None)
    with (
        structlog.testing.capture_logs(),
        pytest.raises(Malformed, match=f"could not be processed \\({type(error).__name__}\\)"),
    ):
        await MemberWriter(Clusters(), None).write(subject, Member(), step, Memory())  # type: ignore[arg-type]


async def test_an_error_that_is_typed_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise Unreachable("member-1", "refused")

    monkeypatch.setattr(MemberWriter, "_delete_pod", fails)
    step = DeletePod(WorkloadRef("default/member-1", "a", "StatefulSet", "web"), "web-0", "u", "it is stuck")
    subject = Subject("default", "web", "u", 1, app=None)
    with pytest.raises(Unreachable):
        await MemberWriter(Clusters(), None).write(subject, Member(), step, Memory())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("listed", "refused"),
    [
        (",".join(["spec.replicas"] * 32), False),
        (",".join(["spec.replicas"] * 33), True),
        ("spec." + "a" * 251, False),
        ("spec." + "a" * 252, True),
        ("x" * 200_000, True),
    ],
)
def test_too_many_ignored_differences_become_a_condition_that_names_the_annotation(listed: str, refused: bool) -> None:
    """I11, I16: they are compared with every workload in every pass, and no webhook need be installed."""
    annotations = {names.ANNOTATION_IGNORE_DIFFERENCES: listed}
    held = stored(msgspec.json.encode(manifest()["spec"]))
    held = msgspec.structs.replace(held, metadata=msgspec.structs.replace(held.metadata, annotations=annotations))
    subject = Parser().subject(held)
    assert (subject.app is None) is refused
    if refused:
        made = plan(subject, Observed(now="2026-01-01T00:00:00Z", members={}))
        assert made.status is not None
        assert not made.members, "what runs is left as it is"
        (message,) = [one.message for one in made.status.conditions or () if one.type == "Stalled"]
        assert names.ANNOTATION_IGNORE_DIFFERENCES in message
