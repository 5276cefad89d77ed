"""Names are valid, always the same for the same object, and different for different objects."""

import re

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment_api import label_value, names, workload_name
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def _label(first: str, filler: str, length: int, last: str) -> str:
    return first + (filler * 61)[:length] + last


dns_labels = st.builds(
    _label, st.sampled_from("a0"), st.sampled_from(["a", "-", "0-", "b-9"]), st.integers(0, 61), st.sampled_from("z9")
) | st.sampled_from("a0")
"""Of every length. Drawn as a whole, for a draw for each character takes a hundred times as long."""
subdomains = st.lists(dns_labels, min_size=1, max_size=4).map(".".join)


@given(subdomains)
def test_a_label_value_is_valid_for_every_object_name(name: str) -> None:
    value = label_value(name)
    assert len(value) <= 63
    assert LABEL_VALUE.fullmatch(value)
    assert value == name or len(name) > 63


@given(subdomains, dns_labels)
def test_the_pods_of_every_stateful_set_have_valid_names_and_labels(name: str, subset: str) -> None:
    workload = workload_name(name, subset)
    assert DNS_LABEL.fullmatch(workload)
    assert len(f"{workload}-1234567890") <= 63  # controller-revision-hash


@given(subdomains, dns_labels, st.from_regex(r"[0-9a-f]{10}", fullmatch=True))
def test_the_pods_of_every_deployment_have_valid_names_and_the_revision_stays(
    name: str, subset: str, revision: str
) -> None:
    workload = workload_name(name, subset, revision)
    assert DNS_LABEL.fullmatch(workload)
    assert workload.endswith(f"-{revision}")
    assert len(f"{workload}-1234567890-abcde") <= 63


def test_short_names_are_readable() -> None:
    assert workload_name("web", "member-1") == "web-member-1"
    assert workload_name("web", "member-1", "6f8d") == "web-member-1-6f8d"


def test_long_names_with_the_same_start_stay_different() -> None:
    """A retry never creates a second workload, and two subsets never share one (I9)."""
    names_made = {workload_name("a" * 200 + tail, subset) for tail in "xyz" for subset in ("b" * 60, "b" * 61)}
    assert len(names_made) == 6
    assert len({label_value("a" * 200 + tail) for tail in "xyz"}) == 3


def test_hashed_names_depend_on_where_the_subset_name_begins() -> None:
    long = "a" * 60
    assert workload_name(f"{long}-b", "c") != workload_name(long, "b-c")


def test_the_models_carry_the_group_and_kinds_of_the_names() -> None:
    united_deployment, cluster = UnitedDeployment.model_fields, Cluster.model_fields
    assert united_deployment["api_version"].default == cluster["api_version"].default == names.API_VERSION
    assert united_deployment["kind"].default == names.UNITED_DEPLOYMENT_KIND
    assert cluster["kind"].default == names.CLUSTER_KIND


def test_every_label_and_annotation_of_ours_is_kept_when_an_object_is_read() -> None:
    """A label or an annotation that is not in these sets is dropped from what clusters show."""
    constants = {name: value for name, value in vars(names).items() if isinstance(value, str)}
    assert {value for name, value in constants.items() if name.startswith("LABEL_")} == names.LABELS
    assert {value for name, value in constants.items() if name.startswith("ANNOTATION_")} == names.ANNOTATIONS
