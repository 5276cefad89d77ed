"""The revisions of an application: of its template as it is, of its last complete rollout, and of what is kept."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import NO_PODS, MemberView, Observed, RevisionData, RevisionRecord
from uniteddeployment.planning.steps import (
    CreateRevision,
    DeleteRevision,
    HostStep,
    NoteCause,
    OwnRevision,
    RenumberRevision,
)
from uniteddeployment.planning.templates import application_hash, digest, subset_hash
from uniteddeployment_api import names


@dataclass(frozen=True, slots=True)
class Revisions:
    """The updated revision (of the template as it is), the current one (last rolled out), and how to keep them."""

    updated: str
    current: RevisionRecord | None
    steps: tuple[HostStep, ...]
    lost: str = ""
    """Why there is no current revision, although one was rolled out."""

    def stable_of(self, subset: str) -> str | None:
        return self.current.of_subset(subset) if self.current else None

    def templates(self, app: Application, subset: str, loaded: Mapping[str, RevisionData]) -> dict[str, RevisionData]:
        """What is known of the two revisions that a subset can have."""
        known = {}
        if self.current and self.current.name in loaded:
            known[self.current.of_subset(subset)] = loaded[self.current.name]
        known[app.revision_of(subset)] = app.revision_data
        return known


def plan_revisions(subject: Subject, app: Application, observed: Observed) -> Revisions:
    """Where the application stands, and the writes that keep its history."""
    name = app.revision_name
    current_name = subject.status.current_revision or ""
    records = {one.name: one for one in observed.revisions}
    steps: list[HostStep] = [*_keep(subject, app, observed, records.get(name))]
    steps += [OwnRevision(one.name) for one in observed.revisions if not one.owned]
    steps += _trim(app, observed, {name, current_name})
    if current_name == name:
        # What it holds is the template as it is, whatever became of the object that keeps it.
        current = RevisionRecord(name, 0, app.hash, app.template_hash, app.patched)
        return Revisions(name, current, tuple(steps))
    if not current_name:
        return Revisions(name, None, tuple(steps), _lost_with_host(app, observed))
    found = records.get(current_name)
    if found is not None and not found.problem:
        return Revisions(name, found, tuple(steps))
    why = "is gone" if found is None else f"cannot be used ({found.problem})"
    return Revisions(name, None, tuple(steps), f"the ControllerRevision {current_name} of the stable version {why}")


def _lost_with_host(app: Application, observed: Observed) -> str:
    """Why the stable revision is not known, if the application was lost with its host; empty if it may be the target.

    It may be the target if no pod is at another revision. While a cluster cannot be seen, nobody knows that (I8).
    """
    if not app.owner.former_uid:
        return ""
    unseen = any(view.unseen or view.unread for view in observed.members.values())
    if not unseen and not any(_runs_another(app, view) for view in observed.members.values()):
        return ""
    return "the host that knew the stable version was lost"


def _runs_another(app: Application, view: MemberView) -> bool:
    """Return True if the cluster shows a pod of the application at another revision than the target."""
    for subset in app.subsets:
        target = app.revision_of(subset)
        if any(revision not in ("", target) for revision in view.pods.get(subset, NO_PODS).living):
            return True
        for found in view.workloads:
            if found.subset != subset or not app.owner.owns(found.metadata.annotations) or not found.status.replicas:
                continue
            # The pods of an adopted workload have no label with their revision.
            if found.revision != target or found.status.updated_replicas < found.status.replicas:
                return True
    return False


def _keep(
    subject: Subject, app: Application, observed: Observed, record: RevisionRecord | None
) -> Iterator[CreateRevision | DeleteRevision | RenumberRevision | NoteCause]:
    """The writes that keep the template as it is as the newest revision."""
    name = app.revision_name
    newest = max((one.number for one in observed.revisions), default=0)
    cause = subject.annotations.get(names.ANNOTATION_CHANGE_CAUSE, "")
    if record is None:
        why = "keep the pod template, to hold pods at it or to go back to it"
        yield CreateRevision(name, newest + 1, app.hash, app.template_hash, app.patched, app.revision_data, why, cause)
        return
    if record.problem or (record.hash, record.template_hash, record.patched) != (
        app.hash,
        app.template_hash,
        app.patched,
    ):
        yield DeleteRevision(name, f"write it anew: {record.problem or 'somebody changed it'}")
        return
    if record.number < newest:
        yield RenumberRevision(name, newest + 1, f"an earlier template again (was revision {record.number})")
    if cause and cause != record.cause:
        yield NoteCause(name, cause)


def orphaned(observed: Observed) -> bool:
    """Whether the garbage collector has made orphans of the revisions of an application that is being deleted.

    This shows that the deletion was ``--cascade=orphan`` also to a controller that was down at that time. While an
    application lives, its revisions get their owner reference back (:class:`OwnRevision`).
    """
    return any(not one.owned for one in observed.revisions)


def delete_kept_revisions(subject: Subject, observed: Observed) -> tuple[HostStep, ...]:
    """Of an application whose workloads stay, the revisions go: Kubernetes takes them along only without orphaning."""
    if not subject.orphan:
        return ()
    return tuple(DeleteRevision(one.name, "the application goes and its workloads stay") for one in observed.revisions)


def _trim(app: Application, observed: Observed, in_use: set[str]) -> list[HostStep]:
    if observed.writing or any(view.unseen or view.unread for view in observed.members.values()):
        return []  # what runs in all clusters is not known, so nothing is known to be unused
    limit = app.model.spec.revision_history_limit
    if len(observed.revisions) <= limit + len(in_use):
        return []
    views = observed.members.values()
    live = {workload.revision for view in views for workload in view.workloads}
    live |= {pod.revision for view in views for one in view.pods.values() for pod in one.pods}
    return [
        DeleteRevision(old.name, f"history keeps {limit} old revisions")
        for old in to_trim(observed.revisions, limit=limit, in_use=in_use, live_hashes=live)
    ]


def to_trim(
    revisions: Sequence[RevisionRecord], *, limit: int, in_use: Collection[str], live_hashes: Collection[str]
) -> tuple[RevisionRecord, ...]:
    """The oldest revisions beyond ``limit`` that nothing needs.

    ``in_use`` are names (the current and the updated revision), ``live_hashes`` the revisions that any workload or pod
    still carries; those are kept and do not count against the limit.
    """
    idle = [
        revision
        for revision in revisions
        if revision.name not in in_use
        and revision.template_hash not in live_hashes
        and not any(value in live_hashes for value in revision.patched.values())
    ]
    idle.sort(key=lambda revision: revision.number)
    return tuple(idle[: max(0, len(idle) - limit)])


def subset_hashes(data: RevisionData) -> dict[str, str]:
    """Subset -> revision, for the subsets that change something in the pod template."""
    changed = sorted({*data.patches, *data.overrides})
    return {name: subset_hash(data.template, data.patches.get(name), data.overrides.get(name, ())) for name in changed}


def mismatch(record: RevisionRecord, data: RevisionData) -> str:
    """Why the data of a ControllerRevision cannot be what we wrote into it; nothing if it can.

    Its name ends with the hash of what it holds, and a name cannot be changed.
    """
    if not record.name.endswith(f"-{application_hash(data.template, data.patches, data.overrides)}"):
        return "its data is not what its name says"
    if record.template_hash != digest({"template": data.template}) or dict(record.patched) != subset_hashes(data):
        return "its annotations do not fit its data"
    return ""
