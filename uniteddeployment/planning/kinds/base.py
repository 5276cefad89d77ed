"""What a kind is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from uniteddeployment.planning import workload
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import NO_PODS, MemberView, PodTally, RevisionData, Workload
from uniteddeployment.planning.steps import Apply, MemberStep, Scale
from uniteddeployment.planning.workload import Rendered
from uniteddeployment_api import Subset, names


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods of a subset, as its cluster shows them."""

    observed: int = 0
    ready: int = 0
    updated: int = 0
    updated_ready: int = 0


class TemplateMissing(Exception):  # noqa: N818  (a question to the caller, not a failure)
    """The plan needs the template of an old revision, which has to be loaded first."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.revision = revision


@dataclass(frozen=True, slots=True)
class Demand:
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
    """The revision that the others have; None before the first rollout is complete."""
    templates: Mapping[str, RevisionData]
    """Revision -> what it holds, as far as loaded."""
    generations: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    reason: str = ""
    """Why it is to have this number of replicas."""

    @property
    def holds(self) -> bool:
        """Whether some pods have to stay at another revision than the target."""
        return self.stable not in (None, self.target) and self.partition > 0

    def mine(self) -> list[Workload]:
        """The workloads of this subset that are there: ours by uid, of this kind."""
        return [
            found
            for found in self.view.workloads
            if found.subset == self.subset.name and found.kind == self.app.kind and owned(self.app, found)
        ]

    @property
    def pods(self) -> PodTally:
        return self.view.pods.get(self.subset.name, NO_PODS)

    def render(self, revision: str) -> Rendered:
        """Raises :class:`TemplateMissing`."""
        data = self.templates.get(revision)
        if data is None:
            raise TemplateMissing(revision)
        return workload.render(self.app, self.subset, data, revision)

    def apply(
        self, rendered: Rendered, found: Workload | None, why: str, *, replicas: int, partition: int | None = None
    ) -> Apply:
        uid = found.metadata.uid if found else None
        body = workload.with_numbers(rendered, replicas=replicas, partition=partition, uid=uid)
        return Apply(self.cluster, self.subset.name, rendered.kind, rendered.name, body, why, create=found is None)

    def scale(self, found: Workload, replicas: int, why: str) -> Scale:
        name, generation = found.metadata.name, found.metadata.generation
        return Scale(self.cluster, self.subset.name, found.kind, name, replicas, generation, why)

    def drifted(self, found: Workload) -> bool:
        """Whether its spec was changed after our last write, by somebody else.

        A workload whose generation we have not noted (this process never wrote it and status does not say) counts as
        changed: one more apply finds out, and changes nothing if nothing was.
        """
        noted = self.generations.get((self.cluster, found.kind, found.metadata.name))
        return noted != found.metadata.generation


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


def owned(app: Application, found: Workload) -> bool:
    """Whether a workload is this very application's (I13): a namesake's, or another host's, is not."""
    return found.metadata.annotations.get(names.ANNOTATION_OWNER_UID) == app.uid


def applied_digest(found: Workload) -> str | None:
    return found.metadata.annotations.get(names.ANNOTATION_APPLIED)
