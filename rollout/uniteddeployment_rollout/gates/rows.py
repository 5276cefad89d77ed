"""One row of results: a measurement is added, and the row passes, fails or goes on. Pure."""

from collections.abc import Mapping

from uniteddeployment_api.v1alpha1.gates import (
    MAX_MESSAGE,
    MAX_VALUE,
    MAX_VALUES,
    GateState,
    RolloutGateStatus,
)
from uniteddeployment_rollout.gates.probe import Measured, Outcome, ProbeId
from uniteddeployment_rollout.gates.resolve import Gate
from uniteddeployment_rollout.status import Draft, shortened

FINAL: frozenset[GateState] = frozenset({"Passed", "Failed", "Inconclusive", "Approved"})
"""States after which nothing is measured."""

_COUNTS: Mapping[Outcome, str] = {
    "Success": "successes",
    "Failure": "failures",
    "Inconclusive": "inconclusive",
    "Error": "errors",
}


def record(row: RolloutGateStatus, gate: Gate, measured: Measured, time: str) -> RolloutGateStatus:
    """Return the row with one more measurement, and the state that follows from it."""
    outcome = measured.outcome
    if outcome == "Wait" and row.dry_run:
        outcome = "Inconclusive"  # a gate that is only recorded must not hold the step
    changes: dict[str, object] = {"time": time, "message": shortened(measured.message, MAX_MESSAGE)}
    if outcome == "Wait":
        return row.model_copy(update=changes | {"state": "Running", "consecutive_errors": 0})
    field = _COUNTS[outcome]
    changes[field] = getattr(row, field) + 1
    changes["consecutive_errors"] = row.consecutive_errors + 1 if outcome == "Error" else 0
    if measured.value:
        changes["values"] = (*row.values, shortened(measured.value, MAX_VALUE))[-MAX_VALUES:]
    row = row.model_copy(update=changes)
    return row.model_copy(update={"state": "Error" if measured.permanent else state_of(row, gate)})


def state_of(row: RolloutGateStatus, gate: Gate) -> GateState:
    """Return the state that follows from the counts of a row."""
    if row.failures > gate.failure_limit:
        return "Failed"
    if row.inconclusive > gate.inconclusive_limit:
        return "Inconclusive"
    if row.successes + row.failures + row.inconclusive >= gate.count:
        return "Passed" if row.successes else "Inconclusive"
    return "Error" if row.consecutive_errors > gate.error_limit else "Running"


def seconds_left(row: RolloutGateStatus, gate: Gate, draft: Draft) -> float:
    """Return the seconds until the next measurement is due; 0 or less if it is due."""
    if row.time is not None:
        return gate.interval - draft.since(row.time)
    return gate.initial_delay - draft.since(row.start_time or draft.time)


def probe_id(draft: Draft, row: RolloutGateStatus) -> ProbeId:
    """Return the identity of the next measurement of a row."""
    status = draft.status
    return ProbeId(status.run_id, status.step, status.gate_attempt, row.name, row.subset, row.number)
