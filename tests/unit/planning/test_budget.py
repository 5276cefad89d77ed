"""The cost of planning one object is bounded, even in the worst case (I16).

Before there were limits, the slow cases took minutes or hours, so they would exceed the timeout of the tests.
"""

import tracemalloc
from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.planning import templates
from uniteddeployment.planning.plan import plan
from uniteddeployment_api import limits, parse_united_deployment, validate_united_deployment
from uniteddeployment_api.strategic import PatchError, merge


def with_values(subsets: int, size: int, **subset: Any) -> dict[str, Any]:
    """Many subsets over a template of many small values."""
    shares = {f"s{n}": dict(subset) for n in range(subsets)}
    document = make.manifest(shares=shares, replicas=subsets)
    spec = document["spec"]["template"]["statefulSetTemplate"]["spec"]
    spec["template"]["metadata"]["annotations"] = {f"key-{n}": "v" for n in range(size)}
    return document


def test_operations_cost_what_they_change_and_not_what_there_is() -> None:
    """Every operation copied the whole workload: hours."""
    path = "/spec/template/metadata/annotations/key-"
    operations = [{"op": "replace", "path": f"{path}{n}", "value": "w"} for n in range(64)]
    document = with_values(64, 3000, overrides=operations)
    app = make.application(document)
    assert validate_united_deployment(app.model) == ()
    made = plan(make.subject(app), make.observed())
    assert sum(len(steps) for steps in made.members.values()) or made.results


def test_lists_are_merged_in_the_time_that_it_takes_to_read_them() -> None:
    """Each entry of the patch was searched for in the whole list: 40,000 in 40,000 took minutes."""
    items = [{"name": f"V{n}", "value": "a"} for n in range(40_000)]
    patch = {"env": [{"name": f"V{n}", "value": "b"} for n in range(20_000, 60_000)]}
    made = merge({"env": items}, patch)["env"]
    assert len(made) == 60_000
    assert [one["value"] for one in (made[0], made[20_000], made[59_999])] == ["a", "b", "b"]


def test_an_object_that_would_be_gigabytes_with_all_its_subsets_is_refused_at_once() -> None:
    model = parse_united_deployment(with_values(256, 20_000, patch={"metadata": {"labels": {"a": "b"}}}))
    (error,) = validate_united_deployment(model)
    assert (error.rule, error.path) == ("total-size", "spec.topology.subsets")


def test_copies_that_double_a_list_each_time_take_no_memory() -> None:
    first = {"op": "add", "path": "/metadata/annotations/x", "value": {"l": ["x" * 100]}}
    again = {"op": "copy", "from": "/metadata/annotations/x/l", "path": "/metadata/annotations/x/l/-"}
    workload: dict[str, Any] = {"metadata": {"annotations": {}}, "spec": {"template": {}}}
    tracemalloc.start()
    try:
        with pytest.raises(PatchError, match="copy more than 256 KiB"):
            templates.with_all_changes(workload, None, [first, *[again] * 60])
        assert tracemalloc.get_traced_memory()[1] < 8 * limits.MAX_COPIED_BYTES
    finally:
        tracemalloc.stop()


def test_what_a_revision_holds_for_a_subset_has_the_same_limits() -> None:
    """The stable template in mid-canary: what was small with the old template need not be with another one."""
    first = {"op": "add", "path": "/spec/template/x", "value": "x" * 600_000}
    workload = {"metadata": {}, "spec": {"template": {"y": "y" * 600_000}}}
    with pytest.raises(PatchError, match="1 MiB"):
        templates.with_template_changes(workload, None, [first])


def test_an_operation_changes_neither_the_document_nor_the_values_of_others() -> None:
    """Only what is on the way to a change is copied, so everything else is shared."""
    value = {"a": [1]}
    workload: dict[str, Any] = {"metadata": {"annotations": {}}, "spec": {"template": {"deep": {"list": [{"x": 1}]}}}}
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/spec/template/v", "value": value},
        {"op": "add", "path": "/spec/template/v/a/-", "value": 2},
        {"op": "copy", "from": "/spec/template/v", "path": "/spec/template/w"},
        {"op": "replace", "path": "/spec/template/w/a/0", "value": 9},
        {"op": "move", "from": "/spec/template/deep/list/0", "path": "/spec/template/moved"},
        {"op": "add", "path": "/spec/template/moved/y", "value": 2},
    ]
    template = templates.with_all_changes(workload, None, operations)["spec"]["template"]
    assert template == {"deep": {"list": []}, "v": {"a": [1, 2]}, "w": {"a": [9, 2]}, "moved": {"x": 1, "y": 2}}
    assert workload["spec"]["template"] == {"deep": {"list": [{"x": 1}]}}
    assert value == {"a": [1]}
