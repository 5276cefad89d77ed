"""The time and memory of planning depend on the objects that exist, not on the numbers in a spec (I16)."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planning as make
from tests.support.held import context
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.kinds.advanced import reserved_ordinals
from uniteddeployment.planning.kinds.places import keeping_partition, lowest_partition
from uniteddeployment.planning.observed import NO_PODS, Observed, Workload, WorkloadStatus
from uniteddeployment.planning.plan import plan
from uniteddeployment_api.v1alpha1.meta import INT32_MAX, MAX_REPLICAS

KINDS = ["statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate"]
FEW_BYTES = 3_000_000


def peak(work: Callable[..., Any]) -> int:
    """The memory that a call needs beyond what there was before, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def canary(kind: str, replicas: int, **shares: Any) -> tuple[Subject, Observed]:
    """A million pods in mid-canary, of which a member shows a few."""
    old = make.application(make.manifest(kind=kind, replicas=replicas, **shares))
    document = make.manifest(kind=kind, image="app:2", replicas=replicas, partitions={"member-1": 3}, **shares)
    if kind == "advancedStatefulSetTemplate":
        document["spec"]["template"][kind]["spec"]["reserveOrdinals"] = ["1-500000", 700000, "0-99999999999999"]
    app = make.application(document, generation=2)
    status = make.status_of(plan(make.subject(old), make.observed(revisions=(make.record(old),))))
    status["currentRevision"] = old.revision_name
    found = make.stateful_set(app, "member-1", replicas=INT32_MAX, partition=0)
    if kind == "deploymentTemplate":
        found = make.deployment(app, "member-1", app.template_hash, replicas=INT32_MAX)
    pods = make.pods(app, "member-1", [app.template_hash] * 5)
    views = {"member-1": make.view("member-1", found, pods=pods)}
    seen = make.observed(views, revisions=(make.record(old),), templates={old.revision_name: old.revision_data})
    return make.subject(app, status=status), seen


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shares", [{}, {"shares": {"member-1": {"weight": 3}, "member-2": {"weight": 1}}}])
def test_a_million_replicas_are_planned_in_the_memory_of_a_few(kind: str, shares: dict[str, Any]) -> None:
    subject, seen = canary(kind, MAX_REPLICAS, **shares)
    result = plan(subject, seen)
    assert sum(row.replicas for row in result.results) == MAX_REPLICAS
    assert result.members
    assert peak(lambda: plan(subject, seen)) < FEW_BYTES


@pytest.mark.timeout(20)
def test_disjoint_ranges_of_a_million_ordinals_take_no_memory_for_each() -> None:
    shares = {"member-1": {"maxReplicas": MAX_REPLICAS}, "member-2": {"minReplicas": 1}}
    document = make.manifest(replicas=MAX_REPLICAS, shares=shares)
    document["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": MAX_REPLICAS}
    app = make.application(document)
    assert peak(lambda: plan(make.subject(app), make.observed())) < FEW_BYTES


@given(st.lists(st.integers(0, 20) | st.tuples(st.integers(0, 20), st.integers(0, 20))), st.integers(0, 25))
def test_reserved_ordinals_are_counted_as_if_they_stood_in_a_list(
    entries: list[int | tuple[int, int]], ordinal: int
) -> None:
    written = [entry if isinstance(entry, int) else f"{entry[0]}-{entry[1]}" for entry in entries]
    listed = {
        one for entry in entries for one in ([entry] if isinstance(entry, int) else range(entry[0], entry[1] + 1))
    }
    reserved = reserved_ordinals(written)
    assert (ordinal in reserved) == (ordinal in listed)
    assert reserved.below(ordinal) == sum(1 for one in listed if one < ordinal)


@pytest.mark.parametrize("entry", ["9" * 5000, "1-" + "9" * 5000, "²", "-", "", "5-3", None, {}, [1], 1.5, -1])
def test_entries_that_are_no_ordinals_are_left_for_the_api_server_to_refuse(entry: Any) -> None:
    assert reserved_ordinals([entry]).totals == ()


@pytest.mark.parametrize("strategy", [{"partition": INT32_MAX}, {"partition": "100%"}])
def test_a_partition_of_a_member_is_no_range_either(strategy: dict[str, int | str]) -> None:
    raw = {"metadata": {"name": "w"}, "spec": {"replicas": INT32_MAX, "updateStrategy": strategy}}
    found = msgspec.json.decode(msgspec.json.encode(raw), type=Workload)
    subset = context(partition=0, replicas=MAX_REPLICAS, target="", stable="old", pods=NO_PODS)
    for status in (WorkloadStatus(), WorkloadStatus(updated_replicas=INT32_MAX, replicas=INT32_MAX)):
        one = msgspec.structs.replace(found, status=status)
        assert (
            peak(lambda one=one: (lowest_partition(subset, one, int), keeping_partition(subset, one, int))) < FEW_BYTES
        )
