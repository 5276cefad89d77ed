"""Which Cluster object stands for a cluster, where several name the same one. Pure.

Two Clusters for one API server would each show the workloads that were applied through the other, so only one of them
is used. A Cluster that was used before keeps its place: its status has the uid of the cluster.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """What one Cluster object says, or has shown, about the cluster that it stands for."""

    cluster: str
    """``namespace/name``"""
    created: str
    """When the object was created (RFC 3339)."""
    held: str = ""
    """The uid of the cluster that it was used for before; empty if it was never used."""
    found: str = ""
    """The uid of the cluster that answers under its address; empty if that is not known yet."""
    connecting: bool = False
    """Whether it is being found out which cluster answers."""


def holder(uid: str, claims: Iterable[Claim]) -> str | None:
    """The Cluster that stands for a cluster: the one that does so already, else the oldest, else the first by name.

    A Cluster that was used for another cluster before does not become that of this one by answering for it now.
    """
    candidates = [one for one in claims if one.held == uid or (not one.held and one.found == uid)]
    return min(candidates, key=lambda one: (one.held != uid, *_age(one))).cluster if candidates else None


def decided(uid: str, asking: str, claims: Iterable[Claim]) -> bool:
    """Whether it is known who holds a cluster: not while an older Cluster may turn out to stand for it too."""
    known = {one.cluster: one for one in claims}
    mine = known[asking]
    if any(one.held == uid for one in known.values()):
        return True
    return not any(one.connecting and not one.held and _age(one) < _age(mine) for one in known.values())


def _age(claim: Claim) -> tuple[str, str]:
    return claim.created, claim.cluster
