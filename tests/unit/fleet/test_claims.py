"""Which of several Cluster objects is used for one cluster."""

import itertools

import pytest

from uniteddeployment.fleet.claims import Claim, decided, holder

OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
UID = "uid-of-the-cluster"


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([], None),
        ([Claim("ns/a", OLD, answering_uid="another")], None),
        ([Claim("ns/a", OLD, answering_uid=UID)], "ns/a"),
        # The one that is used already keeps its place, whether or not it answers.
        ([Claim("ns/a", OLD, answering_uid=UID), Claim("ns/b", NEW, held_uid=UID)], "ns/b"),
        ([Claim("ns/a", OLD, answering_uid=UID), Claim("ns/b", NEW, held_uid=UID, answering_uid="another")], "ns/b"),
        # Two processes may have decided at once: the older stays.
        ([Claim("ns/b", OLD, held_uid=UID), Claim("ns/a", NEW, held_uid=UID)], "ns/b"),
        ([Claim("ns/b", OLD, answering_uid=UID), Claim("ns/a", NEW, answering_uid=UID)], "ns/b"),
        ([Claim("ns/b", OLD, answering_uid=UID), Claim("ns/a", OLD, answering_uid=UID)], "ns/a"),
        # What was used for another cluster does not become this one's by answering for it.
        ([Claim("ns/a", OLD, held_uid="another", answering_uid=UID)], None),
        ([Claim("ns/a", OLD, held_uid="another", answering_uid=UID), Claim("ns/b", NEW, answering_uid=UID)], "ns/b"),
    ],
)
def test_the_one_that_is_used_already_then_the_oldest_then_the_first_by_name(
    claims: list[Claim], expected: str | None
) -> None:
    """I2, I14: in whatever order they are known."""
    assert {holder(UID, order) for order in itertools.permutations(claims)} == {expected}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Claim("ns/a", OLD, connecting=True), False),
        (Claim("ns/z", NEW, connecting=True), True),
        # It is not connecting any more: it has failed, or has shown another cluster.
        (Claim("ns/a", OLD), True),
        # It was used for another cluster, so it does not get this one.
        (Claim("ns/a", OLD, held_uid="another", connecting=True), True),
        (Claim("ns/a", OLD, held_uid=UID, connecting=True), True),
    ],
)
def test_a_new_cluster_waits_for_the_older_ones_that_may_be_the_same(other: Claim, expected: bool) -> None:
    """I14: otherwise the first to answer would be used."""
    assert decided(UID, "ns/b", [Claim("ns/b", NEW, answering_uid=UID), other]) is expected


def test_a_cluster_does_not_wait_for_itself() -> None:
    assert decided(UID, "ns/a", [Claim("ns/a", OLD, connecting=True, answering_uid=UID)])
