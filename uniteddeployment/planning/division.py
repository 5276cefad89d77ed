"""How many pods each subset is to have, and how many of them stay at the old revision."""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment.planning.allocation import AllocationRequest, Mode, SubsetDemand, allocate
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.ordinals import Range
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api.shares import held_back


@dataclass(frozen=True, slots=True)
class Division:
    """Replicas by subset with the reason of each number, and what found no place."""

    replicas: Mapping[str, int]
    reasons: Mapping[str, str]
    unplaced: int = 0
    why_unplaced: str = ""


def divide(
    subject: Subject, app: Application, observed: Observed, ranges: Mapping[str, Range] | None = None
) -> Division:
    """Divide ``spec.replicas``. What runs now decides ties, so that nothing moves without need (I5).

    ``ranges`` are the ordinals of subsets, which bound how many pods they can have.
    """
    ranges = ranges or {}
    current = _current(subject, app, observed)
    subsets = app.model.spec.topology.subsets
    bounds = any(subset.min_replicas is not None or subset.max_replicas is not None for subset in subsets)
    weights = any(subset.weight is not None for subset in subsets)
    divided = allocate(
        AllocationRequest(
            total=app.model.spec.replicas,
            subsets=tuple(
                SubsetDemand(
                    name=subset.name,
                    share=subset.replicas,
                    weight=subset.weight,
                    minimum=subset.min_replicas,
                    maximum=subset.max_replicas,
                    current=current.get(subset.name, 0),
                    limit=ranges[subset.name].size if subset.name in ranges else None,
                    note=ranges[subset.name].note if subset.name in ranges else "",
                )
                for subset in subsets
            ),
            # Bounds alone are OpenKruise's: a list in order of preference. Weights ask for a spread.
            mode=Mode.FILL if bounds and not weights else Mode.SPREAD,
        )
    )
    return Division(
        replicas=divided.replicas,
        reasons={one.name: one.reason for one in divided.subsets},
        unplaced=divided.unplaced,
        why_unplaced=divided.problem,
    )


def partition(app: Application, subset: str, replicas: int) -> int:
    """Pods of a subset that stay at the old revision: its own partition, or the default one."""
    manual = app.model.spec.update_strategy.manual_update
    return held_back(manual.partitions.get(subset, manual.partition), replicas)


def _current(subject: Subject, app: Application, observed: Observed) -> dict[str, int]:
    """What each subset was last given; where status does not say, what its workloads have."""
    current = {name: entry.get("replicas", 0) for name, entry in subject.subset_statuses().items()}
    for subset in app.subsets.values():
        view = observed.members.get(app.cluster_of(subset))
        if subset.name not in current and view is not None:
            current[subset.name] = sum(
                found.spec.replicas
                for found in view.workloads
                if found.subset == subset.name and found.kind == app.kind
            )
    return current
