"""Removing workloads: all of them when the application is deleted, and what has to hold for any that is removed.

A workload is removed only through the Cluster that it was applied through (I14): two Clusters may name one server, and
then each shows what the other has made.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment.planning.observed import MemberView, Observed, Reach, Workload
from uniteddeployment.planning.status import where
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
        for found in owned(subject, view):
            problem = "" if subject.orphan else foreign(observed, view, found)
            title = f"{found.kind} {found.metadata.name} in {where(view.name)}"
            left.append(f"{title} ({problem})" if problem else title)
            if view.reach is not Reach.READY or found.metadata.deletion_timestamp is not None:
                continue
            if subject.orphan:
                steps.append(_release(view, found))
            elif not problem:
                steps.append(delete(view, found, "the application is being deleted"))
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
    return any(owned(subject, view) for view in observed.members.values())


def owned(subject: Subject, view: MemberView) -> list[Workload]:
    """The workloads of the application that a cluster shows."""
    uid = subject.uid
    return [found for found in view.workloads if found.metadata.annotations.get(names.ANNOTATION_OWNER_UID) == uid]


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
    return f"was applied through {where(applied)} and is not removed through {where(view.name)}"


def delete(view: MemberView, found: Workload, why: str) -> Delete:
    """The step that deletes a workload."""
    return Delete(view.name, found.subset, found.kind, found.metadata.name, found.metadata.uid, why)


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
    return Release(view.name, found.subset, found.kind, found.metadata.name, found.metadata.uid, why)
