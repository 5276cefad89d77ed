"""The consequences of the state of the fleet for each subset: whether it may grow, and whether its replicas leave it.

All of them follow from stored facts, so every pass comes to the same conclusion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import NO_PODS, ClusterFacts, Observed, Reach, SharedRoom, cluster_label
from uniteddeployment.planning.observed.values import since
from uniteddeployment.planning.replicas.brake import DEFAULT_GRACE_SECONDS, RELEASED, Brake, Level, brake
from uniteddeployment.planning.replicas.failover import (
    ALLOWED,
    grace_left,
    grace_seconds,
    second_copy,
    volumes_stay,
    why_not,
)
from uniteddeployment.planning.replicas.taints import judge
from uniteddeployment_api import Subset


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The consequences for one subset."""

    may_grow: bool = True
    preferred: bool = True
    """False if it gets more only when no other subset can take it."""
    leaves: bool = False
    """Whether its replicas move to other subsets."""
    keeps: int = 0
    """If they leave: how many of them have to stay for now, because moves are braked or the cluster recovers."""
    room: int | None = None
    """Number of replicas that it can run, as far as its cluster knows."""
    placed: int = 0
    """How many of its pods have a node; only set together with ``room``."""
    note: str = ""
    """The reason, for messages."""
    requeue_after: int | None = None


NO_LIMIT = Limit()


@dataclass(frozen=True, slots=True)
class Limits:
    """The consequences for all subsets."""

    subsets: Mapping[str, Limit] = field(default_factory=dict)
    """Subset -> its limit. Those that have none are not listed."""
    brake: Brake = RELEASED
    """The brake, if it concerns this application."""
    shared: tuple[SharedRoom, ...] = ()
    """Rooms for which subsets compete."""

    def of(self, subset: str) -> Limit:
        """The limit of a subset."""
        return self.subsets.get(subset, NO_LIMIT)

    @property
    def leaving(self) -> bool:
        """Whether replicas leave a subset."""
        return any(limit.leaves for limit in self.subsets.values())

    @property
    def requeue_after(self) -> int | None:
        """Seconds until the limits may change although nothing happens until then."""
        times = (limit.requeue_after for limit in self.subsets.values())
        return min((time for time in times if time is not None), default=None)


NO_LIMITS = Limits()


def limits(app: Application, observed: Observed, current: Mapping[str, int], last_move: str | None) -> Limits:
    """Find the limits of all subsets. ``current`` is how many replicas each of them is to have so far.

    ``last_move`` is when replicas last began to move because of the state of a cluster.
    """
    if not observed.clusters:
        return NO_LIMITS
    found = {name: _limit(app, observed, subset, current[name]) for name, subset in app.subsets.items()}
    clusters = dict.fromkeys(app.cluster_of(subset) for subset in app.subsets.values())
    shared = tuple(room for cluster in clusters for room in observed.facts(cluster).shared)
    if not any(limit.leaves for limit in found.values()):
        return Limits({name: limit for name, limit in found.items() if limit != NO_LIMIT}, shared=shared)
    for name, subset in app.subsets.items():
        view = observed.members.get(app.cluster_of(subset))
        if view is None or view.reach is not Reach.READY:
            # Replicas do not move to where nobody can see whether they become ready.
            found[name] = replace(found[name], may_grow=False, note=found[name].note or "its cluster does not answer")
    grace = grace_seconds(app.model.spec.failover.grace_period)
    applied = brake(observed.fleet, DEFAULT_GRACE_SECONDS if grace is None else grace, observed.now)
    concerned = [name for name, limit in found.items() if limit.leaves and current[name]]
    if applied.level is Level.FREE or not concerned:
        return Limits(found, shared=shared)
    for name in concerned:
        found[name] = replace(found[name], keeps=current[name], note=f"{found[name].note}; {applied.note}")
    if applied.level is Level.SLOWED:
        left = applied.step_seconds - since(last_move, observed.now) if last_move else 0
        first = found[concerned[0]]
        if left <= 0:
            first = replace(first, keeps=first.keeps - 1)
        wait = left if left > 0 else applied.step_seconds
        found[concerned[0]] = replace(first, requeue_after=min(wait, first.requeue_after or wait))
    return Limits(found, applied, shared)


def _limit(app: Application, observed: Observed, subset: Subset, current: int) -> Limit:
    cluster = app.cluster_of(subset)
    facts = observed.facts(cluster)
    tolerations = (*subset.cluster_tolerations, *app.model.spec.topology.tolerations)
    verdict = judge(facts.taints, tolerations, observed.now) if facts.taints else None
    limit = NO_LIMIT
    if verdict is not None:
        limit = Limit(
            may_grow=verdict.may_grow,
            preferred=verdict.preferred,
            leaves=verdict.leaves,
            note=f"{cluster_label(cluster)} has {verdict.note}" if verdict.note else "",
            requeue_after=verdict.requeue_after,
        )
        if verdict.leaves and (why := volumes_stay(app, subset)):
            out = f"move its data and then change the shares, or {ALLOWED}"
            limit = replace(limit, leaves=False, note=f"{limit.note}, but {why}; {out}")
    if facts.offline_since is not None:
        return _offline(app, subset, facts, observed.now, limit, current=current)
    room = facts.rooms.get(subset.name)
    if room is None:
        return limit
    placed = _placed(observed, cluster, subset)
    return replace(limit, room=room + placed, placed=placed)


def _placed(observed: Observed, cluster: str, subset: Subset) -> int:
    """The pods of a subset that have a node."""
    view = observed.members.get(cluster)
    pods = view.pods.get(subset.name, NO_PODS) if view is not None else NO_PODS
    return sum(pods.living.values()) - len(pods.unscheduled)


def _offline(app: Application, subset: Subset, facts: ClusterFacts, now: str, limit: Limit, *, current: int) -> Limit:
    """The limit of a subset whose cluster is Offline: it takes nothing new, and its replicas may leave.

    If it answers again, a failover that has begun goes on, and none begins: its pods can be seen.
    """
    limit = replace(limit, may_grow=False)
    left = grace_left(app, facts.offline_since, now)
    how = "is assumed to be lost" if facts.loss_assumed else f"is Offline since {facts.offline_since}"
    note = f"{cluster_label(app.cluster_of(subset))} {how}"
    leaves = limit.leaves or left == 0
    if (leaves or left) and (why := second_copy(app, subset)):
        return replace(limit, leaves=False, note=f"{note}, but {why}; {ALLOWED}")
    if leaves and facts.recovering and not limit.leaves:
        return replace(limit, leaves=True, keeps=current, note=f"{note}, and answers again")
    if leaves:
        return replace(limit, leaves=True, note=limit.note if limit.leaves else note)
    if left is None:
        return replace(limit, note=f"{note}, and {why_not(app)}")
    waits = min(left, limit.requeue_after or left)
    grace = app.model.spec.failover.grace_period
    return replace(limit, note=f"{note}; its replicas stay for {grace}", requeue_after=waits)
