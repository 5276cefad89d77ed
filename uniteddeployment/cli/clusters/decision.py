"""Whether a member may be registered, and what to warn about. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.fleet.account import Mark
from uniteddeployment.fleet.identity import SYSTEM_NAMESPACE

OLDEST = (1, 28)
"""The oldest version of Kubernetes that is supported."""
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Known:
    """A Cluster object on the host."""

    key: str
    """``namespace/name``"""
    uid: str = ""
    """The uid of the cluster that it is used for (``status.clusterUID``); empty if it was never connected."""
    deleting: bool = False
    """Whether it is being deleted."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The host and the member as they are before anything is written."""

    key: str
    """The Cluster to register, as ``namespace/name``."""
    host_uid: str
    member_uid: str
    version: str
    unserved: Sequence[str] = ()
    """Required kinds that the member does not serve."""
    missing: Sequence[str] = ()
    """Rights that the user lacks in the member, as sentences."""
    mark: Mark | None = None
    clusters: Sequence[Known] = ()
    owner_lost: bool = False
    """Whether the user says that the host in the mark is lost."""


def refusal(facts: Facts) -> str:
    """Why the member cannot be registered, and what to do; empty if it can."""
    if facts.missing:
        return f"the kubeconfig lacks rights in the member: {'; '.join(facts.missing)}"
    if facts.member_uid == facts.host_uid:
        return (
            "the kubeconfig is of the host itself: select the member with --kubeconfig and --context. Subsets without "
            "targetCluster run on the host without a registration"
        )
    if facts.unserved:
        return f"the member does not serve {', '.join(facts.unserved)}, so it cannot run subsets"
    return _owned(facts) or _registered(facts)


def _owned(facts: Facts) -> str:
    mark = facts.mark
    if mark is None or mark.host_uid == facts.host_uid or facts.owner_lost:
        return ""
    name = mark.cluster.rpartition("/")[2]
    return (
        f"the member belongs to another host: {mark.host or 'its address is not known'} (the uid of its namespace "
        f"{SYSTEM_NAMESPACE} is {mark.host_uid}), where it is the Cluster {mark.cluster}. Run 'ud clusters deregister "
        f"{name}' there first; if that host is lost, add --owner-lost"
    )


def _registered(facts: Facts) -> str:
    """Whether the member has another name on this host, or the name another member."""
    present = {known.key: known for known in facts.clusters}
    same = present.get(facts.key)
    if same is not None and same.deleting:
        return f"the Cluster {facts.key} is being deleted: try again when it is gone"
    if same is not None and same.uid and same.uid != facts.member_uid:
        return (
            f"the Cluster {facts.key} is used for another cluster (the uid of its namespace {SYSTEM_NAMESPACE} is "
            f"{same.uid}): choose another name, or deregister that one first"
        )
    others = [known.key for known in facts.clusters if known.uid == facts.member_uid and known.key != facts.key]
    mark = facts.mark
    if mark is not None and mark.host_uid == facts.host_uid and mark.cluster != facts.key:
        others += [mark.cluster] if mark.cluster in present and mark.cluster not in others else []
    if others:
        return f"the member is registered as the Cluster {others[0]}: use that one, or deregister it first"
    return ""


def warnings(facts: Facts) -> list[str]:
    """What to warn about."""
    match = _VERSION.match(facts.version)
    if match is None:
        return [f"the member has the unknown version {facts.version!r}"]
    if (int(match[1]), int(match[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return [f"the member runs Kubernetes {facts.version}; versions before {oldest} are not tested"]
    return []
