"""Changes of all gates of the present step at once, by commands and by pods that are not ready any more. Pure."""

from uniteddeployment_rollout.status import Draft


def restart(draft: Draft) -> bool:
    """Measure all gates again from the start; return whether there were any results."""
    if not draft.status.gates:
        return False
    draft.set(gates=(), gate_attempt=draft.status.gate_attempt + 1)
    return True


def approve(draft: Draft) -> bool:
    """Accept all inconclusive results; return whether there were any."""
    rows = draft.status.gates
    if draft.status.step_state != "Paused" or not any(row.state == "Inconclusive" and not row.dry_run for row in rows):
        return False
    accepted = tuple(
        row.model_copy(update={"state": "Approved"}) if row.state == "Inconclusive" and not row.dry_run else row
        for row in rows
    )
    draft.set(gates=accepted, step_state="Measuring")
    return True


def retry(draft: Draft) -> bool:
    """Measure again if gates have no result that the run could act on; return whether that was so."""
    blocked = any(row.state in ("Inconclusive", "Error") and not row.dry_run for row in draft.status.gates)
    return blocked and restart(draft)
