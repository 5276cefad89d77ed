"""The snapshot that a plan is made from: which clusters are in it, and what is known of the last process's writes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.support import planning as make
from uniteddeployment.controller.failures import Failure
from uniteddeployment.controller.observe import Observer
from uniteddeployment.fleet.cache import AppKey, MemberCache
from uniteddeployment.fleet.clusters import AllowedNamespaces, ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import (
    ClusterFacts,
    FleetFacts,
    MemberView,
    Reach,
    Refusal,
    Workload,
    WorkloadRef,
)
from uniteddeployment.planning.plan import plan
from uniteddeployment.planning.steps import Delete
from uniteddeployment.planning.stored import NO_STATUS
from uniteddeployment_api import names

CLUSTER = "default/member-1"
NOTED = (CLUSTER, "StatefulSet", "web-member-1")
APP = make.application(make.manifest())


class Revisions:
    """A host that keeps no revisions."""

    def records(self, _key: tuple[str, str]) -> tuple[()]:
        return ()

    def orphaning_checked(self, uid: str) -> bool:
        return uid == "uid-checked"


class Member:
    """A member whose cache has something of some applications."""

    def __init__(self, name: str, has: set[AppKey]) -> None:
        self.name = name
        self.cache: MemberCache | set[AppKey] = has


class Clusters:
    """A fleet with ready-made views; clusters without one are not there."""

    def __init__(self, *views: MemberView, labels: Mapping[str, dict[str, str]] | None = None) -> None:
        self.views = {view.name: view for view in views}
        self.has: dict[str, set[AppKey]] = {}
        self._labels = labels or {}
        self.known: dict[str, ClusterFacts] = {}

    def members(self) -> Iterator[Member]:
        return (Member(name, self.has.get(name, set())) for name in self.views)

    def view(self, cluster: str, _key: AppKey) -> MemberView:
        return self.views.get(cluster) or MemberView(cluster, Reach.UNKNOWN)

    def facts(self, cluster: str) -> ClusterFacts | None:
        return self.known.get(cluster)

    def fleet_facts(self) -> FleetFacts:
        return FleetFacts(len(self.known))

    def cluster(self, cluster: str) -> ClusterObject | None:
        namespace, _, name = cluster.partition("/")
        return ClusterObject(ClusterMetadata(name, namespace, labels=self._labels.get(cluster, {})))


def observer(clusters: Clusters) -> Observer:
    return Observer(Revisions(), clusters, lambda: datetime(2026, 1, 1, tzinfo=UTC))  # type: ignore[arg-type]  # stand-ins


def subject(**entry: Any) -> Subject:
    """One whose status knows that the StatefulSet in member-1 was at generation 3 after our last write."""
    known = {"name": "member-1", "cluster": CLUSTER, "workload": "StatefulSet/web-member-1", "observedGeneration": 3}
    return make.subject(APP, status={"subsetStatuses": [{**known, **entry}]})


def found(generation: int = 3, **more: Any) -> Workload:
    return replace_metadata(make.stateful_set(APP, "member-1", replicas=4, generation=generation), **more)


def replace_metadata(workload: Workload, **more: Any) -> Workload:
    return msgspec.structs.replace(workload, metadata=msgspec.structs.replace(workload.metadata, **more))


@pytest.mark.parametrize("reach", [Reach.READY, Reach.OFFLINE])
def test_a_generation_that_status_knows_of_is_taken_over(reach: Reach) -> None:
    """I3: a restart does not look at each workload again."""
    clusters = Clusters(make.view("member-1", found(), reach=reach))
    assert observer(clusters).observe(subject()).generations == {NOTED: 3}


STRANGERS: dict[str, Workload] = {
    "changed since": found(generation=4),
    "another application's": found(annotations={names.ANNOTATION_OWNER_UID: "uid-other"}),
    "another subset's": found(labels={names.LABEL_SUBSET: "member-2"}),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_workload_that_is_not_what_status_speaks_of_has_to_be_looked_at(case: str) -> None:
    """I9: somebody may have changed it while no controller ran."""
    clusters = Clusters(make.view("member-1", STRANGERS[case]))
    assert observer(clusters).observe(subject()).generations == {}


def test_a_workload_of_another_kind_does_not_count() -> None:
    """While a subset changes its kind, two workloads run it; status speaks of one."""
    old = msgspec.structs.replace(found(generation=2, name="web-member-1-abc"), kind="Deployment")
    clusters = Clusters(make.view("member-1", found(), old))
    assert observer(clusters).observe(subject()).generations == {NOTED: 3}


def test_nothing_is_taken_over_before_the_workloads_can_be_seen() -> None:
    """I9: an empty cache would look as if there was nothing."""
    for early in (
        MemberView(CLUSTER, Reach.PENDING),
        MemberView(CLUSTER, Reach.READY, unread={"StatefulSet": "cannot be read"}),
    ):
        clusters = Clusters(early)
        seen = observer(clusters)
        assert seen.observe(subject()).generations == {}
        clusters.views[CLUSTER] = make.view("member-1", found())
        assert seen.observe(subject()).generations == {NOTED: 3}


def test_status_is_asked_only_once() -> None:
    """I9: later it repeats what this process wrote, also when somebody else has changed the workload since."""
    clusters = Clusters(make.view("member-1", found(generation=4)))
    seen = observer(clusters)
    seen.observe(subject())
    assert seen.observe(subject(observedGeneration=4)).generations == {}


def test_what_this_process_wrote_goes_before_what_status_says() -> None:
    clusters = Clusters(make.view("member-1", found(generation=3)))
    seen = observer(clusters)
    seen.memory(subject()).generations[NOTED] = 7
    assert seen.observe(subject()).generations == {NOTED: 7}


def test_a_namesake_begins_with_no_memory() -> None:
    """I9: what was noted of an application that is gone says nothing about the next one of that name."""
    clusters = Clusters(make.view("member-1", found()))
    seen = observer(clusters)
    seen.observe(subject())
    assert seen.observe(replace(subject(), uid="uid-next", status=NO_STATUS)).generations == {}


def test_the_clusters_looked_at_are_those_of_the_topology_of_status_and_where_something_was_seen() -> None:
    """I7: nothing that may be left in a cluster is overlooked."""
    clusters = Clusters(*(MemberView(f"default/{name}", Reach.READY) for name in ("member-1", "old", "stray", "idle")))
    clusters.has["default/stray"] = {("default", "web")}
    seen = observer(clusters)
    observed = seen.observe(subject(cluster="default/old"))
    members = {f"default/{name}" for name in ("member-1", "member-2", "member-3", "old", "stray")}
    assert set(observed.members) == members
    assert all(seen.in_cluster(name) == {("default", "web")} for name in members)
    assert not seen.in_cluster("default/idle")


def test_the_cluster_that_is_used_in_place_of_another_is_looked_at_as_well() -> None:
    """I8, I14: what was applied through either of two Clusters for one server is seen through the one that is used."""
    duplicate = MemberView(CLUSTER, Reach.UNKNOWN, "the same server", same_as="default/first")
    clusters = Clusters(duplicate, MemberView("default/first", Reach.OFFLINE))
    assert observer(clusters).observe(subject()).members["default/first"].reach is Reach.OFFLINE


def test_the_cluster_that_a_workload_was_applied_through_is_looked_at_as_well() -> None:
    """I14: whether it still exists decides who may remove the workload."""
    notes = {names.ANNOTATION_OWNER_UID: "uid-web", names.ANNOTATION_CLUSTER: "default/before"}
    clusters = Clusters(make.view("member-1", found(annotations=notes)))
    assert observer(clusters).observe(subject()).members["default/before"].reach is Reach.UNKNOWN


def test_a_snapshot_has_the_facts_of_each_cluster_that_has_any_and_of_the_fleet() -> None:
    clusters = Clusters(make.view("member-1"), make.view("member-2"))
    facts = clusters.known[CLUSTER] = ClusterFacts(offline_since="2026-01-01T00:00:00Z")
    seen = observer(clusters).observe(subject())
    assert seen.now == "2026-01-01T00:00:00Z"
    assert (seen.clusters, seen.fleet) == ({CLUSTER: facts}, FleetFacts(1))


def test_a_snapshot_says_whether_it_is_known_how_this_very_application_is_deleted() -> None:
    known = make.subject(make.application(make.manifest(), uid="uid-checked"))
    assert observer(Clusters()).observe(known).orphaning_checked
    assert not observer(Clusters()).observe(subject()).orphaning_checked


def test_a_cluster_that_is_left_is_not_remembered() -> None:
    clusters = Clusters(MemberView("default/old", Reach.READY))
    seen = observer(clusters)
    seen.observe(subject(cluster="default/old"))
    seen.observe(subject())
    assert not seen.in_cluster("default/old")
    seen.forget(("default", "web"))
    assert not seen.in_cluster(CLUSTER)


REGISTRIES: dict[str, dict[str, Any]] = {
    "namespaces": {"namespaces": ["elsewhere"]},
    "selector": {"selector": {"tier": "gold"}},
}


@pytest.mark.parametrize("rule", REGISTRIES)
def test_a_cluster_that_the_registry_query_leaves_out_is_seen_and_not_written_to(rule: str) -> None:
    """I13: what runs there is still shown."""
    document = make.manifest()
    document["spec"]["topology"]["clusterRegistry"] = REGISTRIES[rule]
    app = make.application(document)
    clusters = Clusters(make.view("member-1", found()))
    view = observer(clusters).observe(make.subject(app)).members[CLUSTER]
    assert (view.reach, len(view.workloads)) == (Reach.UNKNOWN, 1)
    assert rule in view.detail
    going = replace(make.subject(app), deleting=True)
    assert observer(clusters).observe(going).members[CLUSTER].reach is Reach.READY


@pytest.mark.parametrize("rule", [{"namespaces": ["default"]}, {"selector": {"tier": "gold"}}])
def test_a_cluster_that_the_registry_query_takes_in_is_as_it_is(rule: dict[str, Any]) -> None:
    document = make.manifest()
    document["spec"]["topology"]["clusterRegistry"] = rule
    clusters = Clusters(make.view("member-1"), labels={CLUSTER: {"tier": "gold"}})
    view = observer(clusters).observe(make.subject(make.application(document))).members[CLUSTER]
    assert view.reach is Reach.READY


PROFILE = {"apiVersion": names.CLUSTER_PROFILE_API_VERSION, "kind": names.CLUSTER_PROFILE_KIND}


class WithoutObjects(Clusters):
    """No cluster has a Cluster object."""

    def cluster(self, cluster: str) -> None:
        return None


@pytest.mark.parametrize(
    ("clusters", "registry", "reach", "detail"),
    [
        (Clusters, {"clusterType": PROFILE}, Reach.UNKNOWN, "it is broken. What runs there is left as it is"),
        (WithoutObjects, {"clusterType": PROFILE}, Reach.READY, "it is broken"),
        (Clusters, {"namespaces": ["default"]}, Reach.READY, ""),
    ],
)
def test_a_cluster_whose_profile_has_a_problem_is_seen_and_says_so(
    clusters: Any, registry: dict[str, Any], reach: Reach, detail: str
) -> None:
    """Only if the application asks for ClusterProfiles, and only those that it targets are asked for."""
    document = make.manifest()
    document["spec"]["topology"]["clusterRegistry"] = registry
    asked: list[str] = []

    def problem(cluster: str) -> str:
        asked.append(cluster)
        return "it is broken"

    seen = Observer(
        Revisions(),  # type: ignore[arg-type]  # a stand-in
        clusters(make.view("member-1", found()), make.view("member-9")),
        lambda: datetime(2026, 1, 1, tzinfo=UTC),
        profile_problem=problem,
    )
    view = seen.observe(make.subject(make.application(document))).members[CLUSTER]
    assert (view.reach, view.detail, len(view.workloads)) == (reach, detail, 1)
    assert sorted(asked) == ([f"default/{name}" for name in make.MEMBERS] if detail else [])


class Selecting(Clusters):
    """Clusters that only the namespaces with tier=gold may use."""

    def cluster(self, cluster: str) -> ClusterObject | None:
        allowed = AllowedNamespaces("Selector", {"matchLabels": {"tier": "gold"}})
        return ClusterObject(ClusterMetadata(cluster, "fleet"), ClusterSpec(allowed_namespaces=allowed))


@pytest.mark.parametrize(
    ("labels", "reach", "undecided"),
    [({"tier": "gold"}, Reach.READY, False), ({}, Reach.UNKNOWN, False), (None, Reach.UNKNOWN, True)],
)
def test_a_cluster_that_the_namespace_may_not_use_is_seen_and_not_written_to(
    labels: dict[str, str] | None, reach: Reach, undecided: bool
) -> None:
    """I15; I8: as long as the labels are not known, nothing is reported."""
    clusters = Selecting(make.view("member-1", found()))
    seen = Observer(
        Revisions(),  # type: ignore[arg-type]  # a stand-in
        clusters,  # type: ignore[arg-type]  # a stand-in
        lambda: datetime(2026, 1, 1, tzinfo=UTC),
        namespace_labels=lambda _: labels,
    )
    view = seen.observe(make.subject(APP)).members[CLUSTER]
    assert (view.reach, view.undecided, len(view.workloads)) == (reach, undecided, 1)


def test_a_plan_says_when_it_is_too_early_for_status() -> None:
    """I3, I8: "not known yet" is reported only if it stays unknown."""
    early = MemberView("default/member-2", Reach.PENDING, "connecting", undecided=True)
    assert plan(make.subject(APP), make.observed({"member-2": early})).early
    decided = replace(early, undecided=False)
    assert not plan(make.subject(APP), make.observed({"member-2": decided})).early


def test_a_failed_write_is_told_only_of_the_generation_that_it_was_for() -> None:
    """I8: what an edit has corrected is not told any more while the write of the correction is on its way."""
    seen = observer(Clusters(make.view("member-1")))
    seen.memory(subject()).failures["member-1"] = Failure("member-1: refused", 1, 0.0, stalled=True)
    observed = seen.observe(subject())
    assert (observed.errors, observed.stalled) == ({"member-1": "member-1: refused"}, frozenset({"member-1"}))
    observed = seen.observe(replace(subject(), generation=2))
    assert (observed.errors, observed.stalled) == ({}, frozenset())


def test_what_is_being_deleted_is_not_counted_on_and_a_cluster_that_was_written_to_is_looked_at() -> None:
    """I7: the answer of a deletion may come late; I9: a creation may, in a cluster that nothing else speaks of."""
    gone = Delete(WorkloadRef(CLUSTER, "member-1", "StatefulSet", "web-member-1"), "uid-web-member-1", "for the test")
    other = replace(gone, uid="uid-of-another")
    kept = Delete(WorkloadRef(CLUSTER, "member-1", "Deployment", "web-member-1"), "uid-web-member-1", "for the test")
    for steps, expected in (((gone,), "requested"), ((other, kept), None), ((), None)):
        seen = Observer(
            Revisions(),  # type: ignore[arg-type]  # a stand-in
            Clusters(make.view("member-1", found())),  # type: ignore[arg-type]  # a stand-in
            lambda: datetime(2026, 1, 1, tzinfo=UTC),
            lambda key, steps=steps: {CLUSTER: steps, "default/stray": ()} if key == ("default", "web") else {},  # type: ignore[misc]  # this turn's
        )
        observed = seen.observe(subject())
        (workload,) = observed.members[CLUSTER].workloads
        assert workload.metadata.deletion_timestamp == expected
        assert observed.writing == {CLUSTER, "default/stray"}
        assert "default/stray" in observed.members
        assert seen.in_cluster("default/stray") == {("default", "web")}


def test_a_snapshot_stays_as_it_was_when_the_controller_goes_on() -> None:
    """I2: a plan reads one consistent state, and nothing of it changes afterwards."""
    seen = observer(Clusters(make.view("member-1", found())))
    snapshot = seen.observe(subject())
    memory = seen.memory(subject())
    memory.generations[NOTED] = 9
    memory.refused[NOTED] = Refusal("digest")
    assert snapshot.generations == {NOTED: 3}
    assert snapshot.refused == {}


def test_a_damaged_revision_is_seen_with_its_problem_and_a_new_one_of_its_name_without() -> None:
    """I16: the uid tells them apart, so a revision that somebody has repaired is tried again."""

    class Two(Revisions):
        def records(self, _key: tuple[str, str]) -> Any:
            return (replace(make.record(APP), uid="uid-1"), replace(make.record(APP, 2), uid="uid-2"))

    seen = Observer(Two(), Clusters(), lambda: datetime(2026, 1, 1, tzinfo=UTC))  # type: ignore[arg-type]  # stand-ins
    seen.damaged["default", APP.revision_name, "uid-1"] = "its data is not what its name says"
    assert [record.problem for record in seen.observe(subject()).revisions] == [
        "its data is not what its name says",
        "",
    ]


def test_a_snapshot_has_the_template_of_the_stable_revision_once_it_was_loaded() -> None:
    """The present template needs no request, and another one is loaded when a plan asks for it."""
    stable = make.application(make.manifest(image="app:0"))
    seen = observer(Clusters())
    mid_canary = make.subject(APP, status={"currentRevision": stable.revision_name})
    assert seen.observe(mid_canary).templates == {}
    seen.templates["default", stable.revision_name] = stable.revision_data
    assert seen.observe(mid_canary).templates == {stable.revision_name: stable.revision_data}
    complete = make.subject(APP, status={"currentRevision": APP.revision_name})
    assert seen.observe(complete).templates == {APP.revision_name: APP.revision_data}
