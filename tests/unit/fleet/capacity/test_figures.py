"""The figures of a cluster in status, and which changes of them are worth a write."""

import copy
from typing import Any

import pytest

from tests.support.capacity import decoded_node, decoded_pod, sums_of
from uniteddeployment.fleet.capacity.figures import differs, figures
from uniteddeployment_api import Cluster


def shown() -> dict[str, Any]:
    nodes = [
        decoded_node("a1", {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}, zone="a"),
        decoded_node("a2", {"cpu": "8", "memory": "8Gi"}, zone="a"),
        decoded_node("b1", {"cpu": "64", "memory": "64Gi"}, zone="b", cordoned=True),
        decoded_node("b2", {"cpu": "64", "memory": "64Gi"}, zone="b", ready=False),
    ]
    pods = [
        decoded_pod("p1", {"cpu": "3500m", "memory": "1Gi", "nvidia.com/gpu": "1"}, node="a1"),
        decoded_pod("p2", {"cpu": "1", "memory": "7Gi"}, node="a2"),
        decoded_pod("p3", {"cpu": "1"}),
        decoded_pod("p4", {"cpu": "1"}, waits=True),
        decoded_pod("p5", {"cpu": "1"}, node="b1"),
        decoded_pod("p6", {"cpu": "1"}, node="a2", phase="Succeeded"),
    ]
    return figures(sums_of(nodes, pods))


def test_figures_are_those_of_schedulable_nodes_in_total_and_by_zone() -> None:
    status = shown()
    zone_a = {
        "allocatable": {"cpu": "12", "memory": "16Gi", "pods": "220", "nvidia.com/gpu": "2"},
        "requested": {"cpu": "4500m", "memory": "8Gi", "pods": "2", "nvidia.com/gpu": "1"},
        "available": {"cpu": "7500m", "memory": "8Gi", "pods": "218", "nvidia.com/gpu": "1"},
    }
    none = {"cpu": "0", "memory": "0", "pods": "0"}
    assert status["capacity"].pop("zones") == [
        {"name": "a", "nodes": 2, "readyNodes": 2, "schedulableNodes": 2, **zone_a},
        {
            "name": "b",
            "nodes": 2,
            "readyNodes": 1,
            "schedulableNodes": 0,
            "allocatable": none,
            "requested": none,
            "available": none,
        },
    ]
    assert status == {
        "nodes": 4,
        "readyNodes": 3,
        "schedulableNodes": 2,
        "capacity": {
            **zone_a,
            "largestFreeNode": {"cpu": "7", "memory": "1Gi", "pods": "109"},
            "pendingPods": 1,
            "unschedulablePods": 1,
        },
    }


def test_the_figures_are_valid_as_the_status_of_a_cluster() -> None:
    body = {"metadata": {"name": "m"}, "spec": {"credentials": {"secretRef": {"name": "s"}}}, "status": shown()}
    status = Cluster.model_validate(body).status
    assert status.capacity is not None
    assert status.capacity.zones[0].schedulable_nodes == 2


@pytest.mark.parametrize(
    ("first", "second", "larger"),
    [
        (("8", "4Gi"), ("2", "8Gi"), 0),
        (("1", "64Gi"), ("4", "60Gi"), 1),
        (("8", "8Gi"), ("8", "9Gi"), 1),
        (("0", "64Gi"), ("0", "60Gi"), 0),
    ],
)
def test_the_largest_free_node_is_one_with_much_of_both_cpu_and_memory(
    first: tuple[str, str], second: tuple[str, str], larger: int
) -> None:
    """Its figures are of one node, so a pod of this size fits somewhere."""
    nodes = [decoded_node(f"n{i}", {"cpu": cpu, "memory": memory}) for i, (cpu, memory) in enumerate((first, second))]
    cpu, memory = (first, second)[larger]
    assert figures(sums_of(nodes, []))["capacity"]["largestFreeNode"] == {"cpu": cpu, "memory": memory, "pods": "110"}


def test_without_a_free_node_there_is_no_largest_one() -> None:
    assert figures(sums_of([decoded_node("n", {"cpu": "1", "pods": "0"})], []))["capacity"]["largestFreeNode"] == {}


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    status = copy.deepcopy(shown())
    place: Any = status
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return status


@pytest.mark.parametrize(
    ("path", "value", "worth"),
    [
        (("capacity", "requested", "cpu"), "4545m", False),  # 1 %
        (("capacity", "requested", "cpu"), "4546m", True),
        (("capacity", "available", "pods"), "217", False),
        (("capacity", "unschedulablePods"), 2, True),
        (("capacity", "zones", 0, "requested", "memory"), "9Gi", True),
        (("capacity", "zones", 0, "name"), "c", True),
        (("capacity", "largestFreeNode", "cpu"), "8", True),
        (("capacity", "requested", "example.com/fpga"), "1", True),
        (("schedulableNodes",), 1, True),
        (("capacity",), None, True),
        (("capacity", "requested", "cpu"), "garbage", True),
        (("capacity", "zones"), "garbage", True),
        (("capacity", "available"), [], True),
    ],
)
def test_a_change_of_more_than_one_percent_is_worth_a_write(
    path: tuple[str | int, ...], value: Any, worth: bool
) -> None:
    """Also a resource or zone that appears or disappears. What is stored may have been changed by anybody."""
    assert differs(changed(path, value), shown()) is worth


def test_the_same_figures_in_another_form_are_not_written() -> None:
    assert not differs(changed(("capacity", "available", "memory"), "8192Mi"), shown())
