"""Removing workloads: all of them when the application is deleted, and what has to hold for any that is removed.

A workload is removed only through the Cluster that it was applied through (I14): two Clusters may name one server, and
then each shows what the other has made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.kinds.moves import resolve
from uniteddeployment.planning.observed import HOST, MemberView, Observed, Reach, Workload, cluster_label
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import Delete, Release


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What to delete, and what is being waited for; nothing of both means that the application is gone everywhere."""

    steps: tuple[Delete | Release, ...]
    waiting: str


def everything(subject: Subject, observed: Observed) -> Cleanup:
    """Delete every workload of the application, in whatever cluster it is."""
    steps: list[Delete | Release] = []
    left = []
    for view in observed.members.values():
        for found in owned(subject, view):
            problem = "" if subject.orphan else foreign(observed, view, found)
            title = str(view.ref(found))
            left.append(f"{title} ({problem})" if problem else title)
            if view.reach is not Reach.READY or found.metadata.deletion_timestamp is not None:
                continue
            if subject.orphan:
                steps.append(_release(view, found))
            elif not problem:
                steps.append(delete(view, found, "the application is being deleted"))
    unseen = [f"{view.name} ({view.detail or view.reach})" for view in observed.members.values() if view.unseen]
    unseen += [
        f"{view.name} ({why})"
        for view in observed.members.values()
        for kind, why in view.unread.items()
        if view.reach is Reach.READY and _may_run(subject, view, kind)
    ]
    if unseen:
        return Cleanup(tuple(steps), f"waits for {', '.join(sorted(unseen))}, where workloads may be left")
    doing = "leaving" if subject.orphan else "deleting"
    return Cleanup(tuple(steps), f"{doing} {', '.join(sorted(left))}" if left else "")


def any_left(subject: Subject, observed: Observed) -> bool:
    """Whether any cluster shows a workload of the application."""
    return any(owned(subject, view) for view in observed.members.values())


def owned(subject: Subject, view: MemberView) -> list[Workload]:
    """The workloads of the application that a cluster shows."""
    owner = subject.owner
    return [found for found in view.workloads if owner.owns(found.metadata.annotations)]


def foreign(observed: Observed, view: MemberView, found: Workload) -> str:
    """Why a workload must not be removed through this Cluster; nothing if it may.

    One that was applied through a Cluster which does not exist any more belongs to whichever Cluster stands for the
    server now: the object was renamed.
    """
    applied = found.applied_through
    if applied is None or applied == view.name:
        return ""
    other = observed.members.get(applied)
    if other is None or other.reach is Reach.UNKNOWN:
        return ""
    return f"was applied through {cluster_label(applied)} and is not removed through {cluster_label(view.name)}"


def delete(view: MemberView, found: Workload, why: str) -> Delete:
    """The step that deletes a workload."""
    return Delete(view.ref(found), found.metadata.uid, why)


def _may_run(subject: Subject, view: MemberView, kind: str) -> bool:
    """Whether workloads of a kind may be left in a cluster, as far as spec and status tell."""
    if subject.app is not None and subject.app.kind == kind:
        return True
    entries = (*subject.subset_statuses().values(), *subject.leftover_statuses())
    return any(one.get("cluster", "") == view.name and _kind_in(one) == kind for one in entries)


def _kind_in(entry: Mapping[str, object]) -> str:
    return str(entry.get("workload") or "").partition("/")[0]


def _release(view: MemberView, found: Workload) -> Release:
    why = "the application is deleted and its workloads stay"
    return Release(view.ref(found), found.metadata.uid, why)


_GONE = "no longer in the topology, and the others are ready without it"
_UNTIL_READY = "kept until what replaces it is ready"


@dataclass(frozen=True, slots=True)
class Leftover:
    """One such workload, as status shows it."""

    subset: str
    cluster: str
    workload: str
    """``Kind/name``"""
    replicas: int
    ready: int
    reason: str
    """Why it is still there, or what is not known of it."""
    last_observed: str | None = None
    """When it was last seen; only set while its cluster cannot be seen."""
    unseen: bool = False
    """Whether it is not known if it is still there."""
    kept: bool = False
    """Whether it waits for its replacement, or for somebody to act."""

    @property
    def title(self) -> str:
        kind, _, name = self.workload.partition("/")
        return f"{kind} {name} in {cluster_label(self.cluster)}"

    def entry(self) -> dict[str, Any]:
        """As status has it."""
        entry: dict[str, Any] = {
            "subset": self.subset,
            "cluster": self.cluster,
            "workload": self.workload,
            "observedReplicas": self.replicas,
            "readyReplicas": self.ready,
            "reason": self.reason,
        }
        return entry | ({"lastObservedTime": self.last_observed} if self.last_observed else {})


@dataclass(frozen=True, slots=True)
class Leftovers:
    """All of them, and what to delete now."""

    steps: tuple[Delete, ...] = ()
    found: tuple[Leftover, ...] = ()

    @property
    def kept(self) -> str:
        """Which are kept; nothing if none is."""
        by_reason: dict[str, list[str]] = {}
        for one in self.found:
            if one.kept:
                by_reason.setdefault(one.reason, []).append(one.title)
        return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in by_reason.items())

    @property
    def unseen(self) -> tuple[str, ...]:
        """Which may still be there, for people."""
        return tuple(f"{one.title} {one.reason}" for one in self.found if one.unseen)


def leftovers(subject: Subject, app: Application, observed: Observed, results: Sequence[SubsetResult]) -> Leftovers:
    """What is left over, and what of it may go.

    A workload goes once the application has its ready total, less ``spec.topology.maxUnavailable``, without it: if the
    new never gets ready, the old stays. It also stays while its subset is stalled, or is to run in a cluster that
    cannot be seen, for then nothing replaces it.
    """
    placed = {result.name: result.cluster for result in results}
    old = [
        (view, found)
        for view in observed.members.values()
        for found in owned(subject, view)
        if placed.get(found.subset) != view.name or found.kind != app.kind
    ]
    steps, settled = _settle(app, observed, results, [pair for pair in old if pair[0].reach is Reach.READY])
    last_seen = [_last_seen(view, found) for view, found in old if view.reach is not Reach.READY]
    known = {(one.cluster, one.workload) for one in (*settled, *last_seen)}
    carried = [one for one in _carried(subject, app, observed, placed) if (one.cluster, one.workload) not in known]
    found = sorted((*settled, *last_seen, *carried), key=lambda one: (one.cluster, one.workload))
    return Leftovers(steps, tuple(found))


def _settle(
    app: Application,
    observed: Observed,
    results: Sequence[SubsetResult],
    old: list[tuple[MemberView, Workload]],
) -> tuple[tuple[Delete, ...], list[Leftover]]:
    """Decide about those that are seen: the ones with the fewest ready pods go first."""
    desired = sum(result.replicas - result.covered for result in results)
    spare = (
        sum(min(result.counts.ready, result.replicas) for result in results if result.reach is Reach.READY) - desired
    )
    spare += sum(found.status.ready_replicas for _, found in old)
    spare += resolve(app.model.spec.topology.max_unavailable, desired, round_up=False)
    unreplaced = {result.name for result in results if result.stalled or result.reach is not Reach.READY}
    steps: list[Delete] = []
    settled = []
    old.sort(key=lambda pair: (pair[1].status.ready_replicas, pair[0].name, pair[1].metadata.name))
    for view, found in old:
        ready = found.status.ready_replicas
        if found.metadata.deletion_timestamp is not None:
            spare -= ready
            settled.append(_leftover(view, found, "is being deleted"))
        elif problem := foreign(observed, view, found):
            settled.append(_leftover(view, found, problem, kept=True))
        elif found.subset not in unreplaced and ready <= max(spare, 0) and not app.model.spec.paused:
            spare -= ready
            steps.append(delete(view, found, _GONE))
            settled.append(_leftover(view, found, _GONE))
        else:
            settled.append(_leftover(view, found, _UNTIL_READY, kept=True))
    return tuple(steps), settled


def _leftover(view: MemberView, found: Workload, reason: str, *, kept: bool = False) -> Leftover:
    workload = f"{found.kind}/{found.metadata.name}"
    status = found.status
    return Leftover(found.subset, view.name, workload, status.replicas, status.ready_replicas, reason, kept=kept)


def _last_seen(view: MemberView, found: Workload) -> Leftover:
    """One in a cluster that is not used now, as it was seen last."""
    status = found.status
    unseen = view.reach is not Reach.UNKNOWN
    return Leftover(
        found.subset,
        view.name,
        f"{found.kind}/{found.metadata.name}",
        status.replicas,
        status.ready_replicas,
        _doubtful(view, view.detail or str(view.reach)) if unseen else f"is left alone: {view.detail}",
        last_observed=view.last_contact,
        unseen=unseen,
    )


def _carried(subject: Subject, app: Application, observed: Observed, placed: Mapping[str, str]) -> Iterator[Leftover]:
    """Those that only status knows of: their cluster has not been seen since it was last written.

    A Cluster object that somebody deleted is given up, as it is when the application is deleted.
    """
    for entry in _entries(subject):
        subset, cluster, workload = entry["subset"], entry["cluster"], entry["workload"]
        kind = workload.partition("/")[0]
        view = observed.members.get(cluster)
        if not workload or view is None or (placed.get(subset) == cluster and kind == app.kind):
            continue
        if view.reach is Reach.READY and kind in view.unread:
            why = view.unread[kind]
        elif view.unseen:
            why = view.detail or str(view.reach)
        else:
            continue
        yield Leftover(
            subset,
            cluster,
            workload,
            entry.get("observedReplicas", 0),
            entry.get("readyReplicas", 0),
            _doubtful(view, why),
            last_observed=view.last_contact or entry.get("lastObservedTime"),
            unseen=True,
        )


def _entries(subject: Subject) -> Iterator[Mapping[str, Any]]:
    """What status knows of workloads: those of subsets, and what was left over already."""
    yield from subject.leftover_statuses()
    for name, entry in subject.subset_statuses().items():
        cluster, workload = entry.get("cluster") or HOST, entry.get("workload") or ""
        yield {**entry, "subset": name, "cluster": cluster, "workload": workload}


def _doubtful(view: MemberView, why: str) -> str:
    return f"may still run: {cluster_label(view.name)} cannot be seen ({why})"
