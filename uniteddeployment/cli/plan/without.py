"""A snapshot in which some clusters have been lost for longer than the grace period. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from uniteddeployment.cli.clusters.inputs import nearest
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.planning.observed import NO_FACTS, ClusterFacts, FleetFacts, Observed, Reach
from uniteddeployment.planning.observed.clusters import NO_SCHEDULE, Taint
from uniteddeployment_api import names

DETAIL = "assumed to be lost"
_LONG = timedelta(days=30)
"""Longer than any grace period that a user would choose."""


def chosen(texts: Iterable[str], known: Collection[str], namespace: str) -> frozenset[str]:
    """The clusters of ``--without``, given as ``NAME`` or ``NAMESPACE/NAME``. Raises CommandError."""
    found = set()
    for text in texts:
        key = text if "/" in text else f"{namespace}/{text}"
        if key not in known:
            similar = nearest(key, sorted(cluster for cluster in known if cluster))
            raise CommandError(f"--without {text}: there is no Cluster {key}{similar}", USAGE)
        found.add(key)
    return frozenset(found)


def lost(observed: Observed, clusters: Collection[str]) -> Observed:
    """The snapshot after the loss of these clusters, when the grace period is over."""
    if not clusters:
        return observed
    since = (datetime.fromisoformat(observed.now) - _LONG).strftime("%Y-%m-%dT%H:%M:%SZ")
    members = {
        name: replace(view, reach=Reach.OFFLINE, detail=DETAIL, last_contact=since, undecided=False)
        if name in clusters and view.known
        else view
        for name, view in observed.members.items()
    }
    facts = {
        name: _lost(observed.clusters.get(name, NO_FACTS), since) if name in clusters else found
        for name, found in {**dict.fromkeys(members.keys() & clusters, NO_FACTS), **observed.clusters}.items()
    }
    return replace(observed, members=members, clusters=facts, fleet=_fleet(observed, clusters, since))


def _lost(facts: ClusterFacts, since: str) -> ClusterFacts:
    unreachable = Taint(names.TAINT_UNREACHABLE, effect=NO_SCHEDULE, time_added=since)
    others = tuple(taint for taint in facts.taints if taint.key != names.TAINT_UNREACHABLE)
    already = facts.offline_since is not None
    taints = (*others, unreachable)
    since = facts.offline_since or since
    return ClusterFacts(taints, offline_since=since, loss_assumed=not already)


def _fleet(observed: Observed, clusters: Collection[str], since: str) -> FleetFacts:
    """The whole fleet, in which these clusters are lost at the same time. It may brake moves."""
    already = sum(facts.offline_since is not None for name, facts in observed.clusters.items() if name in clusters)
    new = max(0, len(clusters) - already)
    fleet = observed.fleet
    return replace(fleet, clusters=max(fleet.clusters, len(clusters)), lost=(*fleet.lost, *[since] * new))
