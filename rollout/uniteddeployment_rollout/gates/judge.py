"""The gates of the present step: which measurements are due, and what the results mean for the run. Pure."""

from collections.abc import Iterable, Sequence

from uniteddeployment_api.v1alpha1.gates import MAX_MESSAGE, GateState, ReadinessMeasurement, RolloutGateStatus
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRolloutSpec
from uniteddeployment_rollout.commands import GATE_FAILED
from uniteddeployment_rollout.failures import Problem, fail
from uniteddeployment_rollout.gates import readiness
from uniteddeployment_rollout.gates.probe import Probe
from uniteddeployment_rollout.gates.resolve import Gate, resolve
from uniteddeployment_rollout.gates.rows import FINAL, probe_id, record, seconds_left
from uniteddeployment_rollout.pace import Waiting
from uniteddeployment_rollout.status import Draft, EventType, shortened
from uniteddeployment_rollout.target import Target, TargetSubset

_SHOWN = 3
_EVENTS: dict[GateState, tuple[str, EventType]] = {
    "Passed": ("GatePassed", "Normal"),
    "Failed": (GATE_FAILED, "Warning"),
    "Inconclusive": ("GateInconclusive", "Warning"),
    "Error": ("GateError", "Warning"),
}


def wait(draft: Draft, spec: UnitedRolloutSpec, step: RolloutStep, target: Target) -> Waiting | None:
    """Return what the gates of a step whose pods are ready wait for; None if they have passed.

    A gate that has failed is handled by ``fail``.
    """
    if not step.gates or draft.status.skipped or draft.status.full:
        return None
    subsets = [subset for subset in target.subsets if subset.reachable and subset.updated and subset.allowed]
    before = {(row.name, row.subset): row for row in draft.status.gates}
    rows: list[RolloutGateStatus] = []
    due: list[float] = []
    for gate in (resolve(gate, draft.inputs.templates) for gate in step.gates):
        for subset in [None] if gate.scope_all else subsets:
            row = before.get((gate.name, subset.name if subset else "")) or _new(draft, gate, subset)
            row = _measured(draft, gate, row.model_copy(update={"dry_run": gate.dry_run}), subset)
            rows.append(row)
            if gate.problem or row.state in FINAL:
                continue
            due.append(max(0.0, seconds_left(row, gate, draft)))
            if due[-1] == 0:
                variables = _variables(draft, target, subset, subsets)
                draft.probes.append(Probe(probe_id(draft, row), gate, variables, row.cluster))
    draft.set(gates=tuple(rows))
    _report(draft, before.values())
    return _verdict(draft, spec, target, min((left for left in due if left > 0), default=None))


def _new(draft: Draft, gate: Gate, subset: TargetSubset | None) -> RolloutGateStatus:
    if subset is None:
        return RolloutGateStatus(name=gate.name, start_time=draft.time)
    return RolloutGateStatus(name=gate.name, subset=subset.name, cluster=subset.cluster, start_time=draft.time)


def _measured(draft: Draft, gate: Gate, row: RolloutGateStatus, subset: TargetSubset | None) -> RolloutGateStatus:
    """Return the row with the result of the next measurement, if there is one."""
    if gate.problem:
        # Not counted as a measurement, so that measuring begins at once when the problem is solved.
        return row.model_copy(update={"state": "Error", "message": shortened(gate.problem, MAX_MESSAGE)})
    if row.state in FINAL:
        return row
    measurement = gate.measurement.readiness if gate.measurement is not None else None
    if measurement is not None and subset is not None:
        return _readiness(draft, gate, row, subset, measurement)
    id_ = probe_id(draft, row)
    measured = draft.inputs.measured.get(id_)
    if measured is None:
        return row
    draft.recorded.append(id_)
    return record(row, gate, measured, draft.time)


def _readiness(
    draft: Draft, gate: Gate, row: RolloutGateStatus, subset: TargetSubset, measurement: ReadinessMeasurement
) -> RolloutGateStatus:
    if seconds_left(row, gate, draft) > 0:
        return row
    row = row.model_copy(update={"first_restarts": readiness.first_restarts(row, subset)})
    return record(row, gate, readiness.measure(measurement, row, subset), draft.time)


def _variables(
    draft: Draft, target: Target, subset: TargetSubset | None, subsets: Sequence[TargetSubset]
) -> dict[str, str]:
    """Return the values of variables. For all subsets together, different values are joined with ``|``, for ``=~``."""
    measured = [subset] if subset is not None else subsets
    stable = {row.name: row.stable_revision for row in draft.status.subsets}

    def joined(values: Iterable[str]) -> str:
        return "|".join(sorted({value for value in values if value}))

    return {
        "namespace": target.namespace,
        "name": target.name,
        "subset": joined(each.name for each in measured),
        "cluster": joined(each.cluster.rpartition("/")[2] for each in measured),
        "revision": joined(each.revision for each in measured),
        "stableRevision": joined(each.stable_revision or stable.get(each.name, "") for each in measured),
    }


def _report(draft: Draft, before: Iterable[RolloutGateStatus]) -> None:
    """Record one event for each gate and each state that some of its rows have reached."""
    states = {(row.name, row.subset): row.state for row in before}
    changed: dict[tuple[str, GateState], list[RolloutGateStatus]] = {}
    for row in draft.status.gates:
        if row.state == "Failed" and not row.dry_run:
            continue  # reported with the failure of the run
        if row.state in _EVENTS and states.get((row.name, row.subset)) != row.state:
            changed.setdefault((row.name, row.state), []).append(row)
    for (_, state), rows in changed.items():
        reason, type_ = _EVENTS[state]
        note = " (dry run)" if rows[0].dry_run else ""
        draft.event(reason, f"step {draft.status.step}: {described(rows)}{note}", type_)


def _verdict(draft: Draft, spec: UnitedRolloutSpec, target: Target, left: float | None) -> Waiting | None:
    rows = [row for row in draft.status.gates if not row.dry_run]
    if failed := [row for row in rows if row.state == "Failed"]:
        draft.set(step_state="Measuring")
        message = described(failed)
        draft.probes.clear()
        clusters = frozenset(row.cluster for row in failed if row.subset)
        fail(draft, spec, target, Problem(GATE_FAILED, message, clusters))
        return Waiting(message)
    if broken := [row for row in rows if row.state == "Error"]:
        draft.set(step_state="Measuring")
        return Waiting(described(broken), left, reason="GateError", degraded=True)
    if running := [row for row in draft.status.gates if row.state == "Running"]:
        draft.set(step_state="Measuring")
        names = dict.fromkeys(row.name for row in running)
        return Waiting(f"gates are being measured: {', '.join(names)}", left, reason="Measuring")
    if undecided := [row for row in rows if row.state == "Inconclusive"]:
        draft.set(step_state="Paused")
        how = "give the command approve to continue, or retry to measure again"
        return Waiting(f"{described(undecided)}; {how}", reason="GateInconclusive")
    return None


def described(rows: Sequence[RolloutGateStatus]) -> str:
    """Describe rows in the same state: their gates, the first subsets, and the last message of the first one."""
    first = rows[0]
    names = ", ".join(dict.fromkeys(row.name for row in rows))
    subsets = [row.subset for row in rows if row.subset]
    where = f" in {', '.join(dict.fromkeys(subsets[:_SHOWN]))}" if subsets else ""
    if len(subsets) > _SHOWN:
        where += f" and {len(subsets) - _SHOWN} more"
    how = {"Passed": "passed", "Failed": "failed", "Inconclusive": "is inconclusive", "Error": "cannot be measured"}
    text = f"gate {names} {how.get(first.state, first.state)}{where}"
    detail = first.message or (first.values[-1] if first.values else "")
    return f"{text}: {detail}" if detail else text
