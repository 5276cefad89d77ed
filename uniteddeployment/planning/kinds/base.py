"""The interface of a kind of workload: the context that it plans a subset from, and the plan that it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds.workload import Rendered, render, with_numbers
from uniteddeployment.planning.observed import (
    NO_PODS,
    MemberView,
    PodTally,
    RevisionData,
    Workload,
    WorkloadKey,
    WorkloadRef,
)
from uniteddeployment.planning.observed.pods import summary
from uniteddeployment.planning.results import Counts
from uniteddeployment.planning.steps import Apply, MemberStep, Scale
from uniteddeployment.planning.stored import RevisionCount, StoredCondition, StoredDrift
from uniteddeployment.planning.templates import HASH_LENGTH
from uniteddeployment_api import Subset, names
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES


@dataclass(frozen=True, slots=True)
class Claim:
    """The name of the workload that a subset without a workload takes over, and whether it must exist already."""

    name: str = ""
    existing: bool = False


NO_CLAIM = Claim()


@dataclass(frozen=True, slots=True)
class Shift:
    """Replicas that move to or from a subset."""

    desired: int = 0
    """Number of replicas that it will have when nothing moves any more."""
    assigned: int = 0
    """Number of replicas for the status."""
    kept: int | None = None
    """Number of its ready pods that certainly stay; None if nothing moves."""
    moved: int = 0
    """Number of its replicas that run elsewhere until failback returns them."""
    note: str = ""
    """What the state of its cluster means for it."""
    possibly_running: int = 0
    """Number of pods that it might run by the stored status, if its cluster could not be seen."""


NO_SHIFT = Shift()


class TemplateMissing(Exception):  # noqa: N818  (a question to the caller, not a failure)
    """The plan needs the template of an old revision, which has to be loaded first."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.revision = revision


@dataclass(frozen=True)
class SubsetContext:
    """Everything that one subset is planned from."""

    app: Application
    subset: Subset
    cluster: str
    view: MemberView
    replicas: int
    partition: int
    """Number of pods to keep at the stable revision, at most ``replicas``."""
    target: str
    """The revision of updated pods."""
    stable: str | None
    """The revision of the other pods. None before the first rollout is complete, and if it is ``lost``."""
    templates: Mapping[str, RevisionData]
    """Revision -> its content, as far as it was loaded."""
    generations: Mapping[WorkloadKey, int] = field(default_factory=dict)
    """Workload -> the generation that our last write gave it, where that is known."""
    reason: str = ""
    """Why it gets this number of replicas."""
    ignored: tuple[str, ...] = ()
    """Dotted paths of the workload that are left to others."""
    ordinals_start: int | None = None
    """The first ordinal of the subset's range, with Disjoint ordinals."""
    claim: Claim = NO_CLAIM
    """The workload that the subset takes over while it has none."""
    reserved: int = 0
    """Number of the replicas that wait for a node and are meant to have stand-ins in other subsets."""
    covered: int = 0
    """Number of those that have stand-ins, so that they need not run."""
    clock: str = ""
    """What the clock of the cluster showed at the time of the snapshot."""
    schedulable: StoredCondition | None = None
    """The condition that says whether the subset takes pods, with the strategy Adaptive."""
    last_drift: StoredDrift | None = None
    """The last changes of others to the workload that were reverted."""
    shift: Shift = NO_SHIFT
    lost: str = ""
    """Why the template of the stable revision is not available, if there was a stable revision."""

    @property
    def holds(self) -> bool:
        """Whether some pods have to stay at another revision than the target."""
        return self.stable not in (None, self.target) and self.partition > 0

    @cached_property
    def _owned(self) -> tuple[Workload, ...]:
        """The workloads of this subset that exist and are ours, of every kind."""
        return tuple(
            workload
            for workload in self.view.workloads
            if workload.subset == self.subset.name and self.app.owner.owns(workload.metadata.annotations)
        )

    @cached_property
    def mine(self) -> tuple[Workload, ...]:
        """The workloads of this subset that are of the present kind."""
        return tuple(workload for workload in self._owned if workload.kind == self.app.kind)

    @property
    def asked(self) -> int:
        """The number of pods that its workloads are asked for, of every kind."""
        return sum(workload.spec.replicas for workload in self._owned)

    @property
    def replaces(self) -> bool:
        """Whether workloads of another kind still run the subset, so that some of its pods are not of this kind."""
        return len(self._owned) > len(self.mine)

    @property
    def per_revision(self) -> bool:
        """Whether the subset has one workload for each revision."""
        return self.app.workload_kind.per_revision

    @property
    def pods(self) -> PodTally:
        """The pods of this subset."""
        return self.view.pods.get(self.subset.name, NO_PODS)

    def name(self, revision: str) -> str:
        """The name that we give to the workload of a revision."""
        return self.app.workload_name(self.subset.name, revision)

    @cached_property
    def _head(self) -> str:
        """The beginning of the names of the subset's workloads, before the revision."""
        probe = "0" * HASH_LENGTH
        return self.name(probe).removesuffix(probe)

    def revision_of(self, workload: Workload) -> str:
        """The revision of a workload. Where each revision has its own workload, its name says it if we gave it.

        Anybody can change a label; nobody can change a name.
        """
        if self.per_revision and not self.was_adopted(workload):
            return workload.metadata.name.removeprefix(self._head)
        return workload.revision

    def was_adopted(self, workload: Workload) -> bool:
        """Return True if a workload existed before and was taken over: it keeps its name."""
        name = workload.metadata.name
        if not self.per_revision:
            return name != self.name(workload.revision)
        return not name.startswith(self._head) or len(name) != len(self._head) + HASH_LENGTH

    def adopted(self, revision: str) -> str:
        """The name of the workload of a revision if it was, or is to be, taken over; empty if the name is ours."""
        mine = self.mine
        for workload in mine:
            if self.was_adopted(workload) and (workload.revision == revision or not self.per_revision):
                return workload.metadata.name
        return "" if mine else self.claim.name

    def by_revision(self, counts: Counts) -> tuple[RevisionCount, ...]:
        """The pods of each revision. Those of an adopted workload have no labels, so its status counts them."""
        pods, stable = self.pods, self.stable
        shown = {revision: (count, pods.ready.get(revision, 0)) for revision, count in pods.living.items() if revision}
        for workload in self.mine:
            if not self.was_adopted(workload):
                continue
            if self.per_revision:
                shown[workload.revision] = (workload.status.replicas, workload.status.ready_replicas)
                continue
            shown[self.target] = (counts.updated, counts.updated_ready)
            if stable is not None and stable != self.target:
                shown[stable] = (counts.observed - counts.updated, counts.ready - counts.updated_ready)
        return tuple(
            RevisionCount(revision, *numbers, pods.restarts.get(revision, 0))
            for revision, numbers in sorted(shown.items())
            if numbers[0]
        )

    def takes_over(self) -> "SubsetPlan | None":
        """The adoption of an existing workload, at the revision of most of the subset's pods; None if none is due."""
        if not self.claim.existing or self.mine:
            return None
        revision = self.stable if self.holds and self.stable is not None else self.target
        why = f"take over the {self.app.kind} that is there, at revision {revision}"
        step = self.apply(self.render(revision), None, why, replicas=self.replicas, adopt=True)
        return SubsetPlan((step,), Counts(), "", settled=False, message=f"waits for {self.app.kind} {self.claim.name}")

    @property
    def why_not_ready(self) -> str:
        """The reasons why pods are not ready or cannot be created, in brackets; empty if none is known."""
        parts = [summary(self.pods.unready, self.clock)]
        parts += [workload.status.failure for workload in self.mine]
        if self.app.workload_kind.template in ORDINAL_TEMPLATES:
            parts += [_not_created(workload) for workload in self.mine]
        reasons = "; ".join(part for part in parts if part)
        return f" ({reasons})" if reasons else ""

    def render(self, revision: str) -> Rendered:
        """The workload at a revision. Raises TemplateMissing and PatchError."""
        data = self.templates.get(revision)
        if data is None:
            raise TemplateMissing(revision)
        return render(
            self.app,
            self.subset,
            data,
            revision,
            adopted=self.adopted(revision),
            ordinals_start=self.ordinals_start,
        )

    def apply(
        self,
        rendered: Rendered,
        workload: Workload | None,
        why: str,
        *,
        replicas: int,
        partition: int | None = None,
        drift: bool = False,
        adopt: bool = False,
    ) -> Apply:
        """The step that creates a workload (None), or corrects the one that exists."""
        uid = workload.metadata.uid if workload else None
        return Apply(
            ref=WorkloadRef(self.cluster, self.subset.name, rendered.kind.name, rendered.name),
            body=with_numbers(
                rendered,
                replicas=replicas,
                partition=partition,
                uid=uid,
                stable=self.stable if self.stable != self.target else None,
            ),
            why=why,
            create=workload is None,
            drift=drift,
            adopt=adopt,
            keep=self.ignored if workload else (),
        )

    def scale(self, workload: Workload, replicas: int, why: str) -> Scale:
        """The step that changes only the replicas of a workload."""
        return Scale(self.view.ref(workload), replicas, workload.metadata.generation, why)

    def drifted(self, workload: Workload) -> bool:
        """Return True if somebody else has changed the spec of a workload after our last write.

        A workload whose generation is unknown (this process never wrote it, and the status does not say) counts as
        changed: one more apply finds out, and changes nothing if nothing was changed.
        """
        return self.generations.get(self.view.ref(workload).key) != workload.metadata.generation


@dataclass(frozen=True, slots=True)
class SubsetPlan:
    """The writes that are due for a subset, and how far it is."""

    steps: tuple[MemberStep, ...]
    counts: Counts
    workload: str
    """The name of the workload to show; empty if there is none."""
    settled: bool
    """Everything that was asked for exists and is ready."""
    message: str = ""
    """The reason why it is not settled, for messages."""
    note: str = ""
    """A note for users although nothing is waited for."""
    stalled: bool = False
    """A user has to act: waiting does not help."""


def held_note(context: SubsetContext, updated: int) -> str:
    """A note about pods that are held in an unexpected way; empty if the partition holds what one would expect."""
    allowed = context.replicas - context.partition
    if context.holds and updated > allowed:
        return (
            f"{updated} pods are updated where the partition allows {allowed}: "
            "raising a partition reverts none; to revert them, use manualUpdate.revert or the earlier template"
        )
    old = sum(count for revision, count in context.pods.living.items() if revision != context.target)
    if context.stable is None and context.partition and old:
        why = context.lost or "no version was complete before this one"
        return f"{old} pods are held by the partition at the revision that they have: {why}"
    return ""


def not_creatable(context: SubsetContext, missing: int) -> str:
    """Why pods that the partition holds cannot be created, and the way out."""
    return (
        f"{missing} pods that the partition holds cannot be created: {context.lost}. Lower the partition to 0, "
        "or apply the template of the stable version and then the new one again"
    )


def _not_created(workload: Workload) -> str:
    """A hint for a StatefulSet that creates no further pods although all that it has are available; empty if it does.

    Its controller creates pods before it writes that status, so the creation was refused. It says why only in Events.
    """
    status = workload.status
    missing = workload.spec.replicas - status.replicas
    if not workload.observed or missing <= 0 or status.available_replicas < status.replicas:
        return ""
    return f"{missing} not created: see the Events of {workload.kind} {workload.metadata.name}"


def applied_digest(workload: Workload) -> str | None:
    """The digest of the body that we applied last; None if the workload does not have one."""
    return workload.metadata.annotations.get(names.ANNOTATION_APPLIED)
