"""What a kind is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.kinds import workload
from uniteddeployment.planning.kinds.workload import Rendered
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
from uniteddeployment.planning.stored import RevisionCount, StoredCondition
from uniteddeployment.planning.templates import HASH_LENGTH
from uniteddeployment_api import Subset, names
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES


@dataclass(frozen=True, slots=True)
class Claim:
    """The name of a workload for a subset that has none yet, and whether it has to be there already."""

    name: str = ""
    existing: bool = False


NO_CLAIM = Claim()


class TemplateMissing(Exception):  # noqa: N818  (a question to the caller, not a failure)
    """The plan needs the template of an old revision, which has to be loaded first."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.revision = revision


@dataclass(frozen=True)
class SubsetContext:
    """What one subset is to be, and what its cluster shows of it."""

    app: Application
    subset: Subset
    cluster: str
    view: MemberView
    replicas: int
    partition: int
    """Pods to keep at the stable revision, not more than ``replicas``."""
    target: str
    """The revision that updated pods have."""
    stable: str | None
    """The revision that the others have; None before the first rollout is complete, and when it is ``lost``."""
    templates: Mapping[str, RevisionData]
    """Revision -> what it holds, as far as loaded."""
    generations: Mapping[WorkloadKey, int] = field(default_factory=dict)
    reason: str = ""
    """Why it is to have this number of replicas."""
    ignored: tuple[str, ...] = ()
    """Dotted paths of the workload that are left to others."""
    ordinals_start: int | None = None
    """Where the subset's range of ordinals begins, with Disjoint ones."""
    claim: Claim = NO_CLAIM
    """What the subset takes over as long as it has no workload."""
    reserved: int = 0
    """How many of the replicas wait for a node, to have stand-ins elsewhere."""
    covered: int = 0
    """How many of those do have stand-ins, and so need not run."""
    now: str = ""
    """When the clusters were looked at."""
    schedulable: StoredCondition | None = None
    """The condition that says whether the subset takes pods, with the strategy Adaptive."""
    lost: str = ""
    """Why the template of the stable revision cannot be had, if there was such a revision."""

    @property
    def holds(self) -> bool:
        """Whether some pods have to stay at another revision than the target."""
        return self.stable not in (None, self.target) and self.partition > 0

    @cached_property
    def _owned(self) -> tuple[Workload, ...]:
        """The workloads of this subset that exist and are ours, of every kind."""
        return tuple(
            found
            for found in self.view.workloads
            if found.subset == self.subset.name and self.app.owner.owns(found.metadata.annotations)
        )

    @cached_property
    def mine(self) -> tuple[Workload, ...]:
        """Those of this kind. Asked for many times in a plan, so looked for once."""
        return tuple(found for found in self._owned if found.kind == self.app.kind)

    @property
    def replaces(self) -> bool:
        """Whether workloads of another kind run the subset as yet: its pods are not all this kind's then."""
        return len(self._owned) > len(self.mine)

    @property
    def per_revision(self) -> bool:
        """Whether the subset has a workload for each revision."""
        return self.app.workload_kind.per_revision

    def name(self, revision: str) -> str:
        """How we call the workload of a revision."""
        return self.app.workload_name(self.subset.name, revision)

    @cached_property
    def _head(self) -> str:
        """What the names of the subset's Deployments begin with, before the revision."""
        probe = "0" * HASH_LENGTH
        return self.name(probe).removesuffix(probe)

    def revision_of(self, found: Workload) -> str:
        """The revision of a workload. Where each revision has one of its own, the name of one that we made tells it.

        A label can be changed by anybody, a name by nobody.
        """
        if self.per_revision and not self.was_there(found):
            return found.metadata.name.removeprefix(self._head)
        return found.revision

    def was_there(self, found: Workload) -> bool:
        """Whether a workload was there before and was taken over: it keeps its name."""
        name = found.metadata.name
        if not self.per_revision:
            return name != self.name(found.revision)
        return not name.startswith(self._head) or len(name) != len(self._head) + HASH_LENGTH

    def adopted(self, revision: str) -> str:
        """The name of the workload of a revision if it was there before; nothing if we made it."""
        mine = self.mine
        for found in mine:
            if self.was_there(found) and (found.revision == revision or not self.per_revision):
                return found.metadata.name
        return "" if mine else self.claim.name

    def by_revision(self, counts: Counts) -> tuple[RevisionCount, ...]:
        """Revision -> pods and ready pods. What was there before tells it by its status: its pods have no labels."""
        pods, stable = self.pods, self.stable
        shown = {revision: (count, pods.ready.get(revision, 0)) for revision, count in pods.living.items() if revision}
        for found in self.mine:
            if not self.was_there(found):
                continue
            if self.per_revision:
                shown[found.revision] = (found.status.replicas, found.status.ready_replicas)
                continue
            shown[self.target] = (counts.updated, counts.updated_ready)
            if stable is not None and stable != self.target:
                shown[stable] = (counts.observed - counts.updated, counts.ready - counts.updated_ready)
        return tuple(RevisionCount(revision, *numbers) for revision, numbers in sorted(shown.items()) if numbers[0])

    def takes_over(self) -> "SubsetPlan | None":
        """The adoption of the workload that was there before, at the revision that the others run, if it is due."""
        if not self.claim.existing or self.mine:
            return None
        revision = self.stable if self.holds and self.stable is not None else self.target
        why = f"take over the {self.app.kind} that is there, at revision {revision}"
        step = self.apply(self.render(revision), None, why, replicas=self.replicas, adopt=True)
        return SubsetPlan((step,), Counts(), "", settled=False, message=f"waits for {self.app.kind} {self.claim.name}")

    @property
    def why_not_ready(self) -> str:
        """What keeps pods from being ready or from being created, in brackets; nothing if nothing is known."""
        parts = [summary(self.pods.unready, self.now)]
        parts += [found.status.failure for found in self.mine]
        if self.app.workload_kind.template in ORDINAL_TEMPLATES:
            parts += [_not_created(found) for found in self.mine]
        told = "; ".join(part for part in parts if part)
        return f" ({told})" if told else ""

    @property
    def pods(self) -> PodTally:
        return self.view.pods.get(self.subset.name, NO_PODS)

    def render(self, revision: str) -> Rendered:
        """Raises :class:`TemplateMissing`."""
        data = self.templates.get(revision)
        if data is None:
            raise TemplateMissing(revision)
        return workload.render(
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
        found: Workload | None,
        why: str,
        *,
        replicas: int,
        partition: int | None = None,
        drift: bool = False,
        adopt: bool = False,
    ) -> Apply:
        uid = found.metadata.uid if found else None
        return Apply(
            ref=WorkloadRef(self.cluster, self.subset.name, rendered.kind.name, rendered.name),
            body=workload.with_numbers(
                rendered,
                replicas=replicas,
                partition=partition,
                uid=uid,
                stable=self.stable if self.stable != self.target else None,
            ),
            why=why,
            create=found is None,
            drift=drift,
            adopt=adopt,
            keep=self.ignored if found else (),
        )

    def scale(self, found: Workload, replicas: int, why: str) -> Scale:
        return Scale(self.view.ref(found), replicas, found.metadata.generation, why)

    def drifted(self, found: Workload) -> bool:
        """Whether its spec was changed after our last write, by somebody else.

        A workload whose generation we have not noted (this process never wrote it and status does not say) counts as
        changed: one more apply finds out, and changes nothing if nothing was.
        """
        return self.generations.get(self.view.ref(found).key) != found.metadata.generation


@dataclass(frozen=True, slots=True)
class SubsetPlan:
    """What is to be written for a subset now, and how far it is."""

    steps: tuple[MemberStep, ...]
    counts: Counts
    workload: str
    settled: bool
    """Everything that was asked for is there and ready."""
    message: str = ""
    """What is being waited for, when not settled."""
    note: str = ""
    """What people should know of it although nothing is being waited for."""
    stalled: bool = False
    """Somebody has to act: waiting will not help."""


def held_note(context: SubsetContext, updated: int) -> str:
    """What to say of pods that are held otherwise than one would expect; nothing if they are as one would."""
    allowed = context.replicas - context.partition
    if context.holds and updated > allowed:
        return (
            f"{updated} pods are updated where the partition allows {allowed}: "
            "raising a partition takes none back, going back to the earlier template does"
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


def _not_created(found: Workload) -> str:
    """What to say of a StatefulSet that makes no further pods although all it has are available.

    Its controller creates pods before it writes that status, so the creation was refused. It says why in Events only.
    """
    status = found.status
    missing = found.spec.replicas - status.replicas
    if not found.observed or missing <= 0 or status.available_replicas < status.replicas:
        return ""
    return f"{missing} not created: see the Events of {found.kind} {found.metadata.name}"


def applied_digest(found: Workload) -> str | None:
    return found.metadata.annotations.get(names.ANNOTATION_APPLIED)
