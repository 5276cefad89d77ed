"""A snapshot in which clusters are lost: only what the loss of them changes is different."""

import pytest

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.plan.without import chosen, lost
from uniteddeployment.planning.observed import ClusterFacts, FleetFacts, MemberView, Observed, Reach, Taint

NOW = "2026-03-01T00:00:00Z"
A, B = "default/a", "default/b"


def observed(**facts: ClusterFacts) -> Observed:
    return Observed(
        NOW,
        {name: MemberView(name, Reach.READY) for name in ("", A, B)},
        clusters={A: facts.get("a", ClusterFacts()), B: facts.get("b", ClusterFacts())},
        fleet=FleetFacts(clusters=2),
    )


def test_a_lost_cluster_is_offline_for_a_long_time_and_the_others_stay_as_they_are() -> None:
    before = observed(a=ClusterFacts((Taint("gpu"),), rooms={"a": 7}))
    after = lost(before, {A})
    assert after.members[A].reach is Reach.OFFLINE
    assert (after.members[B], after.members[""]) == (before.members[B], before.members[""])
    facts = after.clusters[A]
    assert facts.offline_since == "2026-01-30T00:00:00Z"
    assert facts.loss_assumed
    assert not facts.rooms
    assert [taint.key for taint in facts.taints] == ["gpu", "uniteddeployment.io/unreachable"]
    assert after.clusters[B] == before.clusters[B]
    assert after.fleet == FleetFacts(2, ("2026-01-30T00:00:00Z",))


def test_clusters_that_are_lost_together_count_as_lost_at_once() -> None:
    """So the brake for mass failures acts as it would."""
    assert len(lost(observed(), {A, B}).fleet.lost) == 2
    known = observed(a=ClusterFacts(offline_since="2026-02-28T00:00:00Z"))
    after = lost(known, {A, B})
    assert after.clusters[A].offline_since == "2026-02-28T00:00:00Z"
    assert (after.clusters[A].loss_assumed, after.clusters[B].loss_assumed) == (False, True)
    assert len(after.fleet.lost) == 1, "one of them is counted already"


def test_without_lost_clusters_nothing_changes() -> None:
    before = observed()
    assert lost(before, ()) is before


def test_clusters_are_named_with_or_without_their_namespace() -> None:
    assert chosen(["a", "default/b"], ["", A, B], "default") == {A, B}
    with pytest.raises(CommandError, match="there is no Cluster default/c") as refused:
        chosen(["c"], ["", A, B], "default")
    assert refused.value.code == USAGE
