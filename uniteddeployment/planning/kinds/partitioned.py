"""Workloads that are held by a partition of their own: one object per subset, whatever revisions its pods have.

Their controllers give the template's revision to the pods from the partition on, and create the pods before it at the
revision that they regard as current. Raising the partition takes no updated pod back. To keep the number of updated
pods within the partition (I6), this module does the following:

* It may write a higher partition than the user asked for (:mod:`.places`).
* A workload that is created in mid-canary, or that comes back from zero pods, gets the stable template first, and the
  new one once its controller has observed that: until then the controller knows no other revision.
* A controller forgets the stable revision when all of its pods are updated (:mod:`.progress`). If such a workload has
  to grow after its partition was raised, its template becomes the stable one again, and its partition keeps the updated
  pods: pods created beyond them are stable. This lasts as long as no more pods may be updated.
* Going back to the stable revision has to reach the canaries before the partition too, so it uses partition 0.
"""

from dataclasses import dataclass, replace

from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan, applied_digest, held_note, not_creatable
from uniteddeployment.planning.kinds.places import Place, PlaceRule, keeping_partition, lowest_partition
from uniteddeployment.planning.kinds.progress import (
    at_one_revision,
    counts_of,
    current_revision,
    grows,
    progress,
    remembers,
    remembers_another,
)
from uniteddeployment.planning.kinds.workload import ON_DELETE
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.results import Counts
from uniteddeployment.planning.steps import DeletePod, MemberStep


@dataclass(frozen=True, slots=True)
class _Setting:
    """The fields that a workload is to have now."""

    revision: str
    """The revision of its template."""
    replicas: int
    partition: int
    why: str = ""
    """The reason, if the changes do not explain themselves."""
    wait: str = ""
    """The event that has to happen first: nothing is written before it."""
    problem: str = ""
    """The problem that a user has to solve: nothing is written before that."""


def plan_ordered(context: SubsetContext, rule: PlaceRule) -> SubsetPlan:
    """Plan a subset whose controller may wait forever for a broken pod."""
    planned = plan_held(context, rule)
    workload = _named(context, planned.workload)
    if planned.settled or planned.steps or workload is None:
        return planned
    step = stuck_pod(context, workload, workload.partition)
    return replace(planned, steps=(step,), message=step.why) if step else planned


def plan_held(context: SubsetContext, rule: PlaceRule) -> SubsetPlan:
    """Plan a subset whose workload is held by a partition of its own."""
    takeover = context.takes_over()
    if takeover is not None:
        return takeover
    name = context.adopted(context.target) or context.name(context.target)
    workload = _named(context, name)
    counts = counts_of(context, workload)
    if workload is None:
        return _created(context, name, counts)
    place = rule(context, workload)
    setting = _setting(context, workload, place)
    if setting.wait or setting.problem:
        message = setting.wait or setting.problem
        return SubsetPlan((), counts, name, settled=False, message=message, stalled=bool(setting.problem))
    step = _write(context, workload, setting) or _pod(context, workload, setting, place)
    if step is not None:
        return SubsetPlan((step,), counts, name, settled=False, message=step.why)
    waiting = progress(context, workload, counts, _expected(context, setting))
    return SubsetPlan((), counts, name, settled=not waiting, message=waiting, note=held_note(context, counts.updated))


def _named(context: SubsetContext, name: str) -> Workload | None:
    return next((workload for workload in context.mine if workload.metadata.name == name), None)


def _created(context: SubsetContext, name: str, counts: Counts) -> SubsetPlan:
    """The plan for a subset that has no workload."""
    if context.lost and context.partition:
        # Pods that the partition does not hold can still be created.
        allowed = context.replicas - context.partition
        steps = (_create(replace(context, replicas=allowed, partition=0)),) if allowed else ()
        message = not_creatable(context, context.partition)
        return SubsetPlan(steps, counts, name, settled=False, message=message, stalled=True)
    return SubsetPlan((_create(context),), counts, name, settled=False, message="being created")


def _create(context: SubsetContext) -> MemberStep:
    if context.holds and context.stable is not None:
        why = f"create with {context.replicas} replicas at the stable revision {context.stable}"
        # Hold all pods: if it is recreated over running pods, those that are updated stay so anyway.
        rendered, held = context.render(context.stable), context.replicas
        return context.apply(rendered, None, why, replicas=context.replicas, partition=held)
    why = f"create with {context.replicas} replicas at revision {context.target}"
    rendered = context.render(context.target)
    return context.apply(rendered, None, why, replicas=context.replicas, partition=context.partition)


def _setting(context: SubsetContext, workload: Workload, place: Place | None) -> _Setting:
    """The fields that the workload is to have now, so that its pods are created at the right revision."""
    if not context.partition or context.target == context.stable or not _by_partition(workload):
        return _target(context, workload, place)
    if context.stable is None:
        return _without_stable(context, workload, place)
    if workload.revision == context.stable and not workload.observed:
        return _wait_for_stable(context)
    if not workload.spec.replicas:
        return _from_zero(context, workload, place, context.stable)
    if remembers(context, workload, context.stable):
        return _target(context, workload, place)
    updated = context.pods.living.get(context.target, 0)
    shown = workload.revision == context.stable
    if grows(context, workload) or (shown and (updated >= _allowed(context) or _current_is_target(context, workload))):
        return _stable(context, workload, place)
    return _target(context, workload, place)


def _from_zero(context: SubsetContext, workload: Workload, place: Place | None, stable: str) -> _Setting:
    """The way back from zero pods: the controller knows no revision but that of its template."""
    if workload.revision != stable or applied_digest(workload) != context.render(stable).digest:
        return _Setting(stable, 0, 0, f"back from zero pods: apply the stable revision {stable} first")
    return _target(context, workload, place) if at_one_revision(workload) else _wait_for_stable(context)


def _wait_for_stable(context: SubsetContext) -> _Setting:
    return _Setting(context.target, 0, 0, wait=f"until its controller has noted the stable revision {context.stable}")


def _target(context: SubsetContext, workload: Workload, place: Place | None) -> _Setting:
    """The template of the target revision, and the partition that holds the other pods."""
    if context.target != context.stable:
        partition = lowest_partition(context, workload, place)
    elif workload.revision == context.target and not workload.observed and context.pods.only(context.target):
        # Whether all pods are uniform shows when its controller has observed the last write. Another write before that
        # would delay it, and two partitions could alternate forever.
        partition = workload.partition
    else:
        partition = context.partition if _uniform(context, workload) else 0
    return _Setting(context.target, context.replicas, partition)


def _stable(context: SubsetContext, workload: Workload, place: Place | None) -> _Setting:
    """The template of the stable revision, for a workload whose controller has forgotten it.

    The partition then holds the updated pods, since the controller regards their revision as the current one.
    """
    stable = context.stable or context.target
    partition = keeping_partition(context, workload, place)
    if _current_is_target(context, workload):
        partition = max(partition, _allowed(context))
    why = "" if workload.revision == stable else f"create additional pods at the stable revision {stable}"
    return _Setting(stable, context.replicas, partition, why)


def _without_stable(context: SubsetContext, workload: Workload, place: Place | None) -> _Setting:
    """Without a stable revision, running pods are held. If it was lost, no further pods can be created at it."""
    if not context.lost or remembers_another(context, workload):
        return _target(context, workload, place)
    if workload.spec.replicas and not grows(context, workload):
        return _target(context, workload, place)
    allowed = _allowed(context)
    if allowed and not workload.spec.replicas:
        return _Setting(context.target, allowed, 0)
    missing = context.replicas - max(workload.spec.replicas, allowed)
    return _Setting(context.target, 0, 0, problem=not_creatable(context, missing))


def _allowed(context: SubsetContext) -> int:
    """The number of pods that may be updated."""
    return context.replicas - context.partition


def _current_is_target(context: SubsetContext, workload: Workload) -> bool:
    return current_revision(context, workload) == context.target


def _pod(context: SubsetContext, workload: Workload, setting: _Setting, place: Place | None) -> MemberStep | None:
    """The deletion of a pod that is to be updated and that its controller leaves alone; None if there is none."""
    if setting.revision == context.target or not _current_is_target(context, workload):
        return None
    return next_to_update(context, workload, place)


def _expected(context: SubsetContext, setting: _Setting) -> int:
    """The number of pods that are to be updated and ready."""
    if context.target == context.stable:
        return context.replicas
    if setting.revision == context.target and setting.partition > context.partition:
        return 0  # canaries before the user's partition hold back pods behind it
    return _allowed(context)


def _write(context: SubsetContext, workload: Workload, setting: _Setting) -> MemberStep | None:
    rendered = context.render(setting.revision)
    replicas, partition = setting.replicas, setting.partition
    changes = []
    if workload.revision != setting.revision:
        changes.append(f"revision {workload.revision or 'unknown'} to {setting.revision}")
    if workload.spec.replicas != replicas:
        changes.append(f"replicas {workload.spec.replicas} to {replicas}")
    if _by_partition(workload) and workload.partition != partition:
        changes.append(f"partition {workload.partition} to {partition}")
    only_scale = len(changes) == 1 and workload.spec.replicas != replicas
    why = setting.why or ", ".join(changes)
    if applied_digest(workload) != rendered.digest:
        return context.apply(rendered, workload, why or "template or metadata", replicas=replicas, partition=partition)
    if context.drifted(workload):
        why = why or "put back what somebody else changed"
        return context.apply(rendered, workload, why, replicas=replicas, partition=partition, drift=True)
    if only_scale:
        return context.scale(workload, replicas, changes[0])
    if not changes:
        return None
    return context.apply(rendered, workload, why, replicas=replicas, partition=partition)


def _by_partition(workload: Workload) -> bool:
    """Return True unless the workload waits for users to delete its pods, so that a partition means nothing to it."""
    return (workload.spec.update_strategy.type if workload.spec.update_strategy else "") != ON_DELETE


def _uniform(context: SubsetContext, workload: Workload) -> bool:
    """Return True if every pod is at the target revision, and the controller creates none at another."""
    if not context.adopted(context.target):
        return context.pods.only(context.target) and (at_one_revision(workload) or not _by_partition(workload))
    updated = workload.status.updated_replicas if workload.revision == context.target and workload.observed else 0
    return updated >= workload.status.replicas


def stuck_pod(context: SubsetContext, workload: Workload, partition: int) -> DeletePod | None:
    """The deletion of a pod that keeps a StatefulSet from going on; None if there is none.

    With the pod management policy OrderedReady, the StatefulSet controller waits for every pod to be ready before it
    updates any, even for a broken pod that only an update could repair (kubernetes/kubernetes#67250). The documented
    way out is to delete that pod: it comes back at the target revision. Only pods that are not ready are deleted, and
    one at a time, so no disruption budget is touched.
    """
    policy = context.app.workload_template["spec"].get("podManagementPolicy", "OrderedReady")
    if policy != "OrderedReady" or workload.revision != context.target or not workload.observed:
        return None
    pods = context.pods.pods
    if any(pod.metadata.deletion_timestamp is not None for pod in pods):
        return None
    lowest = workload.first_ordinal + partition
    broken = [pod for pod in pods if pod.revision != context.target and not pod.ready and pod.ordinal >= lowest]
    if not broken:
        return None
    pod = max(broken, key=lambda pod: pod.ordinal)
    why = f"not ready at revision {pod.revision or 'unknown'}, it keeps the StatefulSet from revision {context.target}"
    return DeletePod(context.view.ref(workload), pod.metadata.name, pod.metadata.uid, why)


def next_to_update(context: SubsetContext, workload: Workload, place: Place | None) -> DeletePod | None:
    """The deletion of the pod that is to be updated next; None if there is none, or if it has to wait.

    While the template is the stable one and the controller regards the target as the current revision, it creates pods
    before its partition at the target, but replaces none of its own accord. So the pods are deleted one by one, each
    when all are available, as the StatefulSet controller does by default.
    """
    pods, status = context.pods.pods, workload.status
    complete = workload.observed and len(pods) == status.replicas == context.replicas
    if not complete or context.pods.living.get(context.target, 0) >= _allowed(context):
        return None
    if status.available_replicas < context.replicas - context.covered or not all(pod.living for pod in pods):
        return None
    old = [pod for pod in pods if pod.revision != context.target]
    if place is not None:
        old = [pod for pod in old if 0 <= (place(pod.ordinal) or 0) < workload.partition]
    if not old:
        return None
    pod = min(old, key=lambda pod: (pod.ready, pod.ordinal, pod.metadata.name))
    why = f"update it from revision {pod.revision or 'unknown'} to {context.target}"
    return DeletePod(context.view.ref(workload), pod.metadata.name, pod.metadata.uid, why)
