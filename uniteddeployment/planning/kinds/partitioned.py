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

from uniteddeployment.planning.kinds.base import Demand, SubsetPlan, applied_digest, held_note, not_creatable
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


def plan_ordered(demand: Demand, order: Order) -> SubsetPlan:
    """Plan a subset whose controller may wait for ever for a broken pod."""
    planned = plan_held(demand, order)
    found = next((workload for workload in demand.mine if workload.metadata.name == planned.workload), None)
    if planned.settled or planned.steps or found is None:
        return planned
    step = stuck_pod(demand, found, found.partition)
    return replace(planned, steps=(step,), message=step.why) if step else planned


def plan_held(demand: Demand, order: Order) -> SubsetPlan:
    """Plan a subset whose workload is held by a partition of its own."""
    takeover = demand.takes_over()
    if takeover is not None:
        return takeover
    name = demand.adopted(demand.target) or demand.name(demand.target)
    found = next((workload for workload in demand.mine if workload.metadata.name == name), None)
    counts = counts_of(demand, found)
    if found is None:
        return _created(demand, name, counts)
    place = order(demand, found)
    setting = _setting(demand, found, place)
    if setting.wait or setting.problem:
        message = setting.wait or setting.problem
        return SubsetPlan((), counts, name, settled=False, message=message, stalled=bool(setting.problem))
    step = _write(demand, found, setting) or _pod(demand, found, setting, place)
    if step is not None:
        return SubsetPlan((step,), counts, name, settled=False, message=step.why)
    waiting = progress(demand, found, counts, _expected(demand, setting))
    return SubsetPlan((), counts, name, settled=not waiting, message=waiting, note=held_note(demand, counts.updated))


def _created(demand: Demand, name: str, counts: Counts) -> SubsetPlan:
    """The plan for a subset that has no workload."""
    if demand.lost and demand.partition:
        # What the partition does not hold can be created all the same.
        allowed = demand.replicas - demand.partition
        steps = (_create(replace(demand, replicas=allowed, partition=0)),) if allowed else ()
        message = not_creatable(demand, demand.partition)
        return SubsetPlan(steps, counts, name, settled=False, message=message, stalled=True)
    return SubsetPlan((_create(demand),), counts, name, settled=False, message="being created")


def _create(demand: Demand) -> MemberStep:
    if demand.holds and demand.stable is not None:
        why = f"create with {demand.replicas} replicas at the stable revision {demand.stable}"
        # All held: were it recreated over pods that run, those that are updated already would stay so.
        rendered, held = demand.render(demand.stable), demand.replicas
        return demand.apply(rendered, None, why, replicas=demand.replicas, partition=held)
    why = f"create with {demand.replicas} replicas at revision {demand.target}"
    rendered = demand.render(demand.target)
    return demand.apply(rendered, None, why, replicas=demand.replicas, partition=demand.partition)


def _setting(demand: Demand, found: Workload, place: Place | None) -> _Setting:
    """What the workload is to be set to now, so that pods are created at the right revision."""
    if not demand.partition or demand.target == demand.stable or not _by_partition(found):
        return _target(demand, found, place)
    if demand.stable is None:
        return _without_stable(demand, found, place)
    if found.revision == demand.stable and not found.observed:
        return _wait_for_stable(demand)
    if not found.spec.replicas:
        return _from_zero(demand, found, place, demand.stable)
    if remembers(demand, found, demand.stable):
        return _target(demand, found, place)
    updated = demand.pods.living.get(demand.target, 0)
    shown = found.revision == demand.stable
    if grows(demand, found) or (shown and (updated >= _allowed(demand) or _current_is_target(demand, found))):
        return _stable(demand, found, place)
    return _target(demand, found, place)


def _from_zero(demand: Demand, found: Workload, place: Place | None, stable: str) -> _Setting:
    """The way back from zero pods, where a controller knows no revision but that of its template."""
    if found.revision != stable or applied_digest(found) != demand.render(stable).digest:
        return _Setting(stable, 0, 0, f"back from zero pods: show it the stable revision {stable} first")
    return _target(demand, found, place) if at_one_revision(found) else _wait_for_stable(demand)


def _wait_for_stable(demand: Demand) -> _Setting:
    return _Setting(demand.target, 0, 0, wait=f"until its controller has noted the stable revision {demand.stable}")


def _target(demand: Demand, found: Workload, place: Place | None) -> _Setting:
    """The template of the target revision, and the partition that holds the others."""
    if demand.target != demand.stable:
        partition = lowest(demand, found, place)
    else:
        partition = demand.partition if _uniform(demand, found) else 0
    return _Setting(demand.target, demand.replicas, partition)


def _stable(demand: Demand, found: Workload, place: Place | None) -> _Setting:
    """The template of the stable revision, for a workload whose controller has forgotten it.

    Pods that the partition keeps, and those that it lets be created, have the revision that the controller comes from.
    """
    stable = demand.stable or demand.target
    partition = keeping(demand, found, place)
    if _current_is_target(demand, found):
        partition = max(partition, _allowed(demand))
    why = "" if found.revision == stable else f"create what is added at the stable revision {stable}"
    return _Setting(stable, demand.replicas, partition, why)


def _without_stable(demand: Demand, found: Workload, place: Place | None) -> _Setting:
    """Before any version was complete, what runs is held. A stable revision that is lost cannot be created any more."""
    if not demand.lost or remembers_another(demand, found):
        return _target(demand, found, place)
    if found.spec.replicas and not grows(demand, found):
        return _target(demand, found, place)
    allowed = _allowed(demand)
    if allowed and not found.spec.replicas:
        return _Setting(demand.target, allowed, 0)
    missing = demand.replicas - max(found.spec.replicas, allowed)
    return _Setting(demand.target, 0, 0, problem=not_creatable(demand, missing))


def _allowed(demand: Demand) -> int:
    """How many pods may be updated."""
    return demand.replicas - demand.partition


def _current_is_target(demand: Demand, found: Workload) -> bool:
    return current_revision(demand, found) == demand.target


def _pod(demand: Demand, found: Workload, setting: _Setting, place: Place | None) -> MemberStep | None:
    """The deletion of a pod that is to be updated and that its controller leaves, as its template is the stable one."""
    if setting.revision == demand.target or not _current_is_target(demand, found):
        return None
    return next_to_update(demand, found, place)


def _expected(demand: Demand, setting: _Setting) -> int:
    """How many pods are to be updated and ready."""
    if demand.target == demand.stable:
        return demand.replicas
    if setting.revision == demand.target and setting.partition > demand.partition:
        return 0  # pods above the asked-for partition are held back by canaries below it
    return _allowed(demand)


def _write(demand: Demand, found: Workload, setting: _Setting) -> MemberStep | None:
    rendered = demand.render(setting.revision)
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
        return demand.apply(rendered, found, why or "template or metadata", replicas=replicas, partition=partition)
    if demand.drifted(found):
        why = why or "put back what somebody else changed"
        return demand.apply(rendered, found, why, replicas=replicas, partition=partition, drift=True)
    if only_scale:
        return demand.scale(found, replicas, changes[0])
    if not changes:
        return None
    return demand.apply(rendered, found, why, replicas=replicas, partition=partition)


def _by_partition(found: Workload) -> bool:
    """Whether a partition means anything to it."""
    return (found.spec.update_strategy.type if found.spec.update_strategy else "") != ON_DELETE


def _uniform(demand: Demand, found: Workload) -> bool:
    """Whether every pod is at the target revision, and its controller creates none at another."""
    if not demand.adopted(demand.target):
        return demand.pods.only(demand.target) and (at_one_revision(found) or not _by_partition(found))
    updated = found.status.updated_replicas if found.revision == demand.target and found.observed else 0
    return updated >= found.status.replicas


def stuck_pod(demand: Demand, found: Workload, partition: int) -> DeletePod | None:
    """The deletion that lets the StatefulSet go on, or None."""
    policy = demand.app.workload_template["spec"].get("podManagementPolicy", "OrderedReady")
    if policy != "OrderedReady" or found.revision != demand.target or not found.observed:
        return None
    pods = demand.pods.pods
    if any(pod.metadata.deletion_timestamp is not None for pod in pods):
        return None
    lowest = found.first_ordinal + partition
    wrong = [pod for pod in pods if pod.revision != demand.target and not pod.ready and pod.ordinal >= lowest]
    if not wrong:
        return None
    pod: Pod = max(wrong, key=lambda pod: pod.ordinal)
    why = f"not ready at revision {pod.revision or 'unknown'}, it keeps the StatefulSet from revision {demand.target}"
    return DeletePod(demand.cluster, demand.subset.name, pod.metadata.name, pod.metadata.uid, why)


def next_to_update(demand: Demand, found: Workload, place: Place | None) -> DeletePod | None:
    """The deletion of the pod that is to be updated next, or None if there is none or it has to wait."""
    pods, status = demand.pods.pods, found.status
    allowed = demand.replicas - demand.partition
    complete = found.observed and len(pods) == status.replicas == demand.replicas
    if not complete or demand.pods.living.get(demand.target, 0) >= allowed:
        return None
    if status.available_replicas < demand.replicas - demand.covered or not all(pod.living for pod in pods):
        return None
    old = [pod for pod in pods if pod.revision != demand.target]
    if place is not None:
        old = [pod for pod in old if 0 <= (place(pod.ordinal) or 0) < found.partition]
    if not old:
        return None
    pod = min(old, key=lambda pod: (pod.ready, pod.ordinal, pod.metadata.name))
    why = f"update it from revision {pod.revision or 'unknown'} to {demand.target}"
    return DeletePod(demand.cluster, demand.subset.name, pod.metadata.name, pod.metadata.uid, why)
