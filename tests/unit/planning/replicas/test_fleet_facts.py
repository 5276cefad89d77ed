"""The state of clusters decides where replicas go, beside shares and bounds."""

from tests.support.planning import application, manifest, observed, subject
from uniteddeployment.planning.observed import ClusterFacts, Taint
from uniteddeployment.planning.replicas.divide import divide


def test_nothing_new_is_placed_in_a_cluster_with_a_taint_that_is_not_tolerated() -> None:
    """The other subsets take the new replicas, and those that the tainted cluster has stay there."""
    app = application(manifest(replicas=12, shares={"member-1": None, "member-2": None}))
    status = {"subsetStatuses": [{"name": "member-1", "replicas": 4}, {"name": "member-2", "replicas": 4}]}
    facts = {"default/member-2": ClusterFacts(taints=(Taint("maintenance"),))}
    divided = divide(subject(app, status=status), app, observed(clusters=facts))
    assert divided.replicas == {"member-1": 8, "member-2": 4}
    assert (
        divided.reasons["member-2"]
        == "kept: it cannot be scaled up now: default/member-2 has the taint maintenance:NoSchedule"
    )
