"""Taking away what is no longer wanted: all of it when the application is deleted, parts when the topology changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.moves import resolve
from uniteddeployment.planning.observed import MemberView, Observed, Reach, Workload
from uniteddeployment.planning.steps import Delete, Release
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import names


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
        for found in _owned(subject.uid, view):
            left.append(f"{found.kind} {found.metadata.name} in {view.name or 'the host'}")
            if view.reach is not Reach.READY or found.metadata.deletion_timestamp is not None:
                continue
            if subject.orphan:
                steps.append(_release(view, found))
            else:
                steps.append(_delete(view, found, "the application is being deleted"))
    unseen = [
        f"{view.name} ({view.detail or view.reach})"
        for view in observed.members.values()
        if view.reach in (Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED)
    ]
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
    return any(_owned(subject.uid, view) for view in observed.members.values())


def leftovers(
    app: Application,
    observed: Observed,
    placed: Mapping[str, str],
    *,
    ready: int,
    desired: int,
    stalled: frozenset[str],
) -> tuple[tuple[Delete, ...], str]:
    """Workloads of subsets that were removed, renamed, moved to another cluster or given another kind.

    ``placed`` is subset -> cluster as wanted now, ``ready`` the ready pods of those. An old workload goes once the
    application has its ready total, less ``spec.topology.maxUnavailable``, without it (I7): if the new never gets
    ready, the old stays. It also stays as long as its subset is ``stalled``, for then nothing replaces it.
    """
    old = [
        (view, found)
        for view in observed.members.values()
        if view.reach is Reach.READY
        for found in _owned(app.uid, view)
        if placed.get(found.subset) != view.name or found.kind != app.kind
    ]
    spare = ready + sum(found.status.ready_replicas for _, found in old) - desired
    spare += resolve(app.model.spec.topology.max_unavailable, desired, round_up=False)
    steps, kept = [], []
    old.sort(key=lambda pair: (pair[1].status.ready_replicas, pair[0].name, pair[1].metadata.name))
    for view, found in old:
        if found.metadata.deletion_timestamp is not None:
            spare -= found.status.ready_replicas
        elif found.subset not in stalled and found.status.ready_replicas <= max(spare, 0):
            spare -= found.status.ready_replicas
            steps.append(_delete(view, found, "no longer in the topology, and the others are ready without it"))
        else:
            kept.append(f"{found.kind} {found.metadata.name} in {view.name or 'the host'}")
    waiting = f"keeping {', '.join(kept)} until what replaces it is ready" if kept else ""
    return tuple(steps), waiting


def _may_run(subject: Subject, view: MemberView, kind: str) -> bool:
    """Whether workloads of a kind may be left in a cluster, as far as spec and status tell."""
    if subject.app is not None and subject.app.kind == kind:
        return True
    entries = subject.subset_statuses().values()
    return any(one.get("cluster", "") == view.name and _kind_in(one) == kind for one in entries)


def _kind_in(entry: Mapping[str, object]) -> str:
    return str(entry.get("workload") or "").partition("/")[0]


def _owned(uid: str, view: MemberView) -> list[Workload]:
    return [found for found in view.workloads if found.metadata.annotations.get(names.ANNOTATION_OWNER_UID) == uid]


def _delete(view: MemberView, found: Workload, why: str) -> Delete:
    return Delete(view.name, found.subset, found.kind, found.metadata.name, found.metadata.uid, why)


def _release(view: MemberView, found: Workload) -> Release:
    why = "the application is deleted and its workloads stay"
    return Release(view.name, found.subset, found.kind, found.metadata.name, found.metadata.uid, why)
