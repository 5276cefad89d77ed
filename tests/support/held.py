"""Builder for tests of what holds a subset: what is asked of it, and its workload with pods at revisions."""

from collections.abc import Sequence
from types import SimpleNamespace

from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.observed import (
    CONTROLLER_REVISION,
    Pod,
    PodMetadata,
    PodStatus,
    RollingUpdate,
    UpdateStrategy,
    Workload,
    WorkloadMetadata,
    WorkloadSpec,
    WorkloadStatus,
    tally,
)
from uniteddeployment_api import names

NEW, OLD, OTHER = "new", "old", "other"


def native(revision: str) -> str:
    """What the workload's own controller calls a revision."""
    return f"w-{revision}"


def case(
    replicas: int,
    partition: int,
    revisions: Sequence[str | None],
    *,
    written: int | None = None,
    size: int | None = None,
    revision: str = NEW,
    observed: bool = True,
    updated: int | None = None,
    current: str = "unknown",
    extra: int = 0,
) -> tuple[SubsetContext, Workload]:
    """A subset that is to have ``replicas`` pods, ``partition`` of them old, and its workload with pods at revisions.

    ``written`` and ``size`` are the partition and the replicas that the workload has, ``revision`` that of its template
    and ``current`` the one that its controller comes from. ``extra`` pods are counted by its status and not seen.
    """
    status = WorkloadStatus(
        observed_generation=int(observed),
        replicas=sum(one is not None for one in revisions) + extra,
        updated_replicas=sum(one == revision for one in revisions) + extra if updated is None else updated,
        current_revision=native(current) if current else "",
        update_revision=native(revision) if current else "",
    )
    held = partition if written is None else written
    strategy = UpdateStrategy("RollingUpdate", RollingUpdate(held))
    found = Workload(
        WorkloadMetadata("w", generation=1, labels={names.LABEL_REVISION: revision}),
        spec=WorkloadSpec(len(revisions) if size is None else size, strategy),
        status=status,
    )
    pods = [made(ordinal, one) for ordinal, one in enumerate(revisions) if one is not None]
    return context(replicas=replicas, partition=partition, target=NEW, stable=OLD, pods=tally(pods)), found


def context(**parts: object) -> SubsetContext:
    """The parts of what is known of a subset that a test needs."""
    return SimpleNamespace(**parts)  # type: ignore[return-value]  # what it lacks is not read


def made(ordinal: int, revision: str, **metadata: str) -> Pod:
    """A pod that the controller made at a revision."""
    labels = {names.LABEL_REVISION: revision, CONTROLLER_REVISION: native(revision)}
    return Pod(PodMetadata(f"w-{ordinal}", labels=labels, **metadata), PodStatus("Running"))
