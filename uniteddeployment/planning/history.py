"""The revisions of an application: of its template as it is, of its last complete rollout, and of what is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment.planning import revision
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import Observed, Reach, RevisionData, RevisionRecord
from uniteddeployment.planning.steps import (
    CreateRevision,
    DeleteRevision,
    HostStep,
    NoteCause,
    OwnRevision,
    RenumberRevision,
)
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import names


@dataclass(frozen=True, slots=True)
class Revisions:
    """The updated revision (of the template as it is), the current one (last rolled out), and how to keep them."""

    updated: str
    current: RevisionRecord | None
    steps: tuple[HostStep, ...]

    def stable_of(self, subset: str) -> str | None:
        return self.current.of_subset(subset) if self.current else None

    def templates(self, app: Application, subset: str, loaded: Mapping[str, RevisionData]) -> dict[str, RevisionData]:
        """What is known of the two revisions that a subset can have."""
        known = {}
        if self.current and self.current.name in loaded:
            known[self.current.of_subset(subset)] = loaded[self.current.name]
        known[app.revision_of(subset)] = app.revision_data
        return known


def revisions(subject: Subject, app: Application, observed: Observed) -> Revisions:
    """Where the application stands, and the writes that keep its history."""
    name = app.revision_name
    record = next((one for one in observed.revisions if one.name == name), None)
    newest = max((one.number for one in observed.revisions), default=0)
    steps: list[HostStep] = []
    cause = subject.annotations.get(names.ANNOTATION_CHANGE_CAUSE, "")
    if record is None:
        why = "keep the pod template, to hold pods at it or to go back to it"
        number = newest + 1
        steps.append(
            CreateRevision(name, number, app.hash, app.template_hash, app.patched, app.revision_data, why, cause)
        )
    elif record.number < newest:
        steps.append(RenumberRevision(name, newest + 1, f"an earlier template again (was revision {record.number})"))
    steps += [OwnRevision(one.name) for one in observed.revisions if not one.owned]
    if record is not None and cause and cause != record.cause:
        steps.append(NoteCause(name, cause))
    current_name = subject.status.get("currentRevision") or ""
    current = next((one for one in observed.revisions if one.name == current_name), None)
    steps += _trim(app, observed, {name, current_name})
    return Revisions(name, current, tuple(steps))


def orphaned(observed: Observed) -> bool:
    """Whether the garbage collector has made orphans of the revisions of an application that is being deleted.

    This shows that the deletion was ``--cascade=orphan`` also to a controller that was down at that time. While an
    application lives, its revisions get their owner reference back (:class:`OwnRevision`).
    """
    return any(not one.owned for one in observed.revisions)


def forgotten(subject: Subject, observed: Observed) -> tuple[HostStep, ...]:
    """Of an application whose workloads stay, the revisions go: Kubernetes takes them along only without orphaning."""
    if not subject.orphan:
        return ()
    return tuple(DeleteRevision(one.name, "the application goes and its workloads stay") for one in observed.revisions)


def _trim(app: Application, observed: Observed, in_use: set[str]) -> list[HostStep]:
    if any(view.reach in (Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED) for view in observed.members.values()):
        return []  # what an unseen cluster runs is not known, so nothing is known to be unused
    limit = app.model.spec.revision_history_limit
    if len(observed.revisions) <= limit + len(in_use):
        return []
    views = observed.members.values()
    live = {workload.revision for view in views for workload in view.workloads}
    live |= {pod.revision for view in views for one in view.pods.values() for pod in one.pods}
    return [
        DeleteRevision(old.name, f"history keeps {limit} old revisions")
        for old in revision.to_trim(observed.revisions, limit=limit, in_use=in_use, live_hashes=live)
    ]
