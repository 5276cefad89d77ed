"""Recreating workloads for changes that an API server refuses, one subset at a time, when an annotation asks for it.

It is what people do by hand: the workload is deleted and its pods are left alone, then it is made anew as it is wanted
and finds its pods again. What of the change concerns pods that run reaches them in the usual way, held by the
partition. A subset waits until the others are ready, so at no moment is more than one without the workload that would
replace a lost pod.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from uniteddeployment.planning.observed import Observed, Reach
from uniteddeployment.planning.status import Row
from uniteddeployment.planning.steps import Apply, Delete, MemberStep
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import names

Planned = tuple[Row, tuple[MemberStep, ...]]


def with_recreation(subject: Subject, observed: Observed, planned: Sequence[Planned]) -> list[Planned]:
    """The plans of the subsets, with a recreation in place of the write that an API server has refused."""
    result = list(planned)
    refused = {index: step for index, (_, steps) in enumerate(result) if (step := _refused(observed, steps))}
    if not refused:
        return result
    if subject.annotations.get(names.ANNOTATION_RECREATE) != names.RECREATE:
        for index in refused:
            row, steps = result[index]
            hint = f'{row.message} (annotation {names.ANNOTATION_RECREATE}: "{names.RECREATE}" has it recreated)'
            result[index] = replace(row, message=hint), steps
        return result
    busy = [
        row.name
        for index, (row, _) in enumerate(result)
        if index not in refused and row.reach is Reach.READY and not row.settled
    ]
    for index, step in refused.items():
        row, _ = result[index]
        if observed.refused[step.cluster, step.kind, step.name].final:
            result[index] = row, (_anew(step),)  # it is only asked again, and refused before anything is deleted
        elif busy:
            message = f"waits to be recreated until {busy[0]} is ready"
            result[index] = replace(row, message=message, stalled=False, settled=False), ()
        else:
            result[index] = replace(row, message="being recreated", stalled=False, settled=False), (_anew(step),)
            busy = [row.name]
    return result


def _refused(observed: Observed, steps: Sequence[MemberStep]) -> Apply | None:
    """The write among the steps that was refused before, as something that cannot be changed."""
    for step in steps:
        if isinstance(step, Apply) and not step.create:
            known = observed.refused.get((step.cluster, step.kind, step.name))
            if known is not None and known.digest == applied(step.body):
                return step
    return None


def _anew(step: Apply) -> Delete:
    uid = step.body["metadata"]["uid"]
    body = {**step.body, "metadata": {key: value for key, value in step.body["metadata"].items() if key != "uid"}}
    why = f"recreate it with its pods left alone: {step.why}"
    return Delete(step.cluster, step.subset, step.kind, step.name, uid, why, orphan=True, successor=body)


def applied(body: Mapping[str, Any]) -> str:
    """The digest of a body, by which the refusal of this very body is known again."""
    digest: str = body["metadata"]["annotations"][names.ANNOTATION_APPLIED]
    return digest
