"""Adoption: a subset takes over an existing workload without restarting its pods.

The workload has none of our labels, so no watch shows it, and the first write reads it. It is taken over only if the
spec names it, it belongs to nobody else, and it is what the subset wants already, so that nothing restarts (I13). From
then on it is the subset's workload like any other, except that it keeps its name, its selector and its pods' labels.

The workloads of a UnitedDeployment that was lost with its host are another case: watches show them, and they have our
names and labels. They only need our uid (:func:`reclaims`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.kinds.base import NO_CLAIM, Claim
from uniteddeployment.planning.observed import MemberView
from uniteddeployment.planning.ownership import Owner
from uniteddeployment.planning.steps import Apply, MemberStep, Reclaim
from uniteddeployment_api import Subset


def claim(subject: Subject, app: Application, subset: Subset) -> Claim:
    """The workload that a subset without a workload takes over.

    Only a subset that never had a workload adopts one. If somebody deletes an adopted workload, it is created again
    under the same name, unless workloads of its kind have another name with each revision anyway.
    """
    if subset.adopt is None:
        return NO_CLAIM
    had = subject.status.subset(subset.name).workload
    if not had:
        return Claim(subset.adopt.name, existing=True)
    if had == f"{app.kind}/{subset.adopt.name}" and not app.workload_kind.per_revision:
        return Claim(subset.adopt.name)
    return NO_CLAIM


def foreign(owner: Owner, existing: Mapping[str, Any]) -> str:
    """Why the existing workload may not be taken over by ``owner``; empty if it may."""
    metadata = existing.get("metadata") or {}
    other = owner.other(metadata.get("annotations") or {})
    if other:
        return f"it belongs to {other}"
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller"):
            return f"it is controlled by {reference.get('kind')} {reference.get('name')}"
    if metadata.get("deletionTimestamp"):
        return "it is being deleted"
    return ""


def taken(app: Application, view: MemberView, steps: Iterable[MemberStep]) -> str:
    """Name a workload of somebody else that exists in place of one that is to be created; empty if there is none.

    Two hosts may run the same application in one cluster. The creation would be refused as well; this saves the
    request, and also finds a workload of another name.
    """
    wanted = {(step.kind, step.subset) for step in steps if isinstance(step, Apply) and step.create}
    for workload in view.workloads if wanted else ():
        other = app.owner.other(workload.metadata.annotations)
        if other and (workload.kind, workload.subset) in wanted:
            return f"{workload.kind} {workload.metadata.name} belongs to {other} and is left alone"
    return ""


def reclaims(app: Application, view: MemberView) -> tuple[Reclaim, ...]:
    """The steps that take over what a UnitedDeployment left in a cluster when it was lost with its host.

    Every such workload gets our uid, also one that is no longer asked for: otherwise it would belong to nobody as soon
    as spec.topology.adopt is removed.
    """
    why = f"take over from the lost UnitedDeployment {app.key} (uid {app.owner.former_uid})"
    return tuple(
        Reclaim(view.ref(workload), workload.metadata.uid, why)
        for workload in view.workloads
        if app.owner.lost(workload.metadata.annotations)
    )


def misfit(body: Mapping[str, Any], existing: Mapping[str, Any], tried: Mapping[str, Any]) -> str:
    """Why the existing workload cannot be taken over without restarting its pods; empty if it can.

    ``tried`` is the workload as it would be after our write, according to a dry run.
    """
    if _selector(body) != _selector(existing):
        return "its selector is another one than spec.selector, and selectors cannot be changed"
    before, after = existing["spec"].get("template"), tried["spec"].get("template")
    differing = next(differing_paths(before, after, "spec.template"), None)
    if differing is not None:
        return f"its pods would be restarted: {differing} differs from the template of the UnitedDeployment"
    begins, moved = _first_ordinal(existing), _first_ordinal(tried)
    if begins != moved:
        return f"its pods would be restarted: their ordinals begin at {begins}, and the subset's at {moved}"
    return ""


def _first_ordinal(workload: Mapping[str, Any]) -> int:
    start: int = (workload["spec"].get("ordinals") or {}).get("start", 0)
    return start


def _selector(workload: Mapping[str, Any]) -> tuple[dict[str, str], list[Any]]:
    selector = workload["spec"].get("selector") or {}
    expressions = [
        (requirement.get("key"), requirement.get("operator"), sorted(requirement.get("values") or ()))
        for requirement in selector.get("matchExpressions") or ()
    ]
    return dict(selector.get("matchLabels") or {}), sorted(expressions)


def differing_paths(one: Any, other: Any, path: str) -> Iterator[str]:
    """The paths below ``path`` at which two values differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from differing_paths(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differing_paths(a, b, f"{path}[{index}]")
    elif one != other:
        yield path
