"""Decides which Cluster object is used for a cluster if several have the same API server. Pure.

Two Clusters for one API server would each show the workloads that were applied through the other, so only one of them
is used. A Cluster that was used before stays in use: its status has the uid of the cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one Cluster object to a cluster."""

    cluster: str
    """``namespace/name``"""
    created: str
    """When the object was created (RFC 3339)."""
    held_uid: str = ""
    """The uid of the cluster for which it was used before; empty if it was never used."""
    answering_uid: str = ""
    """The uid of the cluster that answers at its address; empty if that is not known yet."""
    connecting: bool = False
    """Whether it is not known yet which cluster answers."""


def holder(uid: str, claims: Iterable[Claim]) -> str | None:
    """The Cluster to use for a cluster: the one that was used before, else the oldest, else the first by name.

    A Cluster that was used for another cluster before is never used for this one.
    """
    candidates = [claim for claim in claims if uid == (claim.held_uid or claim.answering_uid)]
    return min(candidates, key=lambda claim: (claim.held_uid != uid, *_age(claim))).cluster if candidates else None


def decided(uid: str, asking: str, claims: Iterable[Claim]) -> bool:
    """Whether the holder of a cluster is known: not while an older Cluster may turn out to have the same cluster."""
    known = {claim.cluster: claim for claim in claims}
    mine = known[asking]
    if any(claim.held_uid == uid for claim in known.values()):
        return True
    return not any(claim.connecting and not claim.held_uid and _age(claim) < _age(mine) for claim in known.values())


def _age(claim: Claim) -> tuple[str, str]:
    return claim.created, claim.cluster
