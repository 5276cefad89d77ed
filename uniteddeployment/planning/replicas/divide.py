"""The division of an application: the number of pods of each subset, and of those that stay at the old revision.

The steps: what each subset has so far; how it stands (:mod:`.adaptive`) and what the state of its cluster means for it
(:mod:`.limits`); the desired division (:mod:`.request`), with what returns after a failover (:mod:`.failback`); and the
numbers on the way there (:mod:`.pace`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.observed import NO_PODS, MemberView, Observed, Reach
from uniteddeployment.planning.replicas import Allocation, SubsetAllocation, adaptive
from uniteddeployment.planning.replicas.adaptive import Standing
from uniteddeployment.planning.replicas.brake import RELEASED, Brake, Level
from uniteddeployment.planning.replicas.failback import Return, give_back
from uniteddeployment.planning.replicas.limits import NO_LIMITS, Limits, limits
from uniteddeployment.planning.replicas.moving import Move, Moving, begun, explained, under_way
from uniteddeployment.planning.replicas.ordinals import Range
from uniteddeployment.planning.replicas.pace import Budget, Party, floor, pace
from uniteddeployment.planning.replicas.request import Inputs, make_request, place
from uniteddeployment.planning.replicas.serving import ready_leftovers, serving
from uniteddeployment.planning.replicas.sharing import fitted
from uniteddeployment.planning.stored import StoredCondition
from uniteddeployment_api.int_or_percent import held_back, rounded_down


@dataclass(frozen=True, slots=True)
class Division:
    """The number of pods of each subset, the reason of each number, and the pods that no subset can take."""

    replicas: Mapping[str, int]
    """Subset -> the number that it is assigned now."""
    reasons: Mapping[str, str]
    unplaced: int = 0
    why_unplaced: str = ""
    desired: Mapping[str, int] = field(default_factory=dict)
    """Subset -> the number that it will have when nothing moves any more."""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of its replicas wait for a node and are meant to have stand-ins; 0 if it is not listed."""
    covered: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of those have stand-ins. Some have none if no other subset has room."""
    conditions: Mapping[str, StoredCondition] = field(default_factory=dict)
    """Subset -> the condition that says whether it is schedulable. Only with the strategy Adaptive."""
    moved: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of its replicas run elsewhere until failback returns them; 0 if it is not listed."""
    unwritten: Mapping[str, int] = field(default_factory=dict)
    """Subset -> the number that it still has, if replicas that may leave it now have yet to be written."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Subset -> how many of its ready pods certainly stay; only while replicas move."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Subset -> the state of its cluster, if it is limited by it."""
    moving: tuple[Moving, ...] = ()
    """The moves under way."""
    begun: tuple[Move, ...] = ()
    """The moves that begin with this division."""
    brake: Brake = RELEASED
    """The brake, if it keeps replicas of this application from moving."""
    last_move: str | None = None
    """When replicas last began to move because of the state of a cluster."""
    requeue_after: float | None = None
    """Seconds until the division may change although nothing happens until then."""
    persist_first: bool = False
    """This decision cannot be re-derived after acting on it: the status has to hold it before."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """Everything that a division follows from."""

    subject: Subject
    app: Application
    observed: Observed
    given: Mapping[str, int]
    """Subset -> the number that it was last assigned."""
    current: Mapping[str, int]
    """Subset -> the number that it is to have so far. It differs while replicas move."""
    standings: Mapping[str, Standing]
    limits: Limits


def divide(
    subject: Subject, app: Application, observed: Observed, ranges: Mapping[str, Range] | None = None
) -> Division:
    """Divide ``spec.replicas``. The pods that run now decide ties, so that nothing moves without need (I5).

    ``ranges`` are the ordinals of subsets, which bound how many pods they can have.
    """
    given = _given(subject, app, observed)
    current = {**given, **{name: stored.desired for name, stored in subject.status.subsets.items()}}
    standings = adaptive.standings(subject, app, observed, given)
    found = NO_LIMITS
    if "spec.replicas" not in subject.ignored:
        found = limits(app, observed, current, subject.status.last_move_time)
    basis = _Basis(subject, app, observed, given, current, standings, found)
    back = _desired(basis, ranges or {})
    division = _paced(basis, back.divided, back.moved)
    if division.moved and _only_reported(basis, division):
        # Failback waits until the status has these numbers, and no event follows that write.
        return replace(division, requeue_after=0.0)
    return division


def _only_reported(basis: _Basis, division: Division) -> bool:
    """Return True if a number changes that a cluster has already, as after a crash between a write and the status."""
    for name, number in division.replicas.items():
        view = basis.observed.members.get(basis.app.cluster_of(basis.app.subsets[name]))
        if number != basis.given[name] and view is not None and number == _asked(basis.app, name, view):
            return True
    return False


def _desired(basis: _Basis, ranges: Mapping[str, Range]) -> Return:
    """The division when nothing moves any more."""
    subject, found = basis.subject, basis.limits
    # What moved because of a taint goes to where there was room. It stays there although the room changes.
    calm = found.leaving and any(limit.room is not None for limit in found.subsets.values())
    calm = calm and subject.status.observed_generation == subject.generation
    inputs = Inputs(basis.app, basis.current, basis.standings, ranges, found, calm)
    request = make_request(inputs)
    if inputs.use_room:
        request = fitted(request, found)
    divided = place(request, found)
    if not basis.standings:
        return Return(divided, {})
    stored = subject.status.subsets
    moved = {name: stored[name].moved_replicas for name in basis.app.subsets if name in stored}
    staying: dict[str, int] = {}
    returning: dict[str, int] = {}
    for subset in divided.subsets:
        limit, count = found.of(subset.name), moved.get(subset.name, 0)
        if limit.leaves:
            count += max(0, basis.current[subset.name] - subset.replicas)
        open_ = limit.may_grow and not limit.leaves and basis.standings[subset.name].schedulable
        if count:
            (returning if open_ else staying)[subset.name] = count
    back = give_back(request, divided, returning, size=_round_size(basis, returning))
    return Return(back.divided, {**staying, **back.moved})


def _round_size(basis: _Basis, returning: Mapping[str, int]) -> int | None:
    """The number of replicas that may return in this pass; None for all of them."""
    policy = basis.app.model.spec.failover.failback
    if policy == "Never" or not returning or basis.limits.brake.level is not Level.FREE:
        return 0
    members = basis.observed.members
    for name, subset in basis.app.subsets.items():
        view = members.get(basis.app.cluster_of(subset))
        given, current = basis.given[name], basis.current[name]
        if view is not None and view.reach is Reach.READY and given > current:
            return 0
        if name not in returning:
            continue
        if serving(basis.app, view, name, given).ready < current:
            return 0
        if view is not None and sum(view.pods.get(name, NO_PODS).living.values()) > current:
            return 0  # its surplus is about to go, and would be taken for the replicas that return
    total = sum(basis.current.values())
    budget = rounded_down(basis.app.model.spec.topology.max_unavailable, total)
    return None if policy == "Immediate" else max(1, budget)


def _paced(basis: _Basis, divided: Allocation, moved: Mapping[str, int]) -> Division:
    """The numbers of replicas now, on the way to the desired division."""
    subject, app, observed, standings = basis.subject, basis.app, basis.observed, basis.standings
    desired = divided.replicas
    reserved = {subset.name: subset.reserved for subset in divided.subsets if subset.reserved}
    covered = covered_replicas(app.model.spec.replicas or 0, divided)
    conditions = {name: standing.condition(desired[name], observed.now) for name, standing in standings.items()}
    left = [name for name in desired if basis.limits.of(name).leaves and basis.current[name] > desired[name]]
    persist_first = _persist_first(basis, divided, reserved, conditions, moved)
    reasons = {subset.name: _reason(subset, standings.get(subset.name)) for subset in divided.subsets}
    waits = [standing.requeue_after for standing in standings.values()] + [basis.limits.requeue_after]
    division = Division(
        replicas=desired,
        reasons=reasons,
        unplaced=divided.unplaced,
        why_unplaced=divided.problem,
        desired=desired,
        reserved=reserved,
        covered=covered,
        conditions=conditions,
        moved=moved,
        notes={name: limit.note for name, limit in basis.limits.subsets.items() if limit.note},
        begun=begun(basis.current, desired, reasons, basis.limits, _returning(basis, desired, moved))
        if subject.status.subsets and "spec.replicas" not in subject.ignored
        else (),
        brake=basis.limits.brake,
        last_move=observed.now if left else subject.status.last_move_time,
        requeue_after=min((wait for wait in waits if wait is not None), default=None),
        persist_first=persist_first,
    )
    if "spec.replicas" in subject.ignored or all(basis.given[name] <= desired[name] for name in desired):
        return replace(division, reasons=explained(division.reasons, basis.limits, desired, moved))
    return _with_pace(basis, division)


def _with_pace(basis: _Basis, division: Division) -> Division:
    """The division with the numbers that the ready pods allow now."""
    app, desired = basis.app, division.desired
    parties = []
    for name, subset in app.subsets.items():
        view = basis.observed.members.get(app.cluster_of(subset))
        given = basis.given[name]
        # What a deleted Cluster object stood for is given up. All other clusters have to be seen.
        seen = view is None or view.gone or view.reach is Reach.READY
        held = division.brake.level is Level.STOPPED and basis.limits.of(name).leaves
        parties.append(
            Party(
                name=name,
                given=given,
                desired=desired[name],
                serving=serving(app, view, name, given),
                seen=seen,
                movable=seen and not held and not app.model.spec.paused,
            )
        )
    total = sum(desired.values()) - sum(division.covered.values()) + division.unplaced
    budget = Budget(
        floor=floor(total, rounded_down(app.model.spec.topology.max_unavailable, total)),
        others=ready_leftovers(app, basis.observed),
        free=_fallen(basis, division),
        # What is stored now is acted on in the next pass, which finds out again how far the ready pods allow it.
        spared=division.persist_first,
    )
    numbers = pace(parties, budget)
    unwritten = _unwritten(basis, numbers)
    if budget.free or budget.spared:
        # What goes without a ready pod goes now, or where nobody can see it when its cluster returns.
        unwritten = {
            party.name: unwritten[party.name] for party in parties if not party.seen and party.name in unwritten
        }
    moving = under_way(parties, numbers)
    return replace(
        division,
        replicas=numbers,
        unwritten=unwritten,
        kept={party.name: party.serving.kept(numbers[party.name]) for party in parties},
        moving=moving,
        reasons=explained(division.reasons, basis.limits, desired, division.moved, moving),
    )


def _fallen(basis: _Basis, division: Division) -> int:
    """By how much the total fell. Replicas that have no place any more are not fewer than before (I7)."""
    status = basis.subject.status
    if not status.subsets:
        return 0
    before = sum(entry.desired for entry in status.subsets.values()) + (status.unplaced_replicas or 0)
    return max(0, before - sum(division.desired.values()) - division.unplaced)


def _unwritten(basis: _Basis, numbers: Mapping[str, int]) -> dict[str, int]:
    """Subset -> the number that its workloads have, if that is more than they may have now.

    The status keeps that number until the write is done, so a write that fails or comes late is decided again, from the
    pods that are ready by then.
    """
    found = {}
    for name, number in numbers.items():
        given = basis.given[name]
        if number < given:
            subset = basis.app.subsets[name]
            view = basis.observed.members.get(basis.app.cluster_of(subset))
            asked = min(given, _asked(basis.app, name, view))
            if asked > number:
                found[name] = asked
    return found


def _returning(basis: _Basis, desired: Mapping[str, int], moved: Mapping[str, int]) -> list[str]:
    """The subsets that get back replicas that had moved elsewhere."""
    stored = basis.subject.status
    return [
        name
        for name, number in desired.items()
        if number > basis.current.get(name, 0) and stored.subset(name).moved_replicas > moved.get(name, 0)
    ]


def covered_replicas(total: int, divided: Allocation) -> dict[str, int]:
    """Subset -> how many of its reserved pods have stand-ins. The others are missing from the total (I4).

    Of four pods, two wait for a node in one subset, and another subset had room for one stand-in only:

    >>> full = SubsetAllocation("full", replicas=3, reserved=2, reason="")
    >>> covered_replicas(4, Allocation(subsets=(full, SubsetAllocation("other", replicas=2, reason=""))))
    {'full': 1}
    """
    running = sum(subset.replicas - subset.reserved for subset in divided.subsets)
    missing = max(0, total - divided.unplaced - running)
    covered = {}
    for subset in divided.subsets:
        alone = min(subset.reserved, missing)
        missing -= alone
        if subset.reserved > alone:
            covered[subset.name] = subset.reserved - alone
    return covered


def _reason(given: SubsetAllocation, standing: Standing | None) -> str:
    """The reason of a number; if it is more than the subset can run, without stand-ins, why it is not less."""
    if standing is None or standing.schedulable or given.reserved or given.replicas <= (standing.capacity or 0):
        return given.reason
    return f"{given.replicas} are its minimum, or can run nowhere else: {standing.message}"


def _undisturbed(standing: Standing) -> bool:
    """Return True if no pod of a subset waits for a node."""
    return standing.schedulable and standing.placed == standing.given


def _persist_first(
    basis: _Basis,
    divided: Allocation,
    reserved: Mapping[str, int],
    conditions: Mapping[str, StoredCondition],
    moved: Mapping[str, int],
) -> bool:
    """Return True if the division follows from what may not be seen any more, and the status does not hold it.

    These are pods that could not be scheduled, the state of clusters, and that a subset which joins the others had no
    workload: once it has one, its pods decide ties, too.
    """
    stored, found = basis.subject.status.subsets, basis.limits
    if not stored:
        return False
    if any(name not in stored for name in basis.app.subsets):
        return True
    for name, entry in stored.items():
        if name in basis.app.subsets and entry.moved_replicas != moved.get(name, 0):
            return True
    if found.leaving and any(
        entry.desired > divided.replicas[name] for name, entry in stored.items() if found.of(name).leaves
    ):
        return True
    if all(map(_undisturbed, basis.standings.values())):
        return False
    for subset in divided.subsets:
        entry = basis.subject.status.subset(subset.name)
        before = adaptive.stored_condition(entry).status, entry.desired, entry.reserved_replicas
        if before != (conditions[subset.name].status, subset.replicas, reserved.get(subset.name, 0)):
            return True
    return False


def partition(app: Application, subset: str, replicas: int) -> int:
    """Number of pods of a subset that stay at the old revision: by its own partition, or else by the default one.

    Partitions that are for another revision do not apply, so the write that brings a new template holds it, too.
    """
    manual = app.model.spec.update_strategy.manual_update
    if manual.revision not in ("", app.revision_name):
        return held_back(manual.partition, replicas)
    if subset in manual.revert:
        return replicas
    held = held_back(manual.partitions.get(subset, manual.partition), replicas)
    return max(held, replicas - manual.max_updated.get(subset, replicas))


def reverts(app: Application, subset: str) -> bool:
    """Return True if the updated pods of a subset are to go back to the stable revision."""
    manual = app.model.spec.update_strategy.manual_update
    return subset in manual.revert and manual.revision in ("", app.revision_name)


def _given(subject: Subject, app: Application, observed: Observed) -> dict[str, int]:
    """Subset -> the number that it was last assigned; if the status does not say, the one that its workloads have."""
    given = {name: stored.replicas for name, stored in subject.status.subsets.items()}
    for name, subset in app.subsets.items():
        if name not in given:
            given[name] = _asked(app, name, observed.members.get(app.cluster_of(subset)))
    return given


def _asked(app: Application, subset: str, view: MemberView | None) -> int:
    """The number of replicas that the workloads of a subset have."""
    workloads = view.workloads if view is not None else ()
    mine = (workload for workload in workloads if workload.subset == subset and workload.kind == app.kind)
    return sum(workload.spec.replicas for workload in mine)
