"""Builders for planning tests: an application and a snapshot of its clusters."""

import copy
from collections.abc import Mapping
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.kinds import kind_of, workload
from uniteddeployment.planning.observed import (
    MemberView,
    Observed,
    Pod,
    PodCondition,
    PodMetadata,
    PodStatus,
    Reach,
    RevisionData,
    RevisionRecord,
    RollingUpdate,
    UpdateStrategy,
    Workload,
    WorkloadMetadata,
    WorkloadSpec,
    WorkloadStatus,
    tally,
)
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.stored import StoredStatus, read_status, to_document
from uniteddeployment_api import names, parse_united_deployment

NOW = "2026-01-01T00:00:00Z"
MEMBERS = ("member-1", "member-2", "member-3")


def manifest(
    *,
    kind: str = "statefulSetTemplate",
    image: str = "app:1",
    replicas: int | None = 8,
    shares: Mapping[str, Any] | None = None,
    partitions: Mapping[str, int | str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A UnitedDeployment over three members: 50 %, 25 % and the rest."""
    shares = shares if shares is not None else {"member-1": "50%", "member-2": "25%", "member-3": None}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}}
    template: dict[str, Any] = {"template": pod}
    if kind == "statefulSetTemplate":
        template["serviceName"] = "web"
    subsets = []
    for name, share in shares.items():
        subset: dict[str, Any] = {"name": name, "targetCluster": {"name": name}}
        if isinstance(share, dict):
            subset |= share
        elif share is not None:
            subset["replicas"] = share
        subsets.append(subset)
    document: dict[str, Any] = {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {kind: {"spec": template}},
            "topology": {"subsets": subsets},
            **spec,
        },
    }
    if replicas is not None:
        document["spec"]["replicas"] = replicas
    if partitions:
        document["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": dict(partitions)}}
    return document


def application(document: Mapping[str, Any], *, uid: str = "uid-web", generation: int = 1) -> Application:
    model = parse_united_deployment(document)
    meta = document["metadata"]
    return Application(meta["namespace"], meta["name"], uid, generation, model, kind_of(model))


def subject(
    app: Application, *, status: Mapping[str, Any] | StoredStatus | None = None, guarded: bool = True
) -> Subject:
    """A UnitedDeployment with a status, as JSON or as a plan gave it."""
    document = to_document(status) if isinstance(status, StoredStatus) else copy.deepcopy(dict(status or {}))
    return Subject(
        namespace=app.namespace,
        name=app.name,
        uid=app.uid,
        generation=app.generation,
        app=app,
        finalizers=(names.FINALIZER,) if guarded else (),
        status=read_status(document),
        document=document,
    )


def status_of(made: Plan) -> dict[str, Any]:
    """The status that a plan gives, as it is written."""
    assert made.status is not None
    return to_document(made.status)


def record(app: Application, number: int = 1) -> RevisionRecord:
    return RevisionRecord(app.revision_name, number, app.hash, app.template_hash, app.patched)


def stateful_set(
    app: Application,
    subset: str,
    *,
    replicas: int,
    partition: int = 0,
    ready: int | None = None,
    generation: int = 1,
    data: RevisionData | None = None,
    revision: str | None = None,
    status: WorkloadStatus | None = None,
) -> Workload:
    """A StatefulSet as our own apply would have left it, settled: the pods from the partition on are updated."""
    revision = revision or app.revision_of(subset)
    rendered = workload.render(app, app.subsets[subset], data or app.revision_data, revision)
    ready = replicas if ready is None else ready
    return Workload(
        metadata=_metadata(rendered.body["metadata"], generation),
        kind=app.kind,
        spec=WorkloadSpec(replicas, UpdateStrategy("RollingUpdate", RollingUpdate(partition))),
        status=status
        or WorkloadStatus(
            observed_generation=generation,
            replicas=replicas,
            ready_replicas=ready,
            available_replicas=ready,
            updated_replicas=max(0, replicas - partition),
            current_revision=f"cr-{revision}",
            update_revision=f"cr-{revision}",
        ),
    )


def deployment(
    app: Application, subset: str, revision: str, *, replicas: int, available: int | None = None, generation: int = 1
) -> Workload:
    """A Deployment of one revision as our own apply would have left it."""
    rendered = workload.render(app, app.subsets[subset], app.revision_data, revision)
    available = replicas if available is None else available
    return Workload(
        metadata=_metadata(rendered.body["metadata"], generation),
        kind=app.kind,
        spec=WorkloadSpec(replicas),
        status=WorkloadStatus(
            observed_generation=generation,
            replicas=replicas,
            ready_replicas=available,
            available_replicas=available,
            updated_replicas=replicas,
        ),
    )


def pods(app: Application, subset: str, revisions: list[str], *, ready: bool = True) -> list[Pod]:
    """StatefulSet pods, one per entry, at those revisions."""
    return [
        Pod(
            PodMetadata(
                name=f"{app.name}-{subset}-{ordinal}",
                namespace=app.namespace,
                uid=f"{subset}-{ordinal}",
                labels={
                    names.LABEL_NAME: app.label,
                    names.LABEL_SUBSET: subset,
                    names.LABEL_REVISION: revision,
                },
            ),
            PodStatus("Running", (PodCondition("Ready", "True" if ready else "False"),)),
        )
        for ordinal, revision in enumerate(revisions)
    ]


def observed(
    views: Mapping[str, MemberView] | None = None,
    *,
    revisions: tuple[RevisionRecord, ...] = (),
    templates: Mapping[str, RevisionData] | None = None,
    members: tuple[str, ...] = MEMBERS,
    **more: Any,
) -> Observed:
    """A snapshot. Clusters that are not given are reachable and empty. All generations count as our own writes."""
    seen = {f"default/{name}": MemberView(f"default/{name}", Reach.READY) for name in members}
    seen |= {f"default/{name}": view for name, view in (views or {}).items()}
    noted = {view.ref(found).key: found.metadata.generation for view in seen.values() for found in view.workloads}
    return Observed(
        now=NOW,
        members=seen,
        revisions=revisions,
        templates=templates or {},
        generations=more.pop("generations", noted),
        **more,
    )


def view(name: str, *workloads: Workload, pods: list[Pod] | None = None, reach: Reach = Reach.READY) -> MemberView:
    detail = "" if reach is Reach.READY else "no answer"
    last = None if reach is Reach.READY else NOW
    by_subset: dict[str, list[Pod]] = {}
    for pod in pods or ():
        by_subset.setdefault(pod.subset, []).append(pod)
    tallies = {subset: tally(found) for subset, found in by_subset.items()}
    return MemberView(f"default/{name}", reach, detail, last, tuple(workloads), tallies)


def _metadata(metadata: Mapping[str, Any], generation: int) -> WorkloadMetadata:
    return WorkloadMetadata(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=f"uid-{metadata['name']}",
        resource_version="1",
        generation=generation,
        labels=dict(metadata["labels"]),
        annotations=dict(metadata["annotations"]),
    )
