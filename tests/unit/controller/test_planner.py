"""The planning loop that the controller and ``ud plan`` share."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from cachetools import LRUCache

from tests.support import planning as make
from uniteddeployment.controller.objects import FullRevision, revision_content
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.planner import Planner
from uniteddeployment.controller.rooms import Rooms
from uniteddeployment.kube.errors import KubeError, Unreachable
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.plan import Plan

OLD, NEW = make.application(make.manifest(image="app:1")), make.application(make.manifest(image="app:2"))
SUBJECT = make.subject(
    NEW,
    status={"currentRevision": OLD.revision_name, "subsetStatuses": [], "conditions": []},
)


class Host:
    """A host whose revisions are known; it counts the templates that are read, or refuses."""

    def __init__(self, error: KubeError | None = None) -> None:
        self.read: list[str] = []
        self.error = error

    def records(self, _key: Any) -> Any:
        return (make.record(OLD), make.record(NEW, 2))

    async def get(self, resource: Any, name: str, type_: Any, *, namespace: str) -> FullRevision:
        assert (resource, type_, namespace) == (CONTROLLERREVISIONS, FullRevision, "default")
        self.read.append(name)
        if self.error is not None:
            raise self.error
        return FullRevision(msgspec.Raw(msgspec.json.encode(revision_content(OLD.revision_data))))


class Looking(Observer):
    """An observer of clusters where a canary is to be created: it needs the earlier template."""

    def __init__(self) -> None:
        self.templates, self.damaged = LRUCache(9), LRUCache(9)
        self.rooms = Rooms(lambda: 0.0)
        self.observations = 0

    def observe(self, subject: Subject) -> Observed:
        self.observations += 1
        templates = {name: data for (_, name), data in self.templates.items()}
        return make.observed(revisions=(make.record(OLD), make.record(NEW, 2)), templates=templates)


def held() -> Subject:
    """An application whose new template is held back everywhere, so that its subsets start at the old one."""
    partitions = {"member-1": 4, "member-2": 2, "member-3": 2}
    app = make.application(make.manifest(image="app:2", partitions=partitions))
    return replace(make.subject(app), status=SUBJECT.status, document=SUBJECT.document)


def planner(host: Host, observer: Looking) -> Planner:
    return Planner(host, host, observer)  # type: ignore[arg-type]  # stands for the client and for the cache


async def test_a_template_that_the_plan_is_missing_is_loaded_and_planned_with() -> None:
    host, observer = Host(), Looking()
    made = await planner(host, observer).plan(held())
    assert host.read == [OLD.revision_name]
    assert observer.observations == 2
    assert made.missing == frozenset()
    assert {step.body["spec"]["template"]["spec"]["containers"][0]["image"] for step in _created(made)} == {"app:1"}


async def test_a_template_is_loaded_once() -> None:
    """I3"""
    host, observer = Host(), Looking()
    for _ in range(2):
        await planner(host, observer).plan(held())
    assert host.read == [OLD.revision_name]
    assert observer.observations == 3


async def test_without_the_host_there_is_no_plan() -> None:
    """I8: it is not known what the revision holds, so nothing is decided."""
    with pytest.raises(Unreachable):
        await planner(Host(Unreachable("host", "refused")), Looking()).plan(held())


def _created(made: Plan) -> list[Any]:
    return [step for steps in made.members.values() for step in steps]
