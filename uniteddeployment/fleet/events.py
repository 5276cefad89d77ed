"""Records an Event on a Cluster for each change of its phase."""

from uniteddeployment.fleet.entry import Entry
from uniteddeployment.fleet.health import Phase, Record
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.recorder import EventType, Recorder
from uniteddeployment.planning.observed import Reach
from uniteddeployment_api import names

ACTION = "CheckHealth"


def record_phase(recorder: Recorder, entry: Entry, old: Record) -> None:
    """Record that the phase of a Cluster has changed, and why."""
    type_, reason, why = _change(entry, old)
    note = f"the phase changes from {old.phase} to {entry.record.phase}: {why}"
    recorder.event(_reference(entry), type_, reason, note, action=ACTION)


def _change(entry: Entry, old: Record) -> tuple[EventType, str, str]:
    """The type, the reason and the explanation of the present phase."""
    record, trouble, problem = entry.record, entry.probes.trouble, entry.problem
    match record.phase:
        case Phase.RUNNING if old.phase is Phase.OFFLINE:
            return "Normal", "Recovered", "it answers again, and has done so for long enough"
        case Phase.RUNNING:
            return "Normal", "Connected", "it answers"
        case Phase.TERMINATED:
            return "Normal", "Terminating", "the Cluster is being deleted"
        case Phase.OFFLINE:
            return "Warning", record.reason or str(record.phase), trouble.detail if trouble is not None else ""
        case _:
            suspended = entry.cluster.spec.suspended or entry.reach is Reach.SUSPENDED
            if suspended or problem is None:
                return "Normal", "Suspended", "spec.suspended is set"
            return "Warning", problem.reason or str(record.phase), problem.detail


def _reference(entry: Entry) -> ObjectReference:
    meta = entry.cluster.metadata
    return ObjectReference(
        api_version=names.API_VERSION,
        kind=names.CLUSTER_KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )
