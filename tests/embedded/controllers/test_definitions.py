"""The lifecycle of a definition: names, establishing, deletion of its objects."""

from random import Random
from typing import Any

import pytest

from tests.embedded.crd_kit import definition, thing
from tests.embedded.workload_kit import HeapClock
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.crd.definition.conditions import KEY, condition
from uniteddeployment.embedded.errors import StatusError

THINGS = "things.example.com"


class Place:
    """A cluster with one controller and its own clock."""

    def __init__(self) -> None:
        self.clock = HeapClock()
        self.cluster = Cluster("c", clock=self.clock, random=Random(1), nodes=0, controllers=[LifecycleController])
        self.access = self.cluster.access
        self.cluster.start()

    def create(self, **names: Any) -> str:
        crd = definition()
        crd["spec"]["names"].update(names)
        crd["metadata"]["name"] = f"{crd['spec']['names']['plural']}.example.com"
        self.access.create(KEY, crd, manager="test")
        self.run()
        return str(crd["metadata"]["name"])

    def run(self) -> None:
        self.clock.run(self.clock.time + 1)

    def crd(self, name: str = THINGS) -> Obj:
        result = self.access.get(KEY, "", name)
        assert result is not None
        return result

    def said(self, type_: str, name: str = THINGS) -> tuple[str, str, str]:
        result = condition(self.crd(name), type_)
        return result["status"], result["reason"], result["message"]


@pytest.fixture
def place() -> Place:
    return Place()


def test_names_that_are_free_are_accepted_and_the_definition_is_established(place: Place) -> None:
    place.create(shortNames=["th"], categories=["all"])
    assert place.said("NamesAccepted") == ("True", "NoConflicts", "no conflicts found")
    assert place.said("Established") == ("True", "InitialNamesAccepted", "the initial names have been accepted")
    assert place.crd()["status"]["acceptedNames"] == place.crd()["spec"]["names"]
    place.access.create(THINGS, {**thing({}), "metadata": {"name": "t", "namespace": "default"}}, manager="test")


def test_names_that_somebody_has_are_refused_until_they_are_free(place: Place) -> None:
    place.create(shortNames=["th"])
    other = place.create(plural="others", singular="other", kind="Thing", shortNames=["th"])
    status = place.crd(other)["status"]
    assert place.said("NamesAccepted", other) == ("False", "ListKindConflict", '"ThingList" is already in use')
    assert place.said("Established", other) == ("False", "NotAccepted", "not all names are accepted")
    assert status["acceptedNames"] == {"plural": "others", "kind": "", "singular": "other"}
    place.access.delete(KEY, "", THINGS)
    place.run()
    assert place.said("NamesAccepted", other) == ("True", "NoConflicts", "no conflicts found")
    assert place.said("Established", other)[0] == "True"


def test_a_settled_definition_is_not_written_again(place: Place) -> None:
    """Without a change there is no write (I3)."""
    place.create()
    version = place.crd()["metadata"]["resourceVersion"]
    place.run()
    assert place.crd()["metadata"]["resourceVersion"] == version


def test_a_deleted_definition_goes_after_its_objects(place: Place) -> None:
    place.create()
    metadata = {"name": "t", "namespace": "default", "finalizers": ["example.com/hold"]}
    place.access.create(THINGS, {**thing({}), "metadata": metadata}, manager="test")
    place.access.delete(KEY, "", THINGS)
    place.run()
    assert place.said("Terminating")[:2] == ("True", "InstanceDeletionInProgress")
    held = place.access.get(THINGS, "default", "t")
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    with pytest.raises(StatusError, match="create not allowed while custom resource definition is terminating") as why:
        place.access.create(THINGS, {**thing({}), "metadata": {"name": "u", "namespace": "default"}}, manager="test")
    assert why.value.code == 403
    freed = {**held, "metadata": {key: value for key, value in held["metadata"].items() if key != "finalizers"}}
    place.access.update(THINGS, freed, manager="test")
    place.run()
    assert place.access.get(KEY, "", THINGS) is None


def test_a_definition_that_was_never_established_goes_at_once(place: Place) -> None:
    place.create()
    other = place.create(plural="others", singular="other")
    place.access.delete(KEY, "", other)
    place.run()
    assert place.access.get(KEY, "", other) is None


def test_another_storage_version_serves_the_same_objects(place: Place) -> None:
    place.create()
    place.access.create(THINGS, {**thing({}), "metadata": {"name": "t", "namespace": "default"}}, manager="test")
    crd = place.crd()
    (first,) = crd["spec"]["versions"]
    versions = [{**first, "storage": False}, {**first, "name": "v2"}]
    place.access.update(KEY, {**crd, "spec": {**crd["spec"], "versions": versions}}, manager="test")
    place.run()
    assert place.crd()["status"]["storedVersions"] == ["v1", "v2"]
    assert place.access.get(THINGS, "default", "t") is not None
