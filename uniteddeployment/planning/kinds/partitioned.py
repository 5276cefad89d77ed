"""Workloads that are held by a partition of their own: one object per subset, whatever revisions its pods have.

Their controllers give the template's revision to pods from the partition on, and create the pods before it at the
revision that they call the current one. A pod that is updated stays so when the partition is raised. So that no more
pods are updated than the partition allows (I6), this module takes care of the following:

* The partition that is written may have to be higher than the one that was asked for (:mod:`.places`).
* A workload that is created in mid-canary, or that comes back from zero pods, gets the stable template first, and the
  new one once its controller has noted that: the controller knows no other revision until then.
* A controller forgets the stable revision when all of its pods are updated (:mod:`.progress`). If such a workload has
  to grow after its partition was raised, its template shows the stable revision again, and its partition keeps the
  pods that are updated: what is created beyond them is stable. Both stay that way as long as nothing more may be
  updated.
* Going back to the stable revision has to reach canaries before the partition too, so it is done with partition 0.
"""

from dataclasses import dataclass, replace

from uniteddeployment.planning.kinds.base import SubsetContext, SubsetPlan, applied_digest, held_note, not_creatable
from uniteddeployment.planning.kinds.places import Order, Place, keeping, lowest
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
from uniteddeployment.planning.observed import Pod, Workload
from uniteddeployment.planning.results import Counts
from uniteddeployment.planning.steps import DeletePod, MemberStep


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a workload is to be set to now."""

    revision: str
    """Of its template."""
    replicas: int
    partition: int
    why: str = ""
    """Why it is set to this, where the changes do not say it themselves."""
    wait: str = ""
    """What has to happen first: nothing is written until then."""
    problem: str = ""
    """What somebody has to do something about: nothing is written until then."""


def plan_ordered(context: SubsetContext, order: Order) -> SubsetPlan:
    """Plan a subset whose controller may wait for ever for a broken pod."""
    planned = plan_held(context, order)
    found = next((workload for workload in context.mine if workload.metadata.name == planned.workload), None)
    if planned.settled or planned.steps or found is None:
        return planned
    step = stuck_pod(context, found, found.partition)
    return replace(planned, steps=(step,), message=step.why) if step else planned


def plan_held(context: SubsetContext, order: Order) -> SubsetPlan:
    """Plan a subset whose workload is held by a partition of its own."""
    takeover = context.takes_over()
    if takeover is not None:
        return takeover
    name = context.adopted(context.target) or context.name(context.target)
    found = next((workload for workload in context.mine if workload.metadata.name == name), None)
    counts = counts_of(context, found)
    if found is None:
        return _created(context, name, counts)
    place = order(context, found)
    setting = _setting(context, found, place)
    if setting.wait or setting.problem:
        message = setting.wait or setting.problem
        return SubsetPlan((), counts, name, settled=False, message=message, stalled=bool(setting.problem))
    step = _write(context, found, setting) or _pod(context, found, setting, place)
    if step is not None:
        return SubsetPlan((step,), counts, name, settled=False, message=step.why)
    waiting = progress(context, found, counts, _expected(context, setting))
    return SubsetPlan((), counts, name, settled=not waiting, message=waiting, note=held_note(context, counts.updated))


def _created(context: SubsetContext, name: str, counts: Counts) -> SubsetPlan:
    """The plan for a subset that has no workload."""
    if context.lost and context.partition:
        # What the partition does not hold can be created all the same.
        allowed = context.replicas - context.partition
        steps = (_create(replace(context, replicas=allowed, partition=0)),) if allowed else ()
        message = not_creatable(context, context.partition)
        return SubsetPlan(steps, counts, name, settled=False, message=message, stalled=True)
    return SubsetPlan((_create(context),), counts, name, settled=False, message="being created")


def _create(context: SubsetContext) -> MemberStep:
    if context.holds and context.stable is not None:
        why = f"create with {context.replicas} replicas at the stable revision {context.stable}"
        # All held: were it recreated over pods that run, those that are updated already would stay so.
        rendered, held = context.render(context.stable), context.replicas
        return context.apply(rendered, None, why, replicas=context.replicas, partition=held)
    why = f"create with {context.replicas} replicas at revision {context.target}"
    rendered = context.render(context.target)
    return context.apply(rendered, None, why, replicas=context.replicas, partition=context.partition)


def _setting(context: SubsetContext, found: Workload, place: Place | None) -> _Setting:
    """What the workload is to be set to now, so that pods are created at the right revision."""
    if not context.partition or context.target == context.stable or not _by_partition(found):
        return _target(context, found, place)
    if context.stable is None:
        return _without_stable(context, found, place)
    if found.revision == context.stable and not found.observed:
        return _wait_for_stable(context)
    if not found.spec.replicas:
        return _from_zero(context, found, place, context.stable)
    if remembers(context, found, context.stable):
        return _target(context, found, place)
    updated = context.pods.living.get(context.target, 0)
    shown = found.revision == context.stable
    if grows(context, found) or (shown and (updated >= _allowed(context) or _current_is_target(context, found))):
        return _stable(context, found, place)
    return _target(context, found, place)


def _from_zero(context: SubsetContext, found: Workload, place: Place | None, stable: str) -> _Setting:
    """The way back from zero pods, where a controller knows no revision but that of its template."""
    if found.revision != stable or applied_digest(found) != context.render(stable).digest:
        return _Setting(stable, 0, 0, f"back from zero pods: show it the stable revision {stable} first")
    return _target(context, found, place) if at_one_revision(found) else _wait_for_stable(context)


def _wait_for_stable(context: SubsetContext) -> _Setting:
    return _Setting(context.target, 0, 0, wait=f"until its controller has noted the stable revision {context.stable}")


def _target(context: SubsetContext, found: Workload, place: Place | None) -> _Setting:
    """The template of the target revision, and the partition that holds the others."""
    if context.target != context.stable:
        partition = lowest(context, found, place)
    else:
        partition = context.partition if _uniform(context, found) else 0
    return _Setting(context.target, context.replicas, partition)


def _stable(context: SubsetContext, found: Workload, place: Place | None) -> _Setting:
    """The template of the stable revision, for a workload whose controller has forgotten it.

    Pods that the partition keeps, and those that it lets be created, have the revision that the controller comes from.
    """
    stable = context.stable or context.target
    partition = keeping(context, found, place)
    if _current_is_target(context, found):
        partition = max(partition, _allowed(context))
    why = "" if found.revision == stable else f"create what is added at the stable revision {stable}"
    return _Setting(stable, context.replicas, partition, why)


def _without_stable(context: SubsetContext, found: Workload, place: Place | None) -> _Setting:
    """Before any version was complete, what runs is held. A stable revision that is lost cannot be created any more."""
    if not context.lost or remembers_another(context, found):
        return _target(context, found, place)
    if found.spec.replicas and not grows(context, found):
        return _target(context, found, place)
    allowed = _allowed(context)
    if allowed and not found.spec.replicas:
        return _Setting(context.target, allowed, 0)
    missing = context.replicas - max(found.spec.replicas, allowed)
    return _Setting(context.target, 0, 0, problem=not_creatable(context, missing))


def _allowed(context: SubsetContext) -> int:
    """How many pods may be updated."""
    return context.replicas - context.partition


def _current_is_target(context: SubsetContext, found: Workload) -> bool:
    return current_revision(context, found) == context.target


def _pod(context: SubsetContext, found: Workload, setting: _Setting, place: Place | None) -> MemberStep | None:
    """The deletion of a pod that is to be updated and that its controller leaves, as its template is the stable one."""
    if setting.revision == context.target or not _current_is_target(context, found):
        return None
    return next_to_update(context, found, place)


def _expected(context: SubsetContext, setting: _Setting) -> int:
    """How many pods are to be updated and ready."""
    if context.target == context.stable:
        return context.replicas
    if setting.revision == context.target and setting.partition > context.partition:
        return 0  # pods above the asked-for partition are held back by canaries below it
    return _allowed(context)


def _write(context: SubsetContext, found: Workload, setting: _Setting) -> MemberStep | None:
    rendered = context.render(setting.revision)
    replicas, partition = setting.replicas, setting.partition
    changes = []
    if found.revision != setting.revision:
        changes.append(f"revision {found.revision or 'unknown'} to {setting.revision}")
    if found.spec.replicas != replicas:
        changes.append(f"replicas {found.spec.replicas} to {replicas}")
    if _by_partition(found) and found.partition != partition:
        changes.append(f"partition {found.partition} to {partition}")
    only_scale = len(changes) == 1 and found.spec.replicas != replicas
    why = setting.why or ", ".join(changes)
    if applied_digest(found) != rendered.digest:
        return context.apply(rendered, found, why or "template or metadata", replicas=replicas, partition=partition)
    if context.drifted(found):
        why = why or "put back what somebody else changed"
        return context.apply(rendered, found, why, replicas=replicas, partition=partition, drift=True)
    if only_scale:
        return context.scale(found, replicas, changes[0])
    if not changes:
        return None
    return context.apply(rendered, found, why, replicas=replicas, partition=partition)


def _by_partition(found: Workload) -> bool:
    """Whether a partition means anything to it."""
    return (found.spec.update_strategy.type if found.spec.update_strategy else "") != ON_DELETE


def _uniform(context: SubsetContext, found: Workload) -> bool:
    """Whether every pod is at the target revision, and its controller creates none at another."""
    if not context.adopted(context.target):
        return context.pods.only(context.target) and (at_one_revision(found) or not _by_partition(found))
    updated = found.status.updated_replicas if found.revision == context.target and found.observed else 0
    return updated >= found.status.replicas


def stuck_pod(context: SubsetContext, found: Workload, partition: int) -> DeletePod | None:
    """The deletion that lets the StatefulSet go on, or None."""
    policy = context.app.workload_template["spec"].get("podManagementPolicy", "OrderedReady")
    if policy != "OrderedReady" or found.revision != context.target or not found.observed:
        return None
    pods = context.pods.pods
    if any(pod.metadata.deletion_timestamp is not None for pod in pods):
        return None
    lowest = found.first_ordinal + partition
    wrong = [pod for pod in pods if pod.revision != context.target and not pod.ready and pod.ordinal >= lowest]
    if not wrong:
        return None
    pod: Pod = max(wrong, key=lambda pod: pod.ordinal)
    why = f"not ready at revision {pod.revision or 'unknown'}, it keeps the StatefulSet from revision {context.target}"
    return DeletePod(context.view.ref(found), pod.metadata.name, pod.metadata.uid, why)


def next_to_update(context: SubsetContext, found: Workload, place: Place | None) -> DeletePod | None:
    """The deletion of the pod that is to be updated next, or None if there is none or it has to wait."""
    pods, status = context.pods.pods, found.status
    allowed = context.replicas - context.partition
    complete = found.observed and len(pods) == status.replicas == context.replicas
    if not complete or context.pods.living.get(context.target, 0) >= allowed:
        return None
    if status.available_replicas < context.replicas - context.covered or not all(pod.living for pod in pods):
        return None
    old = [pod for pod in pods if pod.revision != context.target]
    if place is not None:
        old = [pod for pod in old if 0 <= (place(pod.ordinal) or 0) < found.partition]
    if not old:
        return None
    pod = min(old, key=lambda pod: (pod.ready, pod.ordinal, pod.metadata.name))
    why = f"update it from revision {pod.revision or 'unknown'} to {context.target}"
    return DeletePod(context.view.ref(found), pod.metadata.name, pod.metadata.uid, why)
