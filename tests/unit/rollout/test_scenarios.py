"""The scenarios of rollouts, and where each is tested. Tests have the numbers of their scenarios in their names.

| # | Scenario | Tests (paths in tests/) |
|---|---|---|
| 1 | The first step updates one pod of all | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 2 | An approval leads to half of all pods | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 3 | The last step completes the run | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 4 | A timed pause counts from the last ready pod | unit/rollout/test_runs.py |
| 5 | The controller is killed between two writes | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 6 | Two controllers, and the leader is lost | simulation/rollout/test_processes.py |
| 7 | The image changes while the controllers are down | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 8 | An image that cannot be pulled | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 9 | A crash during the bake time | unit/rollout/test_runs.py |
| 10 | The deadline passes | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 11 | An abort in mid-run | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 12 | A rollback with OrderedReady and a broken pod | simulation/rollout/test_workloads.py |
| 13 | A rollback while paused | unit/rollout/test_runs.py |
| 14 | A rollback at the last step | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 15 | Going back after completion | unit/rollout/test_runs.py |
| 16 | A third version in mid-run | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 17 | Only annotations or labels change | unit/rollout/test_runs.py |
| 18 | Only pauses are edited | unit/rollout/test_runs.py |
| 19 | Steps become smaller | unit/rollout/test_runs.py |
| 20 | A subset grows in mid-run | unit/rollout/test_runs.py simulation/rollout/test_stories.py |
| 21 | A subset shrinks in mid-run | unit/rollout/test_runs.py |
| 22 | Zero pods and back | unit/rollout/test_runs.py |
| 23 | An autoscaler that flaps | unit/rollout/test_runs.py |
| 24 | A subset is added in mid-run | unit/rollout/test_runs.py |
| 25 | A subset is removed in mid-run | unit/rollout/test_runs.py |
| 26 | A cluster is unreachable at the start | unit/rollout/test_trouble.py |
| 27 | A cluster is unreachable in mid-step | unit/rollout/test_trouble.py simulation/rollout/test_stories.py |
| 28 | A subset is degraded in its wave | unit/rollout/test_trouble.py |
| 29 | One availability budget over all clusters | unit/rollout/test_trouble.py |
| 30 | Pods are down for another reason | unit/rollout/test_trouble.py |
| 31 | Others change a partition | unit/rollout/test_trouble.py simulation/rollout/test_members.py |
| 32 | Others change an image in a member | simulation/rollout/test_members.py |
| 33 | Refused requests and lost answers | simulation/rollout/test_processes.py |
| 34 | Outdated caches and status | unit/rollout/test_trouble.py simulation/rollout/test_stories.py |
| 35 | Results of metrics | unit/rollout/gates/test_judge.py unit/rollout/gates/test_prometheus.py |
| 36 | Metrics that are bad for both versions | unit/rollout/gates/test_prometheus.py |
| 37 | Approvals twice, and of an earlier step | unit/rollout/test_trouble.py |
| 38 | A quarter of four single pods | unit/rollout/test_trouble.py |
| 39 | A subset without pods | unit/rollout/test_trouble.py |
| 40 | Partitions that cannot be meant | unit/rollout/test_scenarios.py |
| 41 | The rollout is deleted in mid-run | simulation/rollout/test_stories.py |
| 42 | The rollout is disabled and enabled | simulation/rollout/test_members.py |
| 43 | Ordinals that start at 5 | simulation/rollout/test_workloads.py |
| 44 | Servers without maxUnavailable of StatefulSets | simulation/rollout/test_workloads.py |
| 45 | Three of ten pods of a Deployment | simulation/rollout/test_workloads.py |
| 46 | The controllers never return | unit/rollout/test_trouble.py |
| 47 | Lost pods come back at their revision | unit/rollout/test_trouble.py simulation/rollout/test_workloads.py |
| 48 | A disruption budget of all pods | simulation/rollout/test_workloads.py |
| 49 | 50 clusters and 2000 pods | unit/rollout/test_trouble.py |
| 51 | Random histories | unit/rollout/test_machine.py simulation/rollout/test_histories.py |

Scenario 50, the command line, is tested in unit/cli/rollout and integration/cli/test_rollout.py.
"""

import re
from pathlib import Path

import pytest

from tests.support.planning import manifest
from tests.unit.rollout.fleet import at_half
from uniteddeployment_api import InvalidObject, parse_united_deployment, validate_united_deployment

TESTS = Path(__file__).parents[2]
ROWS = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", __doc__, re.MULTILINE)


@pytest.mark.parametrize(("number", "files"), ROWS)
def test_each_row_of_the_table_names_files_with_tests_of_its_number(number: str, files: str) -> None:
    for file in files.split():
        names = re.findall(r"def test_((?:\d\d_(?:and_|to_)?)+)", (TESTS / file).read_text())
        covered = [_numbers(name) for name in names]
        assert any(int(number) in numbers for numbers in covered), f"{file} has no test of scenario {number}"


def test_the_table_has_all_scenarios_but_that_of_the_command_line() -> None:
    assert [int(number) for number, _ in ROWS] == [number for number in range(1, 52) if number != 50]


def _numbers(name: str) -> set[int]:
    """The numbers at the beginning of a name, such as 08_and_10 or 01_to_03."""
    numbers = [int(number) for number in re.findall(r"\d\d", name)]
    return set(range(numbers[0], numbers[-1] + 1)) if "_to_" in name else set(numbers)


@pytest.mark.parametrize(
    ("partitions", "path"),
    [
        ({"member-1": -1}, "spec.updateStrategy.manualUpdate.partitions[member-1]"),
        ({"member-1": "101%"}, "spec.updateStrategy.manualUpdate.partitions[member-1]"),
        ({"member-1": "half"}, "spec.updateStrategy.manualUpdate.partitions[member-1]"),
        ({"member-9": 1}, "spec.updateStrategy.manualUpdate.partitions[member-9]"),
    ],
)
def test_40_a_partition_that_cannot_be_meant_is_refused_with_its_path(partitions: dict[str, object], path: str) -> None:
    document = manifest()
    document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": partitions}}
    try:
        errors = validate_united_deployment(parse_united_deployment(document))
    except InvalidObject as error:
        errors = error.errors
    assert [error.path for error in errors] == [path]


@pytest.mark.parametrize(("partition", "updated"), [(9, 2), ("50%", 2), ("100%", 2)])
def test_40_a_rollout_takes_over_partitions_larger_than_a_subset_and_percentages(
    partition: int | str, updated: int
) -> None:
    fleet, controller = at_half()
    controller.edit(disabled=True)
    controller.settle()
    fleet.partitions["a"] = partition
    fleet.changed()
    controller.settle()
    controller.edit(disabled=False)
    controller.settle()
    assert fleet.updated()["a"] == updated
    assert fleet.partitions == {"a": 2, "b": 1, "c": 1}
    assert controller.status.phase == "Paused"
