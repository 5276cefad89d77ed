"""Workloads with a partition of their own: the writes for each state of the workload and its controller (I6)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import msgspec
import pytest

from tests.support import planning as make
from tests.support.narrowing import of, present
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import (
    CONTROLLER_REVISION,
    Pod,
    RollingUpdate,
    UpdateStrategy,
    Workload,
    WorkloadSpec,
)
from uniteddeployment.planning.observed import WorkloadStatus as Status
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import Apply, DeletePod, MemberStep, Scale
from uniteddeployment_api import names

SHARES = {"member-1": None, "member-2": 1}


class Subset:
    """One subset in mid-canary: stable app:1, target app:2 by default, and what its member shows."""

    def __init__(
        self,
        *,
        size: int = 4,
        held: int | str = 2,
        kind: str = "statefulSetTemplate",
        target: str = "app:2",
        stable: bool = True,
        **spec: Any,
    ) -> None:
        self.kind = kind
        self.apps = {image: self.app(image, size, held, spec) for image in ("app:1", "app:2", "app:3")}
        self.target = self.apps[target]
        self.stable = stable
        self.found: Workload | None = None
        self.pods: list[Pod] = []
        self.templates = True
        self.revisions = tuple(make.record(app, number) for number, app in enumerate(self.apps.values(), 1))

    def app(self, image: str, size: int, held: int | str, spec: dict[str, Any]) -> Application:
        document = make.manifest(kind=self.kind, image=image, replicas=size + 1, shares=SHARES)
        document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"member-1": held, "member-2": "100%"}}}
        document["spec"]["template"][self.kind]["spec"] |= spec
        return make.application(document)

    def hash(self, image: str) -> str:
        return self.apps[image].template_hash

    def shows(
        self,
        template: str,
        *images: str | None,
        size: int | None = None,
        partition: int = 0,
        current: str | None = None,
        observed: bool = True,
        ready: list[int] | None = None,
        **status: Any,
    ) -> Self:
        """The member has a workload with this template and pods of these images, by ordinal; None where one is missing.

        ``current`` is the image of the revision that its controller calls the current one.
        """
        there = [image for image in images if image is not None]
        size = len(images) if size is None else size
        counts: dict[str, Any] = {
            "replicas": len(there),
            "ready_replicas": len(there),
            "available_replicas": len(there),
            "updated_replicas": there.count(template),
            "current_revision": self.native(current or template),
            "update_revision": self.native(template),
        }
        kept = Status(observed_generation=2 if observed else 1, **(counts | status))
        app = self.apps[template]
        made = make.stateful_set(app, "member-1", replicas=size, partition=partition, generation=2, status=kept)
        strategy = UpdateStrategy("", None, partition) if self.kind == "cloneSetTemplate" else made.spec.update_strategy
        self.found = msgspec.structs.replace(made, spec=WorkloadSpec(size, strategy))
        self.pods = [self.pod(image, ordinal) for ordinal, image in enumerate(images) if image is not None]
        if ready is not None:
            for ordinal in set(range(len(images))) - set(ready):
                self.change(ordinal, ready=False)
        return self

    def native(self, image: str) -> str:
        return f"web-member-1-{self.hash(image)}" if image in self.apps else image

    def pod(self, image: str, ordinal: int) -> Pod:
        (pod,) = make.pods(self.target, "member-1", [self.hash(image)])
        labels = {**pod.metadata.labels, CONTROLLER_REVISION: self.native(image)}
        metadata = msgspec.structs.replace(pod.metadata, name=f"p-{ordinal}", uid=f"uid-{ordinal}", labels=labels)
        return msgspec.structs.replace(pod, metadata=metadata)

    def change(self, ordinal: int, *, ready: bool = True, **metadata: Any) -> Self:
        """Change the metadata of a pod, or make it not ready."""
        index = next(index for index, pod in enumerate(self.pods) if pod.ordinal == ordinal)
        pod = self.pods[index]
        conditions = tuple(msgspec.structs.replace(one, status=str(ready)) for one in pod.status.conditions)
        self.pods[index] = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, **metadata),
            status=msgspec.structs.replace(pod.status, conditions=conditions),
        )
        return self

    def planned(self, **observed: Any) -> tuple[SubsetResult, MemberStep | None]:
        """The row and the only step of the subset, or None."""
        self.look(**observed)
        steps = self.plan.members.get("default/member-1", ())
        assert len(steps) <= 1
        (row,) = [row for row in self.plan.results if row.name == "member-1"]
        return row, steps[0] if steps else None

    def look(self, **observed: Any) -> None:
        """Plan with what is there."""
        before = {"currentRevision": self.apps["app:1"].revision_name if self.stable else ""}
        old = self.apps["app:1"]
        templates = {old.revision_name: old.revision_data} if self.templates else {}
        found = [self.found] if self.found is not None else []
        other = make.stateful_set(old, "member-2", replicas=1)
        views = {
            "member-1": make.view("member-1", *found, pods=self.pods),
            "member-2": make.view("member-2", other, pods=make.pods(old, "member-2", [old.template_hash])),
        }
        seen = make.observed(views, revisions=self.revisions, templates=templates)
        self.plan = plan(make.subject(self.target, status=before), replace(seen, **observed))

    def written(self, **observed: Any) -> tuple[str, int, int] | None:
        """What is written to the workload: image, replicas and partition; nothing if nothing is."""
        step = self.planned(**observed)[1]
        if step is None:
            return None
        assert isinstance(step, Apply), step
        spec = step.body["spec"]
        strategy = spec["updateStrategy"]
        partition = strategy.get("partition", (strategy.get("rollingUpdate") or {}).get("partition"))
        return spec["template"]["spec"]["containers"][0]["image"], spec["replicas"], partition


# --- What its controller remembers ------------------------------------------------------------------------------------


def test_a_canary_whose_controller_remembers_the_stable_revision_grows_with_its_template() -> None:
    subset = Subset(size=8, held=6).shows("app:2", "app:1", "app:1", "app:2", "app:2", partition=2, current="app:1")
    assert subset.written() == ("app:2", 8, 8), "updated pods are before the partition"


@pytest.mark.parametrize("hash_only", [False, True])
def test_a_controller_that_has_forgotten_the_stable_revision_is_shown_it_when_the_subset_grows(hash_only: bool) -> None:
    """Some controllers label pods with the hash of the revision alone."""
    subset = Subset(size=6, held=6).shows("app:2", "app:2", "app:2")
    if hash_only:
        for ordinal in range(2):
            subset.change(
                ordinal, labels={**subset.pods[ordinal].metadata.labels, CONTROLLER_REVISION: subset.hash("app:2")}
            )
    assert subset.written() == ("app:1", 6, 2)
    row, step = subset.planned()
    assert "stable revision" in of(Apply, step).why
    assert not row.settled


def test_pods_that_the_partition_allows_are_created_updated_where_the_target_is_what_it_remembers() -> None:
    assert Subset(size=6, held=2).shows("app:2", "app:2", "app:2").written() == ("app:1", 6, 4)


def test_pods_are_created_stable_where_it_remembers_a_third_revision_whatever_the_partition_allows() -> None:
    subset = Subset(size=6, held=2, target="app:3").shows("app:2", "app:2", "app:2")
    assert subset.written() == ("app:1", 6, 2)


def test_it_does_not_remember_what_only_pods_that_go_away_have() -> None:
    """Without them its update may be complete at any moment."""
    subset = Subset(size=6, held=4).shows("app:2", "app:1", "app:2", "app:2", partition=1, current="app:1")
    assert subset.written() == ("app:2", 6, 6)
    subset.change(0, deletion_timestamp=make.NOW)
    assert subset.written() == ("app:1", 6, 3)


def test_it_does_not_remember_the_stable_revision_because_pods_have_it() -> None:
    """They were created from its template once; the current revision is another one."""
    subset = Subset(size=6, held=6, target="app:3").shows(
        "app:3", "app:2", "app:2", "app:1", current="app:2", partition=3
    )
    assert subset.written() == ("app:1", 6, 2)


def test_an_old_status_tells_nothing_of_the_new_template() -> None:
    """Its two revisions are the same, but not yet of this template."""
    old: dict[str, Any] = {"current_revision": "same", "update_revision": "same"}
    subset = Subset(held=2).shows("app:2", "app:1", "app:1", "app:1", "app:1", partition=2, observed=False, **old)
    assert subset.planned()[1] is None


def test_a_label_that_says_it_shows_the_stable_revision_is_not_believed_against_its_pods() -> None:
    subset = Subset(size=6, held=6).shows("app:2", "app:2", "app:2")
    found = present(subset.found)
    labels = {**found.metadata.labels, names.LABEL_REVISION: subset.hash("app:1")}
    subset.found = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, labels=labels))
    assert subset.written() == ("app:1", 6, 2)


def test_nothing_is_shown_as_long_as_nothing_is_to_be_created() -> None:
    """I3: raising the partition is one write, and then it is settled."""
    subset = Subset(held=4).shows("app:2", "app:2", "app:2", "app:2", "app:2")
    assert subset.written() == ("app:2", 4, 4)
    row, step = subset.shows("app:2", *["app:2"] * 4, partition=4).planned()
    assert step is None
    assert row.settled
    assert row.message == (
        "4 pods are updated where the partition allows 0: raising a partition reverts none; "
        "to revert them, use manualUpdate.revert or the earlier template"
    )


def test_pods_that_were_asked_for_and_not_created_yet_are_created_stable_when_the_partition_is_raised() -> None:
    subset = Subset(size=6, held="100%").shows("app:2", "app:2", "app:2", "app:2", size=6)
    assert subset.written() == ("app:1", 6, 3)
    subset = Subset(size=6, held="100%").shows("app:2", "app:2", "app:2", "app:2", size=6, observed=False)
    assert subset.written() == ("app:2", 6, 6), "what its controller does next is not known"


def test_a_strategy_that_waits_for_people_is_left_alone() -> None:
    """OnDelete creates pods at the newest revision only, whatever is remembered."""
    subset = Subset(size=6, held=6, updateStrategy={"type": "OnDelete"}).shows("app:2", "app:2", "app:2")
    strategy = UpdateStrategy("OnDelete", None)
    subset.found = msgspec.structs.replace(present(subset.found), spec=WorkloadSpec(2, strategy))
    assert isinstance(subset.planned()[1], Scale)


def test_each_write_says_what_it_changes() -> None:
    def why(subset: Subset, **observed: Any) -> tuple[str, bool]:
        step = subset.planned(**observed)[1]
        assert isinstance(step, Apply | Scale)
        return step.why, isinstance(step, Apply) and step.drift

    canary = ["app:1", "app:1", "app:2", "app:2"]
    settled = Subset(held=2).shows("app:2", *canary, partition=2, current="app:1")
    assert settled.planned()[1] is None
    assert why(settled, generations={}) == ("put back what somebody else changed", True)
    first, second = settled.hash("app:1"), settled.hash("app:2")
    update = Subset(held=2).shows("app:1", *["app:1"] * 4)
    assert why(update) == (f"revision {first} to {second}, partition 0 to 2", False)
    assert update.found is not None
    labels = {key: value for key, value in update.found.metadata.labels.items() if key != names.LABEL_REVISION}
    meta = msgspec.structs.replace(update.found.metadata, labels=labels)
    update.found = msgspec.structs.replace(update.found, metadata=meta)
    assert why(update) == (f"revision unknown to {second}, partition 0 to 2", False)
    assert why(Subset(held=1).shows("app:2", *canary, partition=2, current="app:1")) == ("partition 2 to 1", False)
    larger = Subset(size=5, held=2).shows("app:2", *canary, partition=2, current="app:1")
    assert why(larger) == ("replicas 4 to 5", False)
    annotated = settled.found
    assert annotated is not None
    annotations = {**annotated.metadata.annotations, names.ANNOTATION_APPLIED: "another"}
    meta = msgspec.structs.replace(annotated.metadata, annotations=annotations)
    settled.found = msgspec.structs.replace(annotated, metadata=meta)
    assert why(settled) == ("template or metadata", False)


# --- While its template is the stable one -----------------------------------------------------------------------------


def inverted(*images: Any, partition: int = 2, **more: Any) -> Callable[..., Any]:
    """A workload that has been shown the stable revision to create pods at it."""
    options = {"current": "app:2", "partition": partition} | more
    return lambda subset: subset.shows("app:1", *images, **options)


def test_it_stays_as_it_is_while_nothing_more_may_be_updated() -> None:
    """I3: it is as asked for, and nothing is written."""
    subset = inverted("app:2", "app:2", "app:1", "app:1")(Subset(held=2))
    row, step = subset.planned()
    assert step is None
    assert row.settled
    assert row.counts.updated == 2


def test_it_grows_and_shrinks_with_the_same_template() -> None:
    grown = inverted("app:2", "app:2", "app:1", "app:1")(Subset(size=6, held=4))
    assert isinstance(grown.planned()[1], Scale)
    shrunk = inverted("app:2", "app:2", "app:1", "app:1")(Subset(size=1, held=1))
    assert shrunk.written() == ("app:1", 1, 1)


def test_one_pod_after_the_other_is_updated_when_the_partition_is_lowered() -> None:
    subset = inverted("app:2", "app:2", *["app:1"] * 4)(Subset(size=6, held=2))
    assert subset.written() == ("app:1", 6, 4)
    subset = inverted("app:2", "app:2", *["app:1"] * 4, partition=4)(Subset(size=6, held=2))
    row, step = subset.planned()
    assert isinstance(step, DeletePod)
    assert (step.name, step.uid) == ("p-2", "uid-2")
    assert "update it" in row.message
    assert not row.settled


@pytest.mark.parametrize(
    "change",
    [
        {"observed": False},
        {"available_replicas": 5},
        {"replicas": 5},
        {"replicas": 7},
    ],
)
def test_no_pod_is_updated_before_all_are_there_and_available(change: dict[str, int]) -> None:
    subset = inverted("app:2", "app:2", *["app:1"] * 4, partition=4, **change)(Subset(size=6, held=2))
    assert not isinstance(subset.planned()[1], DeletePod)


def test_no_pod_is_updated_while_another_goes_away() -> None:
    subset = inverted("app:2", "app:2", *["app:1"] * 4, partition=4)(Subset(size=6, held=2))
    subset.change(3, deletion_timestamp=make.NOW)
    assert subset.planned()[1] is None


def test_a_pod_that_is_not_ready_is_updated_first_and_none_at_or_after_the_partition() -> None:
    images = ["app:2", *["app:1"] * 5]
    subset = inverted(*images, partition=4, ready=[0, 1, 2, 4, 5])(Subset(size=6, held=2))
    assert subset.planned()[1].name == "p-3"
    subset = inverted(*["app:1"] * 3, "app:2", "app:2", "app:2", partition=0)(Subset(size=6, held=2))
    assert not isinstance(subset.planned()[1], DeletePod)


def test_a_third_version_gets_its_template_when_it_may_update_pods() -> None:
    images = ["app:2", "app:2", "app:1", "app:1"]
    subset = inverted(*images)(Subset(held=4, target="app:3"))
    assert subset.planned()[1] is None, "nothing may be updated as yet"
    subset = inverted(*images)(Subset(held=3, target="app:3"))
    assert subset.written() == ("app:3", 4, 3)
    subset = inverted(*images)(Subset(size=6, held=3, target="app:3"))
    assert isinstance(subset.planned()[1], Scale), "what is added is added at the stable revision first"


def test_what_is_missing_is_waited_for_before_the_third_version_comes() -> None:
    subset = inverted("app:2", "app:2", "app:1", None)(Subset(held=3, target="app:3"))
    assert subset.planned()[1] is None
    assert not subset.planned()[0].settled


def test_with_no_partition_its_controller_updates_the_rest() -> None:
    subset = inverted("app:2", "app:2", "app:1", "app:1")(Subset(held=0))
    assert subset.written() == ("app:2", 4, 0)


def test_going_back_to_the_stable_revision_reaches_all_pods_before_the_partition_is_written() -> None:
    subset = inverted("app:2", "app:2", "app:1", "app:1")(Subset(held=2, target="app:1"))
    assert subset.written() == ("app:1", 4, 0)
    subset = Subset(held=2, target="app:1").shows("app:1", *["app:1"] * 4, current="app:2")
    assert subset.planned()[1] is None, "its controller would create lost pods at the other revision"
    assert Subset(held=2, target="app:1").shows("app:1", *["app:1"] * 4).written() == ("app:1", 4, 2)


@pytest.mark.parametrize("images", [["app:2", "app:1"], ["app:2"]])
def test_what_a_controller_said_of_an_earlier_template_does_not_show_that_all_pods_are_back(images: list[str]) -> None:
    """Its status still counts the pods at the revision that is to go as updated."""
    subset = Subset(size=len(images), held=1, target="app:1")
    subset.shows("app:1", *images, current="app:2", observed=False, updated_replicas=len(images))
    assert subset.planned()[1] is None


@pytest.mark.parametrize("partition", [0, 2])
def test_a_partition_is_not_written_again_before_its_controller_has_observed_the_last_write(partition: int) -> None:
    """Each of two partitions looked wrong after the other one was written, and they alternated forever."""
    subset = Subset(held=2, target="app:1").shows("app:1", *["app:1"] * 4, partition=partition, observed=False)
    assert subset.planned()[1] is None


def test_a_cloneset_keeps_a_number_of_pods_wherever_they_are() -> None:
    kind = "cloneSetTemplate"
    assert Subset(size=6, held=6, kind=kind).shows("app:2", "app:2", "app:2").written() == ("app:1", 6, 2)
    subset = inverted("app:2", "app:2", "app:1", "app:1", "app:1")(Subset(size=3, held=3, kind=kind))
    assert subset.written() == ("app:1", 3, 0), "pods above the cap go first"
    subset = inverted("app:2", *["app:1"] * 3, partition=3)(Subset(held=1, kind=kind))
    assert isinstance(subset.planned()[1], DeletePod)


# --- Coming back from zero, and creation ------------------------------------------------------------------------------


@pytest.mark.parametrize("template", ["app:2", "app:3"])
@pytest.mark.parametrize("left", [[], ["app:1"]])
def test_a_workload_that_comes_back_from_zero_is_shown_the_stable_revision_first(
    template: str, left: list[str]
) -> None:
    """Also while pods still go away: its controller may forget the stable revision at any moment."""
    subset = Subset(held=2).shows(template, *left, size=0, current="app:1")
    for ordinal in range(len(left)):
        subset.change(ordinal, deletion_timestamp=make.NOW)
    assert subset.written() == ("app:1", 0, 0)


def test_a_workload_back_from_zero_gets_the_target_when_its_controller_has_noted_the_stable_revision() -> None:
    for waiting in ({"observed": False}, {"current": "app:2"}):
        subset = Subset(held=2).shows("app:1", size=0, **waiting)
        row, step = subset.planned()
        assert step is None
        assert row.message == f"until its controller has noted the stable revision {subset.hash('app:1')}"
        assert row.workload == "StatefulSet/web-member-1"
    assert Subset(held=2).shows("app:1", size=0).written() == ("app:2", 4, 2)


def test_a_label_alone_does_not_say_that_the_stable_revision_was_shown_at_zero() -> None:
    subset = Subset(held=2).shows("app:2", size=0)
    found = present(subset.found)
    labels = {**found.metadata.labels, names.LABEL_REVISION: subset.hash("app:1")}
    subset.found = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, labels=labels))
    assert subset.written() == ("app:1", 0, 0)


def test_the_stable_template_is_loaded_only_when_it_has_to_be_shown() -> None:
    """One request less for each rollout."""
    subset = Subset(held=2).shows("app:1", *["app:1"] * 4)
    subset.templates = False
    assert subset.written() == ("app:2", 4, 2)
    subset = Subset(size=6, held=6).shows("app:2", "app:2", "app:2")
    subset.templates = False
    subset.look()
    assert subset.plan.missing == {subset.apps["app:1"].revision_name}


# --- Without a stable revision ----------------------------------------------------------------------------------------


def test_what_runs_is_held_before_any_version_was_complete_and_that_is_as_asked_for() -> None:
    subset = Subset(held="100%", stable=False).shows("app:1", *["app:1"] * 4)
    assert subset.written() == ("app:2", 4, 4)
    subset = Subset(held="100%", stable=False).shows("app:2", *["app:1"] * 4, partition=4, current="app:1")
    row, step = subset.planned()
    assert step is None
    assert row.settled
    assert row.message == (
        "4 pods are held by the partition at the revision that they have: no version was complete before this one"
    )
    assert make.status_of(subset.plan)["currentRevision"] == ""


def test_as_many_are_updated_as_the_partition_allows_before_any_version_was_complete() -> None:
    images = ["app:1", "app:1", "app:2", "app:2"]
    subset = Subset(held=2, stable=False).shows("app:2", *images, partition=2, current="app:1")
    assert subset.planned()[0].settled
    subset = Subset(held=1, stable=False).shows("app:2", *images, partition=1, current="app:1")
    row, _ = subset.planned()
    assert not row.settled
    assert row.message == "2 of 3 pods updated and ready"


def lost(subset: Subset, problem: str | None = None) -> Subset:
    """Somebody has deleted the stable revision, or damaged it."""
    gone = subset.apps["app:1"].revision_name
    if problem:
        subset.revisions = tuple(replace(one, problem=problem) if one.name == gone else one for one in subset.revisions)
    else:
        subset.revisions = tuple(one for one in subset.revisions if one.name != gone)
    return subset


WAY_OUT = "Lower the partition to 0, or apply the template of the stable version and then the new one again"


@pytest.mark.parametrize("problem", [None, "its data is garbage"])
def test_held_pods_stay_when_the_stable_revision_is_lost(problem: str | None) -> None:
    images = ["app:1", "app:1", "app:2", "app:2"]
    subset = lost(Subset(held=2).shows("app:2", *images, partition=2, current="app:1"), problem)
    row, step = subset.planned()
    assert step is None
    assert row.settled
    why = f"cannot be used ({problem})" if problem else "is gone"
    assert row.message.endswith(
        f"the ControllerRevision {subset.apps['app:1'].revision_name} of the stable version {why}"
    )


def test_a_controller_that_remembers_held_pods_may_grow_when_the_stable_revision_is_lost() -> None:
    subset = lost(Subset(size=6, held=5).shows("app:2", "app:1", "app:2", partition=1, current="app:1"))
    assert subset.written() == ("app:2", 6, 6)


def stalls(subset: Subset, missing: int) -> MemberStep | None:
    row, step = subset.planned()
    assert row.stalled
    assert not row.settled
    assert row.message.startswith(f"{missing} pods that the partition holds cannot be created: the ControllerRevision")
    assert row.message.endswith(WAY_OUT)
    return step


def test_pods_that_cannot_be_created_at_the_stable_revision_stall_the_subset() -> None:
    assert stalls(lost(Subset(size=6, held=5).shows("app:2", "app:2", "app:2")), 4) is None
    assert stalls(lost(Subset(held=4).shows("app:2", size=0)), 4) is None
    assert stalls(lost(Subset(held=4)), 4) is None


def test_pods_that_the_partition_allows_are_created_all_the_same() -> None:
    created = of(Apply, stalls(lost(Subset(held=3)), 3))
    assert (created.body["spec"]["replicas"], created.create) == (1, True)
    assert of(Scale, lost(Subset(held=3).shows("app:2", size=0)).planned()[1]).replicas == 1
    assert stalls(lost(Subset(held=3).shows("app:2", "app:2")), 3) is None


def test_a_subset_that_shrinks_needs_no_stable_revision() -> None:
    assert isinstance(lost(Subset(size=1, held=1).shows("app:2", "app:2", "app:2", partition=1)).planned()[1], Scale)


# --- Counts and progress ----------------------------------------------------------------------------------------------


def test_updated_pods_that_are_not_ready_are_waited_for() -> None:
    images = ["app:1", "app:1", "app:2", "app:2"]
    subset = Subset(held=2).shows("app:2", *images, partition=2, current="app:1", ready=[0, 1, 2])
    row, _ = subset.planned()
    assert row.message == "1 of 2 pods updated and ready"


def test_pods_that_canaries_before_the_partition_hold_back_are_not_waited_for() -> None:
    images = [*["app:1"] * 3, "app:2", *["app:1"] * 4]
    subset = Subset(size=8, held=6).shows("app:2", *images, partition=7, current="app:1")
    subset.pods = subset.pods[:7]
    subset.found = msgspec.structs.replace(
        present(subset.found), spec=WorkloadSpec(8, UpdateStrategy("RollingUpdate", RollingUpdate(7)))
    )
    assert subset.planned()[0].settled


def test_the_highest_pod_that_keeps_a_statefulset_from_going_on_is_replaced_first() -> None:
    """It updates from the last one on, so lower ones may yet get ready before their turn."""
    subset = Subset(held=1).shows("app:2", *["app:1"] * 4, partition=1, current="app:1", ready=[3])
    step = subset.planned()[1]
    assert isinstance(step, DeletePod)
    assert step.name == "p-2"
    assert subset.change(1, deletion_timestamp=make.NOW).planned()[1] is None, "one at a time"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"ready": [0, 1, 2, 3]}, None),
        ({"ready": [2, 3], "partition": 2}, None),
        ({"ready": [1, 2, 3], "partition": 0}, "p-0"),
        ({"ready": [0], "observed": False}, None),
    ],
)
def test_no_other_pod_is_replaced(change: dict[str, Any], expected: str | None) -> None:
    """Ready ones, those that the partition holds, and while its controller has not seen the change."""
    options: dict[str, Any] = {"partition": 1, "current": "app:1"} | change
    held = options["partition"]
    step = Subset(held=held).shows("app:2", *["app:1"] * 4, **options).planned()[1]
    assert (step.name if step else None) == expected


def test_pods_of_a_parallel_statefulset_are_left_to_its_controller() -> None:
    """It does not wait for pods that are not ready."""
    subset = Subset(held=1, podManagementPolicy="Parallel")
    subset.shows("app:2", *["app:1"] * 4, partition=1, current="app:1", ready=[3])
    assert subset.planned()[1] is None
