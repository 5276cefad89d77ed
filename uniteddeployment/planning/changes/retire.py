"""Removing workloads: all of them when the application is deleted, and those that the topology no longer includes.

A workload is removed only through the Cluster that it was applied through (I14). Two Clusters may name one server, and
each then shows what was made through the other.

Workloads that are left over from an earlier topology (their subset was removed, renamed, moved to another cluster or
given another kind) go once what replaces them is ready (I7). The status lists them until they are seen to be gone: a
cluster that does not answer may still run them (I8).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import MemberView, Observed, Reach, Workload, WorkloadRef, cluster_label
from uniteddeployment.planning.replicas.pace import floor
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import Delete, Release
from uniteddeployment.planning.stored import StoredLeftover, StoredWorkload
from uniteddeployment_api.int_or_percent import rounded_down

_REMOVED = "no longer in the topology, and the others are ready without it"
_UNTIL_READY = "kept until what replaces it is ready"


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The removals of a deletion, and what it waits for. If both are empty, no workload is left anywhere."""

    steps: tuple[Delete | Release, ...]
    waiting: str


def everything(subject: Subject, observed: Observed) -> Cleanup:
    """Delete, or release, every workload of the application in every cluster."""
    steps: list[Delete | Release] = []
    left = []
    for view in observed.members.values():
        for workload in owned(subject, view):
            problem = "" if subject.orphan else foreign(observed, view, workload)
            title = str(view.ref(workload))
            left.append(f"{title} ({problem})" if problem else title)
            if view.reach is not Reach.READY or workload.metadata.deletion_timestamp is not None:
                continue
            if subject.orphan:
                steps.append(_release(view, workload))
            elif not problem:
                steps.append(_delete(view, workload, "the application is being deleted"))
    unseen = [f"{view.name} ({view.detail or view.reach})" for view in observed.members.values() if view.unseen]
    unseen += [
        f"{view.name} ({why})"
        for view in observed.members.values()
        for kind, why in view.unread.items()
        if view.reach is Reach.READY and _may_have(subject, view, kind)
    ]
    if unseen:
        return Cleanup(tuple(steps), f"waits for {', '.join(sorted(unseen))}, where workloads may be left")
    doing = "leaving" if subject.orphan else "deleting"
    return Cleanup(tuple(steps), f"{doing} {', '.join(sorted(left))}" if left else "")


def any_left(subject: Subject, observed: Observed) -> bool:
    """Return True if any cluster shows a workload of the application."""
    return any(owned(subject, view) for view in observed.members.values())


def owned(subject: Subject, view: MemberView) -> list[Workload]:
    """The workloads of the application that a cluster shows."""
    owner = subject.owner
    return [workload for workload in view.workloads if owner.owns(workload.metadata.annotations)]


def foreign(observed: Observed, view: MemberView, workload: Workload) -> str:
    """Why a workload must not be removed through this Cluster; empty if it may be.

    If the Cluster that it was applied through no longer exists, that object was renamed, and the workload belongs to
    whichever Cluster stands for the server now.
    """
    applied = workload.applied_through
    if applied is None or applied == view.name:
        return ""
    other = observed.members.get(applied)
    if other is None or other.reach is Reach.UNKNOWN:
        return ""
    return f"was applied through {cluster_label(applied)} and is not removed through {cluster_label(view.name)}"


def _delete(view: MemberView, workload: Workload, why: str) -> Delete:
    return Delete(view.ref(workload), workload.metadata.uid, why)


def _release(view: MemberView, workload: Workload) -> Release:
    return Release(view.ref(workload), workload.metadata.uid, "the application is deleted and its workloads stay")


def _may_have(subject: Subject, view: MemberView, kind: str) -> bool:
    """Return True if spec or status say that workloads of a kind may be left in a cluster."""
    if subject.app is not None and subject.app.kind == kind:
        return True
    return any(stored.cluster == view.name and stored.kind == kind for stored in subject.status.workloads)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A workload that the topology no longer includes."""

    ref: WorkloadRef
    replicas: int
    ready: int
    reason: str
    """Why it still exists, or why its state is unknown."""
    last_observed: str | None = None
    """When it was last seen; only set while its cluster cannot be seen."""
    unseen: bool = False
    """Whether it is unknown if it still exists."""
    kept: bool = False
    """Whether it waits for its replacement, or for a user to act."""

    def stored(self) -> StoredLeftover:
        """The entry of the status."""
        return StoredLeftover(
            subset=self.ref.subset,
            cluster=self.ref.cluster,
            workload=f"{self.ref.kind}/{self.ref.name}",
            observed_replicas=self.replicas,
            ready_replicas=self.ready,
            reason=self.reason,
            last_observed_time=self.last_observed or None,
        )


@dataclass(frozen=True, slots=True)
class Leftovers:
    """All leftover workloads, and the deletions that are due."""

    steps: tuple[Delete, ...] = ()
    workloads: tuple[Leftover, ...] = ()

    @property
    def kept(self) -> str:
        """The workloads that are kept, by reason; empty if there are none."""
        by_reason: dict[str, list[str]] = {}
        for leftover in self.workloads:
            if leftover.kept:
                by_reason.setdefault(leftover.reason, []).append(str(leftover.ref))
        return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in by_reason.items())

    @property
    def unseen(self) -> tuple[str, ...]:
        """The workloads that may still exist, for messages."""
        return tuple(f"{leftover.ref} {leftover.reason}" for leftover in self.workloads if leftover.unseen)


def leftovers(
    subject: Subject, app: Application, observed: Observed, results: Sequence[SubsetResult], *, unplaced: int = 0
) -> Leftovers:
    """Find the leftover workloads and decide which of them may be deleted. ``unplaced`` pods have no other place.

    One may go if, without it, the application still has all its pods ready but ``spec.topology.maxUnavailable``. So if
    the replacement never gets ready, the old workload stays. It also stays while its subset is stalled or belongs to a
    cluster that cannot be seen, since nothing replaces it then.
    """
    placed = {result.name: result.cluster for result in results}
    old = [
        (view, workload)
        for view in observed.members.values()
        for workload in owned(subject, view)
        if placed.get(workload.subset) != view.name or workload.kind != app.kind
    ]
    steps, settled = _settle(app, observed, results, unplaced, [pair for pair in old if pair[0].reach is Reach.READY])
    last_seen = [_last_seen(view, workload) for view, workload in old if view.reach is not Reach.READY]
    known = {leftover.ref.key for leftover in (*settled, *last_seen)}
    carried = [leftover for leftover in _carried(subject, app, observed, placed) if leftover.ref.key not in known]
    return Leftovers(steps, tuple(sorted((*settled, *last_seen, *carried), key=lambda leftover: leftover.ref.key)))


def _settle(
    app: Application,
    observed: Observed,
    results: Sequence[SubsetResult],
    unplaced: int,
    old: list[tuple[MemberView, Workload]],
) -> tuple[tuple[Delete, ...], list[Leftover]]:
    """Decide about the workloads that are seen. Those with the fewest ready pods go first."""
    spare = _spare(app, results, unplaced, old)
    unreplaced = {result.name for result in results if result.stalled or result.reach is not Reach.READY}
    steps: list[Delete] = []
    settled = []
    old.sort(key=lambda pair: (pair[1].status.ready_replicas, pair[0].name, pair[1].metadata.name))
    for view, workload in old:
        ready = workload.status.ready_replicas
        if workload.metadata.deletion_timestamp is not None:
            settled.append(_leftover(view, workload, "is being deleted"))
        elif problem := foreign(observed, view, workload):
            settled.append(_leftover(view, workload, problem, kept=True))
        elif workload.subset not in unreplaced and ready <= max(spare, 0) and not app.model.spec.paused:
            spare -= ready
            steps.append(_delete(view, workload, _REMOVED))
            settled.append(_leftover(view, workload, _REMOVED))
        else:
            settled.append(_leftover(view, workload, _UNTIL_READY, kept=True))
    return tuple(steps), settled


def _spare(
    app: Application, results: Sequence[SubsetResult], unplaced: int, old: Sequence[tuple[MemberView, Workload]]
) -> int:
    """The number of ready pods of leftover workloads that may go: what moves between subsets has left of the budget."""
    desired = sum(result.desired - result.covered for result in results) + unplaced
    ready = sum(result.kept for result in results if result.reach is Reach.READY)
    ready += sum(workload.status.ready_replicas for _, workload in old if workload.metadata.deletion_timestamp is None)
    return ready - floor(desired, rounded_down(app.model.spec.topology.max_unavailable, desired))


def _leftover(view: MemberView, workload: Workload, reason: str, *, kept: bool = False) -> Leftover:
    status = workload.status
    return Leftover(view.ref(workload), status.replicas, status.ready_replicas, reason, kept=kept)


def _last_seen(view: MemberView, workload: Workload) -> Leftover:
    """A workload in a cluster that cannot be used now, as it was last seen."""
    status = workload.status
    unseen = view.reach is not Reach.UNKNOWN
    return Leftover(
        view.ref(workload),
        status.replicas,
        status.ready_replicas,
        _may_still_run(view, view.detail or str(view.reach)) if unseen else f"is left alone: {view.detail}",
        last_observed=view.last_contact,
        unseen=unseen,
    )


def _carried(subject: Subject, app: Application, observed: Observed, placed: Mapping[str, str]) -> Iterator[Leftover]:
    """The workloads that only the status knows: their cluster has not been seen since it was last written.

    If the Cluster object was deleted, its workloads are given up, as they are when the application is deleted.
    """
    for subset, stored in _stored_workloads(subject):
        view = observed.members.get(stored.cluster)
        if not stored.workload_name or view is None:
            continue
        if placed.get(subset) == stored.cluster and stored.kind == app.kind:
            continue
        if view.reach is Reach.READY and stored.kind in view.unread:
            why = view.unread[stored.kind]
        elif view.unseen:
            why = view.detail or str(view.reach)
        else:
            continue
        yield Leftover(
            WorkloadRef(stored.cluster, subset, stored.kind, stored.workload_name),
            stored.observed_replicas,
            stored.ready_replicas,
            _may_still_run(view, why),
            last_observed=view.last_contact or stored.last_observed_time,
            unseen=True,
        )


def _stored_workloads(subject: Subject) -> Iterator[tuple[str, StoredWorkload]]:
    """The workloads that the status lists, each with its subset: those left over, and those of subsets."""
    for leftover in subject.status.leftovers or ():
        yield leftover.subset, leftover
    for subset in subject.status.subsets.values():
        yield subset.name, subset


def _may_still_run(view: MemberView, why: str) -> str:
    return f"may still run: {cluster_label(view.name)} cannot be seen ({why})"
