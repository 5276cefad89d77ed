"""What a pod requests is what the scheduler of Kubernetes counts for it."""

from typing import Any

import pytest

from uniteddeployment.fleet.capacity.demand import of_template


def container(cpu: str = "", memory: str = "", *, limit: str = "", always: bool = False, **more: str) -> dict[str, Any]:
    """A container with requests, a limit of cpu, and other resources by keyword."""
    requests = {"cpu": cpu, "memory": memory, **more}
    resources: dict[str, Any] = {"requests": {name: amount for name, amount in requests.items() if amount}}
    if limit:
        resources["limits"] = {"cpu": limit}
    return {"name": "c", "resources": resources} | ({"restartPolicy": "Always"} if always else {})


DEVICES: dict[str, Any] = {"nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1k"}


MI = 1 << 20
CASES = {
    "containers add up": (
        {"containers": [container("1", "10Mi"), container("500m", "20Mi")]},
        {"cpu": 1500, "memory": 30 * MI},
    ),
    "nothing requested": ({"containers": [{"name": "c"}]}, {}),
    "null resources": ({"containers": [{"name": "c", "resources": None}]}, {}),
    "an init container counts if it is larger": (
        {"containers": [container("1", "10Mi")], "initContainers": [container("3", "5Mi")]},
        {"cpu": 3000, "memory": 10 * MI},
    ),
    "a sidecar runs beside the containers": (
        {"containers": [container("1")], "initContainers": [container("1", always=True), container("500m")]},
        {"cpu": 2000},
    ),
    "an init container runs with the sidecars before it, and not with those after it": (
        {
            "containers": [container("1")],
            "initContainers": [container("1", always=True), container("3"), container("2", always=True)],
        },
        {"cpu": 4000},
    ),
    "the overhead comes on top": ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, {"cpu": 1250}),
    "a missing request is the limit": (
        {"containers": [container(memory="1Mi", limit="2")]},
        {"cpu": 2000, "memory": MI},
    ),
    "a request counts rather than the limit": ({"containers": [container("1", limit="2")]}, {"cpu": 1000}),
    "requests of the whole pod replace those of containers": (
        {"containers": [container("1", "1Mi")], "resources": {"requests": {"cpu": "5"}}},
        {"cpu": 5000, "memory": MI},
    ),
    "limits of the whole pod count for what nothing requests": (
        {"containers": [container("1")], "resources": {"limits": {"cpu": "5", "memory": "7Mi"}}},
        {"cpu": 1000, "memory": 7 * MI},
    ),
    "the whole pod cannot request devices": (
        {"containers": [container("1")], "resources": {"requests": {"nvidia.com/gpu": "5"}}},
        {"cpu": 1000},
    ),
    "devices, huge pages and local storage count": (
        {"containers": [container("1", **DEVICES)]},
        {"cpu": 1000, "nvidia.com/gpu": 2, "hugepages-2Mi": 4 * MI, "ephemeral-storage": 1000},
    ),
    "numbers as YAML has them": (
        {"containers": [{"name": "c", "resources": {"requests": {"cpu": 0.5}}}]},
        {"cpu": 500},
    ),
}


@pytest.mark.parametrize(("spec", "wanted"), CASES.values(), ids=CASES.keys())
def test_requests_are_those_that_the_scheduler_counts(spec: dict[str, Any], wanted: dict[str, int]) -> None:
    assert of_template(spec) == tuple(sorted(wanted.items()))


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "lots"}},
        {"requests": {"cpu": "-1"}},
        {"requests": {"cpu": []}},
        {"requests": 5},
        {"requests": {f"example.com/{number}": "1" for number in range(65)}},
    ],
)
def test_requests_that_cannot_be_read_are_unknown(resources: dict[str, Any]) -> None:
    assert of_template({"containers": [{"name": "c", "resources": resources}]}) is None
