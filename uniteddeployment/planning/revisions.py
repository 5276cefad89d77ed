"""The revisions of an application: the updated one, the current one, and those that are kept in its history."""

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
    """The updated revision (of the present template), the current one (last rolled out), and the writes for them."""

    updated: str
    current: RevisionRecord | None
    steps: tuple[HostStep, ...]
    lost: str = ""
    """Why there is no current revision although one was rolled out; empty if there is one, or if none ever was."""

    def stable_of(self, subset: str) -> str | None:
        """The stable revision of a subset; None if there is none."""
        return self.current.of_subset(subset) if self.current else None

    def templates(self, app: Application, subset: str, loaded: Mapping[str, RevisionData]) -> dict[str, RevisionData]:
        """Revision -> its content, for the two revisions that a subset can have, as far as it is loaded."""
        known = {}
        if self.current and self.current.name in loaded:
            known[self.current.of_subset(subset)] = loaded[self.current.name]
        known[app.revision_of(subset)] = app.revision_data
        return known


def plan_revisions(subject: Subject, app: Application, observed: Observed) -> Revisions:
    """Find the updated and the current revision, and the writes that keep the history."""
    name = app.revision_name
    current_name = subject.status.current_revision or ""
    records = {record.name: record for record in observed.revisions}
    steps: list[HostStep] = [*_keep(subject, app, observed, records.get(name))]
    steps += [OwnRevision(record.name) for record in observed.revisions if not record.owned]
    steps += _trim(app, observed, {name, current_name})
    if current_name == name:
        # It holds the present template, whatever has become of the object that stores it.
        current = RevisionRecord(name, 0, app.hash, app.template_hash, app.patched)
        return Revisions(name, current, tuple(steps))
    if not current_name:
        return Revisions(name, None, tuple(steps), _lost_with_host(app, observed))
    record = records.get(current_name)
    if record is not None and not record.problem:
        return Revisions(name, record, tuple(steps))
    why = "is gone" if record is None else f"cannot be used ({record.problem})"
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
        for workload in view.workloads:
            status = workload.status
            if workload.subset != subset or not app.owner.owns(workload.metadata.annotations) or not status.replicas:
                continue
            # The pods of an adopted workload have no label with their revision.
            if workload.revision != target or status.updated_replicas < status.replicas:
                return True
    return False


def _keep(
    subject: Subject, app: Application, observed: Observed, record: RevisionRecord | None
) -> Iterator[CreateRevision | DeleteRevision | RenumberRevision | NoteCause]:
    """The writes that keep the present template as the newest revision."""
    name = app.revision_name
    newest = max((kept.number for kept in observed.revisions), default=0)
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
        yield DeleteRevision(name, f"create it again: {record.problem or 'somebody changed it'}")
        return
    if record.number < newest:
        yield RenumberRevision(name, newest + 1, f"an earlier template again (was revision {record.number})")
    if cause and cause != record.cause:
        yield NoteCause(name, cause)


def orphaned(observed: Observed) -> bool:
    """Return True if the garbage collector has orphaned the revisions of an application that is being deleted.

    So a controller that was down at the time of the deletion also sees that it was ``--cascade=orphan``. As long as an
    application is not being deleted, its revisions get their owner reference back (:class:`OwnRevision`).
    """
    return any(not record.owned for record in observed.revisions)


def delete_kept_revisions(subject: Subject, observed: Observed) -> tuple[HostStep, ...]:
    """Delete the revisions of an application whose workloads stay: Kubernetes only does so if it does not orphan."""
    if not subject.orphan:
        return ()
    why = "the application is deleted and its workloads stay"
    return tuple(DeleteRevision(record.name, why) for record in observed.revisions)


def _trim(app: Application, observed: Observed, in_use: set[str]) -> list[HostStep]:
    if observed.writing or any(view.unseen or view.unread for view in observed.members.values()):
        return []  # a cluster that nobody sees may run any revision
    limit = app.model.spec.revision_history_limit
    if len(observed.revisions) <= limit + len(in_use):
        return []
    views = observed.members.values()
    live = {workload.revision for view in views for workload in view.workloads}
    live |= {pod.revision for view in views for tally in view.pods.values() for pod in tally.pods}
    return [
        DeleteRevision(old.name, f"history keeps {limit} old revisions")
        for old in to_trim(observed.revisions, limit=limit, in_use=in_use, live_hashes=live)
    ]


def to_trim(
    revisions: Sequence[RevisionRecord], *, limit: int, in_use: Collection[str], live_hashes: Collection[str]
) -> tuple[RevisionRecord, ...]:
    """The oldest revisions beyond ``limit`` that nothing needs.

    ``in_use`` has the names of the current and the updated revision, ``live_hashes`` the revisions of all workloads and
    pods. Those revisions are kept, and do not count against the limit.
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
    """Subset -> revision, for the subsets that change the pod template."""
    changed = sorted({*data.patches, *data.overrides})
    return {name: subset_hash(data.template, data.patches.get(name), data.overrides.get(name, ())) for name in changed}


def mismatch(record: RevisionRecord, data: RevisionData) -> str:
    """Why the data of a ControllerRevision cannot be what we wrote into it; empty if it can be.

    Its name ends with the hash of its content, and nobody can change a name.
    """
    if not record.name.endswith(f"-{application_hash(data.template, data.patches, data.overrides)}"):
        return "its data is not what its name says"
    if record.template_hash != digest({"template": data.template}) or dict(record.patched) != subset_hashes(data):
        return "its annotations do not fit its data"
    return ""
