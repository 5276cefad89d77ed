"""Deployments: one for each revision of a subset. Their writes, the order of these, and their removal."""

from typing import Any, Self

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import Apply, Delete, MemberStep, Scale
from uniteddeployment.planning.stored import RevisionCount
from uniteddeployment_api import names

IMAGES = ("app:1", "app:2", "app:3")


class Subset:
    """One subset in mid-canary, stable app:1 and target app:2 by default, and what its member shows."""

    def __init__(
        self, *, size: int = 4, held: int = 2, target: str = "app:2", stable: bool = True, **strategy: Any
    ) -> None:
        self.apps = {image: self.app(image, size, held, strategy) for image in IMAGES}
        self.target = self.apps[target]
        self.stable = stable
        self.found: dict[str, Workload] = {}
        self.revisions = tuple(make.record(app, number) for number, app in enumerate(self.apps.values(), 1))

    @staticmethod
    def app(image: str, size: int, held: int, strategy: dict[str, int]) -> Application:
        shares = {"member-1": None}
        document = make.manifest(kind="deploymentTemplate", image=image, replicas=size, shares=shares)
        document["spec"]["updateStrategy"] = {"manualUpdate": {"partition": held}}
        if strategy:
            rolling = {"type": "RollingUpdate", "rollingUpdate": strategy}
            document["spec"]["template"]["deploymentTemplate"]["spec"]["strategy"] = rolling
        return make.application(document)

    def has(self, image: str, replicas: int, available: int | None = None, **metadata: Any) -> Self:
        """A Deployment of the revision of an image."""
        app = self.apps[image]
        made = make.deployment(app, "member-1", app.template_hash, replicas=replicas, available=available)
        self.found[image] = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, **metadata))
        return self

    def status(self, image: str, **status: Any) -> Self:
        found = self.found[image]
        self.found[image] = msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, **status))
        return self

    def planned(self) -> tuple[SubsetResult, tuple[MemberStep, ...]]:
        """The row and the steps."""
        old = self.apps["app:1"]
        known = {one.name for one in self.revisions}
        templates = {old.revision_name: old.revision_data} if old.revision_name in known else {}
        views = {"member-1": make.view("member-1", *self.found.values())}
        seen = make.observed(views, revisions=self.revisions, templates=templates)
        before = {"currentRevision": old.revision_name if self.stable else ""}
        result = plan(make.subject(self.target, status=before), seen)
        (row,) = result.results
        return row, result.members.get("default/member-1", ())

    def written(self) -> list[tuple[str, int | None]]:
        """The steps in their order: image and replicas; None for a deletion."""
        image_of = {app.template_hash: image for image, app in self.apps.items()}

        def described(step: MemberStep) -> tuple[str, int | None]:
            replicas = step.body["spec"]["replicas"] if isinstance(step, Apply) else getattr(step, "replicas", None)
            return image_of[step.name.rpartition("-")[2]], replicas

        return [described(step) for step in self.planned()[1]]


def test_what_shrinks_is_written_before_what_grows() -> None:
    """I6, I7: were only the first write carried out, no bound would be broken."""
    subset = Subset(size=4, held=2, maxSurge=0, maxUnavailable=2).has("app:1", 4)
    assert subset.written() == [("app:1", 2), ("app:2", 2)]
    subset = Subset(size=4, held=4, target="app:1", maxSurge=0, maxUnavailable=2).has("app:1", 2).has("app:2", 2)
    assert subset.written() == [("app:2", 0), ("app:1", 4)]


def test_raising_the_partition_leaves_what_is_updated_and_says_so() -> None:
    row, steps = Subset(held=3).has("app:1", 1).has("app:2", 3).planned()
    assert steps == ()
    assert row.settled
    assert row.message.startswith("3 pods are updated where the partition allows 1")


@pytest.mark.parametrize(
    ("size", "held", "old", "new", "expected"),
    [
        (6, 5, 1, 3, [("app:1", 3)]),
        (8, 4, 1, 3, [("app:2", 4), ("app:1", 4)]),
        (3, 3, 1, 3, [("app:2", 2)]),
        (1, 1, 1, 3, [("app:2", 0)]),
        (2, 2, 0, 3, [("app:2", 2), ("app:1", None)]),
        (4, 4, 3, 2, [("app:2", 1)]),
    ],
)
def test_above_the_cap_stable_pods_are_added_and_updated_pods_go_first(
    size: int, held: int, old: int, new: int, expected: list[tuple[str, int | None]]
) -> None:
    """I6; the last one is in the middle of a move, with a pod on top that maxSurge allows."""
    subset = Subset(size=size, held=held, maxSurge=8, maxUnavailable=8).has("app:1", old).has("app:2", new)
    assert subset.written() == expected


@pytest.mark.parametrize(
    ("change", "removed"),
    [
        ({}, True),
        ({"replicas": 1}, False),
        ({"observed_generation": 0}, False),
    ],
)
def test_an_old_deployment_is_removed_when_it_is_empty_and_done(change: dict[str, int], removed: bool) -> None:
    subset = Subset(held=0).has("app:1", 0).has("app:2", 4).status("app:1", **change)
    steps = subset.planned()[1]
    assert [isinstance(step, Delete) for step in steps] == [True] * removed
    assert all(of(Delete, step).uid for step in steps), "only the object that was seen may go"


def test_no_deployment_of_the_target_is_made_while_all_pods_are_held() -> None:
    assert Subset(held=4).has("app:1", 4).planned()[1] == ()
    assert Subset(size=0, held=0).written() == [("app:2", 0)]


@pytest.mark.parametrize("label", ["garbage", "target", "stable"])
@pytest.mark.parametrize("image", ["app:1", "app:2", "app:3"])
def test_the_name_tells_the_revision_of_a_deployment_and_not_a_label(label: str, image: str) -> None:
    """I3, I9: no second Deployment for it, and the label is put back."""
    subset = Subset().has("app:1", 2).has("app:2", 2)
    if image == "app:3":
        subset.has("app:3", 0)
    value = {"target": subset.target.template_hash, "stable": subset.apps["app:1"].template_hash}.get(label, label)
    right = value == subset.apps[image].template_hash
    labels = {**subset.found[image].metadata.labels, names.LABEL_REVISION: value}
    subset.has(image, 0 if image == "app:3" else 2, labels=labels)
    steps = subset.planned()[1]
    if image == "app:3":
        assert [type(step) for step in steps] == [Delete]
        assert steps[0].name == subset.found["app:3"].metadata.name
    elif right:
        assert steps == ()
    else:
        (step,) = steps
        assert isinstance(step, Apply)
        assert step.drift
        assert step.name == subset.found[image].metadata.name
        assert step.body["metadata"]["labels"][names.LABEL_REVISION] == subset.apps[image].template_hash


def test_what_runs_is_held_before_any_version_was_complete() -> None:
    row, steps = Subset(held=4, stable=False).has("app:1", 4).planned()
    assert steps == ()
    assert row.settled


def test_pods_that_are_held_before_any_version_was_complete_are_added_where_most_are() -> None:
    subset = Subset(size=8, held=8, stable=False, target="app:3", maxSurge=8, maxUnavailable=8)
    assert subset.has("app:1", 1).has("app:2", 3).written() == [("app:2", 7)]
    assert Subset(size=4, held=4, stable=False).written() == [("app:2", 4)], "there is no other"
    assert Subset(size=4, held=4, stable=False).has("app:1", 0).written()[0] == ("app:2", 4)


def lost(subset: Subset) -> Subset:
    subset.revisions = subset.revisions[1:]
    return subset


def test_pods_of_a_stable_revision_that_is_lost_are_not_created_updated() -> None:
    """I6"""
    row, steps = lost(Subset(held=3)).planned()
    assert [of(Apply, step).body["spec"]["replicas"] for step in steps] == [1]
    assert row.stalled
    assert row.message.startswith("3 pods that the partition holds cannot be created")
    row, steps = lost(Subset(held=4)).planned()
    assert steps == ()
    assert row.stalled


def test_pods_of_a_stable_revision_that_is_lost_stay_and_are_added_where_its_deployment_is() -> None:
    row, steps = lost(Subset(held=2).has("app:1", 2).has("app:2", 2)).planned()
    assert steps == ()
    assert row.settled
    (step,) = lost(Subset(size=6, held=4).has("app:1", 2).has("app:2", 2)).planned()[1]
    assert isinstance(step, Scale)
    assert step.replicas == 4


def test_a_stable_revision_that_is_lost_matters_to_nobody_without_a_partition() -> None:
    row, steps = lost(Subset(held=0)).planned()
    assert [of(Apply, step).body["spec"]["replicas"] for step in steps] == [4]
    assert not row.stalled


def test_updated_pods_that_are_not_ready_are_waited_for() -> None:
    subset = Subset(maxSurge=0, maxUnavailable=1).has("app:1", 2).has("app:2", 2, 1)
    row, steps = subset.planned()
    assert steps == ()
    assert row.message == "1 of 2 pods updated and ready"
    row, _ = Subset(maxSurge=0, maxUnavailable=1).has("app:1", 2, 1).has("app:2", 2).planned()
    assert row.message == "3 of 4 pods ready"
    row, _ = Subset().has("app:1", 2).has("app:2", 2).status("app:1", replicas=3).planned()
    assert row.message == "4 of 4 pods ready", "one more goes away"
    row, _ = Subset().has("app:1", 2).has("app:2", 2).status("app:1", observed_generation=0).planned()
    assert row.message == "until its controller has seen the change"


def test_while_something_is_written_the_message_says_what() -> None:
    row, steps = Subset().has("app:1", 4).planned()
    assert len(steps) == 2
    assert row.message == ", ".join(step.why for step in steps)
    assert not row.settled


def test_a_deployment_that_was_there_before_is_known_by_its_label() -> None:
    """Its name is its own."""
    row, steps = Subset(held=0).has("app:2", 4, name="old-web").planned()
    assert [(step.name, of(Apply, step).create) for step in steps] == [("old-web", False)]
    assert row.workload == "Deployment/old-web"
    assert row.revisions == (RevisionCount(Subset().target.template_hash, 4, 4),)
