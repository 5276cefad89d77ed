"""The rendered workload: valid for every API server, with our names, labels and annotations."""

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planning as make
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds import workload
from uniteddeployment.planning.kinds.workload import Rendered
from uniteddeployment_api import names, validate_united_deployment

KINDS = ["statefulSetTemplate", "deploymentTemplate", "cloneSetTemplate", "advancedStatefulSetTemplate"]
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
INNER = string.ascii_lowercase + string.digits + "-"
ENDS = string.ascii_lowercase + string.digits


def labels_of_dns(limit: int) -> st.SearchStrategy[str]:
    return st.builds(
        lambda first, middle, last: (first + middle + last)[:limit],
        st.sampled_from(ENDS),
        st.text(INNER, max_size=limit - 2),
        st.sampled_from(ENDS),
    ).filter(lambda name: name[-1] != "-")


applications = (
    st.lists(labels_of_dns(63), min_size=1, max_size=5)
    .map(lambda parts: ".".join(parts)[:253])
    .filter(lambda name: name[-1] not in "-.")
)


def rendered(kind: str, name: str, subset: str, **more: Any) -> tuple[Application, Rendered]:
    doc = make.manifest(kind=kind, shares={subset: None}, replicas=4)
    doc["metadata"]["name"] = name
    app = make.application(doc)
    revision = app.revision_of(subset)
    return app, workload.render(app, app.subsets[subset], app.revision_data, revision, **more)


@given(kind=st.sampled_from(KINDS), name=applications, subset=labels_of_dns(63))
def test_whatever_the_names_everything_that_is_made_of_them_is_valid(kind: str, name: str, subset: str) -> None:
    app, made = rendered(kind, name, subset)
    assert not [error for error in validate_united_deployment(app.model) if not error.feasibility]
    template = made.body["spec"]["template"]
    for labels in (
        made.body["metadata"]["labels"],
        template["metadata"]["labels"],
        made.body["spec"]["selector"]["matchLabels"],
    ):
        assert all(LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(value) for key, value in labels.items())
    assert made.body["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert DNS_LABEL.fullmatch(made.name)
    for pod in (f"{made.name}-2147483647", f"{made.name}-{'x' * 5}"):
        assert kind == "deploymentTemplate" or DNS_LABEL.fullmatch(pod)
    if kind == "deploymentTemplate":
        assert DNS_LABEL.fullmatch(f"{made.name}-{'x' * 10}-{'x' * 5}")
    else:
        # The label controller-revision-hash of the pods.
        assert LABEL_VALUE.fullmatch(f"{made.name}-{'x' * 10}")
    assert SUBDOMAIN.fullmatch(app.revision_name)
    assert len(app.revision_name) <= 253


@given(kind=st.sampled_from(KINDS), name=applications, one=labels_of_dns(63), other=labels_of_dns(63))
def test_two_subsets_never_have_the_same_workload(kind: str, name: str, one: str, other: str) -> None:
    if one != other:
        assert rendered(kind, name, one)[1].name != rendered(kind, name, other)[1].name


@pytest.mark.parametrize("kind", KINDS)
def test_an_adopted_workload_keeps_its_selector_and_its_pods_get_no_labels_of_ours(kind: str) -> None:
    """I13: a label more would restart every pod."""
    app, made = rendered(kind, "web", "member-1", adopted="legacy")
    assert made.name == "legacy"
    assert made.body["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert made.body["spec"]["template"] == app.pod_template
    assert made.body["metadata"]["labels"][names.LABEL_SUBSET] == "member-1"


def test_the_range_of_ordinals_is_written_whatever_a_patch_says() -> None:
    doc = make.manifest(shares={"member-1": {"patch": {"spec": {"ordinals": {"start": 7}}}}})
    app = make.application(doc)
    revision = app.revision_of("member-1")
    plain = workload.render(app, app.subsets["member-1"], app.revision_data, revision)
    ranged = workload.render(app, app.subsets["member-1"], app.revision_data, revision, ordinals_start=20)
    assert plain.body["spec"]["ordinals"] == {"start": 7}
    assert ranged.body["spec"]["ordinals"] == {"start": 20}
    assert plain.digest != ranged.digest


def test_a_deployment_that_recreates_says_so_to_nobody_but_us() -> None:
    """An API server refuses that strategy where it has set the defaults of the other one."""
    doc = make.manifest(kind="deploymentTemplate")
    doc["spec"]["template"]["deploymentTemplate"]["spec"]["strategy"] = {"type": "Recreate"}
    app = make.application(doc)
    made = workload.render(app, app.subsets["member-1"], app.revision_data, app.revision_of("member-1"))
    assert made.body["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in workload.with_numbers(made, replicas=1)["spec"]
