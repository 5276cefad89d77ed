"""The snapshot that a plan is made from."""

from uniteddeployment.planning.observed import HOST, WorkloadRef, cluster_label


def test_a_workload_is_known_by_its_cluster_kind_and_name_whatever_its_label_says() -> None:
    ref = WorkloadRef("default/near", "a", "StatefulSet", "web-a")
    assert ref.key == WorkloadRef("default/near", "relabelled", "StatefulSet", "web-a").key
    others = [("default/far", "StatefulSet", "web-a"), ("default/near", "Deployment", "web-a")]
    assert all(WorkloadRef(cluster, "a", kind, name).key != ref.key for cluster, kind, name in others)


def test_messages_name_the_workload_and_its_cluster() -> None:
    assert str(WorkloadRef("default/near", "a", "StatefulSet", "web-a")) == "StatefulSet web-a in default/near"
    assert str(WorkloadRef(HOST, "a", "Deployment", "web")) == "Deployment web in the host"
    assert cluster_label(HOST) == "the host"
