"""The snapshot that a plan is made from."""

import pytest

from tests.support.planning import NOW
from uniteddeployment.planning.observed import HOST, Pod, PodMetadata, PodStatus, WorkloadRef, cluster_label, tally
from uniteddeployment_api import names


def test_a_workload_is_known_by_its_cluster_kind_and_name_whatever_its_label_says() -> None:
    ref = WorkloadRef("default/near", "a", "StatefulSet", "web-a")
    assert ref.key == WorkloadRef("default/near", "relabelled", "StatefulSet", "web-a").key
    others = [("default/far", "StatefulSet", "web-a"), ("default/near", "Deployment", "web-a")]
    assert all(WorkloadRef(cluster, "a", kind, name).key != ref.key for cluster, kind, name in others)


def test_messages_name_the_workload_and_its_cluster() -> None:
    assert str(WorkloadRef("default/near", "a", "StatefulSet", "web-a")) == "StatefulSet web-a in default/near"
    assert str(WorkloadRef(HOST, "a", "Deployment", "web")) == "Deployment web in the host"
    assert cluster_label(HOST) == "the host"


@pytest.mark.parametrize(
    ("living", "leaving", "only"),
    [(["a"], [], True), (["a"], ["a"], True), (["a"], ["b"], False), (["a", "b"], [], False), ([], ["b"], False)],
)
def test_pods_have_one_revision_if_those_that_are_being_deleted_have_it_as_well(
    living: list[str], leaving: list[str], only: bool
) -> None:
    """I6: a pod that is being deleted may be replaced by one at its revision."""
    pods = [
        Pod(PodMetadata("p", labels={names.LABEL_REVISION: revision}, deletion_timestamp=when), PodStatus("Running"))
        for when, revisions in ((None, living), (NOW, leaving))
        for revision in revisions
    ]
    assert tally(pods).only("a") is only
