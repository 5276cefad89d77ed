"""Templates of earlier revisions are read from the host, where anybody may have put others in their place (I16)."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.objects import FullRevision, revision_content
from uniteddeployment.controller.revisions import load_template
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.requests import read
from uniteddeployment.kube.resource import CONTROLLERREVISIONS, Resource
from uniteddeployment.planning.observed import RevisionData, RevisionRecord

APP = make.application(make.manifest(shares={"member-1": {"patch": {"spec": {"nodeName": "a"}}}, "member-2": {}}))
RECORD = replace(make.record(APP), uid="uid-of-the-revision")


def load(body: bytes | None, record: RevisionRecord = RECORD) -> tuple[Any, list[tuple[tuple[Any, Any], str]]]:
    """What an observer knows after loading a revision whose answer is ``body``; None for 404."""

    async def get(resource: Resource, name: str, type_: type[Any], *, namespace: str) -> FullRevision:
        assert (resource, name, namespace) == (CONTROLLERREVISIONS, record.name, "default")
        if body is None:
            raise NotFound(404)
        found: FullRevision = read(200, {}, body, type_)
        return found

    dropped = []
    host: Any = SimpleNamespace(
        records={("default", "web"): (record,)}.__getitem__, drop_revision=lambda *one: dropped.append(one)
    )
    observer: Any = SimpleNamespace(templates={}, damaged={})
    client: Any = SimpleNamespace(get=get)
    asyncio.run(load_template(client, host, observer, make.subject(APP), record.name))
    return observer, dropped


def stored(data: RevisionData = APP.revision_data) -> bytes:
    return msgspec.json.encode({"metadata": {}, "data": revision_content(data), "revision": 1})


def test_what_was_written_is_understood() -> None:
    observer, _ = load(stored())
    assert observer.templates == {("default", RECORD.name): APP.revision_data}
    assert not observer.damaged


@pytest.mark.parametrize("depth", [900, 990, 995, 998, 999, 1000, 5_000])
def test_data_of_any_depth_is_a_reason_and_no_crash(depth: int) -> None:
    body = b'{"data": {"template": ' + b'{"a":' * depth + b"{}" + b"}" * depth + b"}}"
    observer, _ = load(body)
    assert not observer.templates
    assert list(observer.damaged) == [("default", RECORD.name, RECORD.uid)]


def test_why_data_is_unreadable_is_said() -> None:
    observer, _ = load(b'{"data": {"template": 7}}')
    (why,) = observer.damaged.values()
    assert why.startswith("its data is unreadable: ")
    assert "template" in why


@pytest.mark.parametrize(
    "changes", [{"template_hash": "another"}, {"patched": {}}, {"patched": {"member-1": "another"}}]
)
def test_annotations_that_do_not_fit_the_data_are_not_believed(changes: dict[str, Any]) -> None:
    observer, _ = load(stored(), replace(RECORD, **changes))
    assert list(observer.damaged.values()) == ["its annotations do not fit its data"]


def test_another_template_under_that_name_is_not_used() -> None:
    other = make.application(make.manifest(image="evil:1"))
    observer, _ = load(stored(other.revision_data))
    assert list(observer.damaged.values()) == ["its data is not what its name says"]
    assert not observer.templates


def test_one_that_is_gone_is_forgotten() -> None:
    observer, dropped = load(None)
    assert dropped == [(("default", "web"), RECORD.name)]
    assert not observer.damaged
