"""Workloads that the topology no longer asks for: of subsets that were removed or renamed, moved to another cluster, or
given another kind.

They go when what replaces them is ready (I7). Status lists them until they are seen to be gone: a cluster that does not
answer may run them for as long as it does not (I8).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.application import HOST, Application
from uniteddeployment.planning.moves import resolve
from uniteddeployment.planning.observed import MemberView, Observed, Reach, Workload
from uniteddeployment.planning.retire import delete, foreign, owned
from uniteddeployment.planning.status import Row, where
from uniteddeployment.planning.steps import Delete
from uniteddeployment.planning.subject import Subject

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
        return f"{kind} {name} in {where(self.cluster)}"

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


def leftovers(subject: Subject, app: Application, observed: Observed, rows: Sequence[Row]) -> Leftovers:
    """What is left over, and what of it may go.

    A workload goes once the application has its ready total, less ``spec.topology.maxUnavailable``, without it: if the
    new never gets ready, the old stays. It also stays while its subset is stalled, or is to run in a cluster that
    cannot be seen, for then nothing replaces it.
    """
    placed = {row.name: row.cluster for row in rows}
    old = [
        (view, found)
        for view in observed.members.values()
        for found in owned(subject, view)
        if placed.get(found.subset) != view.name or found.kind != app.kind
    ]
    steps, settled = _settle(app, observed, rows, [pair for pair in old if pair[0].reach is Reach.READY])
    last_seen = [_last_seen(view, found) for view, found in old if view.reach is not Reach.READY]
    known = {(one.cluster, one.workload) for one in (*settled, *last_seen)}
    carried = [one for one in _carried(subject, app, observed, placed) if (one.cluster, one.workload) not in known]
    found = sorted((*settled, *last_seen, *carried), key=lambda one: (one.cluster, one.workload))
    return Leftovers(steps, tuple(found))


def _settle(
    app: Application,
    observed: Observed,
    rows: Sequence[Row],
    old: list[tuple[MemberView, Workload]],
) -> tuple[tuple[Delete, ...], list[Leftover]]:
    """Decide about those that are seen: the ones with the fewest ready pods go first."""
    desired = sum(row.replicas - row.covered for row in rows)
    spare = sum(min(row.counts.ready, row.replicas) for row in rows if row.reach is Reach.READY) - desired
    spare += sum(found.status.ready_replicas for _, found in old)
    spare += resolve(app.model.spec.topology.max_unavailable, desired, round_up=False)
    unreplaced = {row.name for row in rows if row.stalled or row.reach is not Reach.READY}
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
        _may_run(view, view.detail or str(view.reach)) if unseen else f"is left alone: {view.detail}",
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
        elif view.reach in (Reach.PENDING, Reach.OFFLINE, Reach.SUSPENDED):
            why = view.detail or str(view.reach)
        else:
            continue
        yield Leftover(
            subset,
            cluster,
            workload,
            entry.get("observedReplicas", 0),
            entry.get("readyReplicas", 0),
            _may_run(view, why),
            last_observed=view.last_contact or entry.get("lastObservedTime"),
            unseen=True,
        )


def _entries(subject: Subject) -> Iterator[Mapping[str, Any]]:
    """What status knows of workloads: those of subsets, and what was left over already."""
    yield from subject.leftover_statuses()
    for name, entry in subject.subset_statuses().items():
        cluster, workload = entry.get("cluster") or HOST, entry.get("workload") or ""
        yield {**entry, "subset": name, "cluster": cluster, "workload": workload}


def _may_run(view: MemberView, why: str) -> str:
    return f"may still run: {where(view.name)} cannot be seen ({why})"
