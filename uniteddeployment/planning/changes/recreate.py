"""Recreating workloads for changes that an API server refuses, one subset at a time, if an annotation asks for it.

This is what people do by hand: delete the workload without its pods, and create it again with the change; it then
finds its pods. If the change concerns running pods, it reaches them as usual, held by the partition. A subset waits
until the others are ready, so at most one subset at a time has no workload that would replace a lost pod.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed, Reach, Refusal
from uniteddeployment.planning.results import SubsetResult
from uniteddeployment.planning.steps import Apply, Delete, MemberStep, Scale
from uniteddeployment_api import names

Planned = tuple[SubsetResult, tuple[MemberStep, ...]]


def with_recreation(subject: Subject, observed: Observed, planned: Sequence[Planned]) -> list[Planned]:
    """The plans of the subsets, with a recreation in place of each write that an API server has refused.

    The number of pods still follows the spec, whatever becomes of the change.
    """
    plans = list(planned)
    refused = {index: step for index, (_, steps) in enumerate(plans) if (step := _refused(observed, steps))}
    if subject.annotations.get(names.ANNOTATION_RECREATE) != names.RECREATE:
        for index, step in refused.items():
            result, steps = plans[index]
            hint = f'{result.message} (annotation {names.ANNOTATION_RECREATE}: "{names.RECREATE}" has it recreated)'
            plans[index] = replace(result, message=hint), (*_scaled(observed, step), *steps)
        return plans
    busy = [
        result.name
        for index, (result, _) in enumerate(plans)
        if index not in refused and result.reach is Reach.READY and not result.settled
    ]
    # Subsets whose successor was refused as well come last, and keep the message that says why.
    for final, index in sorted((_refusal(observed, step).final, index) for index, step in refused.items()):
        result, step = plans[index][0], refused[index]
        message = f"waits to be recreated until {busy[0]} is ready" if busy else "being recreated"
        if not final:
            result = replace(result, message=message, stalled=False, settled=False)
        plans[index] = result, (*_scaled(observed, step), *(() if busy else (_recreated(step),)))
        busy = busy or [result.name]
    return plans


def _scaled(observed: Observed, step: Apply) -> tuple[Scale, ...]:
    """The part of a refused write that is never refused: the number of pods.

    Pods are added only while all are at one revision. During an update, their revision would depend on the partition,
    which is refused with the rest.
    """
    view = observed.members.get(step.cluster)
    wanted = step.body["spec"]["replicas"]
    workloads = {view.ref(workload).key: workload for workload in view.workloads} if view else {}
    workload = workloads.get(step.ref.key)
    if workload is None:
        return ()
    has = workload.spec.replicas
    settled = workload.status.current_revision == workload.status.update_revision
    if wanted < has or (settled and wanted > has):
        return (Scale(step.ref, wanted, workload.metadata.generation, f"replicas {has} to {wanted}"),)
    return ()


def _refusal(observed: Observed, step: Apply) -> Refusal:
    return observed.refused[step.ref.key]


def _refused(observed: Observed, steps: Sequence[MemberStep]) -> Apply | None:
    """The step that was refused before because it changes fields that cannot be changed; None if there is none."""
    for step in steps:
        if isinstance(step, Apply) and not step.create:
            known = observed.refused.get(step.ref.key)
            if known is not None and known.digest == applied(step.body):
                return step
    return None


def _recreated(step: Apply) -> Delete:
    """The deletion of a workload whose successor is the body that was refused as a change."""
    uid = step.body["metadata"]["uid"]
    body = {**step.body, "metadata": {key: value for key, value in step.body["metadata"].items() if key != "uid"}}
    why = f"recreate it with its pods left alone: {step.why}"
    return Delete(step.ref, uid, why, orphan=True, successor=body)


def unmountable(successor: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """Why the successor of a workload cannot take over its pods; empty if it can.

    The StatefulSet controller stops at a pod that lacks the volume of a claim template, and the volumes of a pod cannot
    be changed, so no controller would own the pods that were left alone.
    """
    added = sorted(_claims(successor) - _claims(live))
    if not added or not (live.get("status") or {}).get("replicas"):
        return ""
    return f"the pods that run have no volume {', '.join(added)} and cannot get one: scale the subset to 0 first"


def _claims(workload: Mapping[str, Any]) -> set[str]:
    return {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates") or ()}


def applied(body: Mapping[str, Any]) -> str:
    """The digest of a body, which identifies it in a refusal."""
    digest: str = body["metadata"]["annotations"][names.ANNOTATION_APPLIED]
    return digest
