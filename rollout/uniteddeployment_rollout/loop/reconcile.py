"""One pass for one rollout: observe, decide, store the status, write to the target, report.

The status is stored before the target is written. Whatever stops the pass in between, the next one decides again from
what is stored, and arrives at the same write.
"""

from collections.abc import Callable
from datetime import datetime

import structlog

from uniteddeployment.kube import errors
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.kube.recorder import Recorder
from uniteddeployment_api import InvalidObject, names
from uniteddeployment_rollout.advance import advance
from uniteddeployment_rollout.gates.measurer import Measurer
from uniteddeployment_rollout.gates.measuring import Subject
from uniteddeployment_rollout.gates.probe import GateInputs
from uniteddeployment_rollout.loop.host import Host
from uniteddeployment_rollout.loop.metrics import RolloutMetrics
from uniteddeployment_rollout.loop.objects import Key, RolloutMetadata, StoredRollout, TargetMetadata, target_of
from uniteddeployment_rollout.loop.writes import Writer, dumped
from uniteddeployment_rollout.notifications.outbox import notified
from uniteddeployment_rollout.notifications.sender import Sender
from uniteddeployment_rollout.status import Event

_log = structlog.get_logger(__name__)


class Reconciler:
    """Carries out passes. The queue gives no key to two of them at once."""

    def __init__(
        self,
        host: Host,
        writer: Writer,
        recorder: Recorder | None,
        metrics: RolloutMetrics | None,
        *,
        sender: Sender,
        measurer: Measurer,
        now: Callable[[], datetime],
    ) -> None:
        self._host = host
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._sender = sender
        self._now = now
        self._measurer = measurer

    async def reconcile(self, key: Key) -> float | None:
        """Carry out one pass; return the seconds until the next one is due, if time alone makes it so.

        Raises KubeError.
        """
        rollout = self._host.rollouts.get(key)
        if rollout is None or rollout.metadata.deletion_timestamp is not None:
            self._sender.recorded(key, "", {})
            self._measurer.forget(key)
            return None
        try:
            model = rollout.model()
        except InvalidObject as error:
            # The schema refuses it; it can be here only if the definition was changed.
            _log.warning("rollout cannot be read", namespace=key[0], name=key[1], error=str(error))
            return None
        stored_target = self._host.targets.get(rollout.target)
        target = target_of(stored_target, self._host.labels) if stored_target is not None else None
        owner = self._host.owner(rollout.target)
        rival = owner.metadata.name if owner is not None and owner.key != key else ""
        now, outcomes = self._now(), self._sender.outcomes(key, rollout.metadata.uid)
        inputs = GateInputs(self._host.templates_of(model), self._measurer.results(key))
        decision = notified(advance(model, target, now, rival=rival, inputs=inputs), model, outcomes, now)
        if dumped(decision.status) != dumped(model.status):
            self._host.rollouts.merge(await self._writer.store(rollout, decision.status))
            self.record(rollout, decision.events)
            if self._metrics is not None:
                self._metrics.changed(model.status, decision.status)
        self._sender.recorded(key, rollout.metadata.uid, outcomes)
        self._sender.send(rollout, model, decision.status, now)
        subject = Subject(key[0], key[1], rollout.metadata.uid)
        self._measurer.follow(key, subject, decision.status, recorded=decision.recorded, probes=decision.probes)
        if decision.write is not None and stored_target is not None:
            self._host.targets.merge(await self._writer.write(stored_target, decision.write))
        return decision.requeue_after

    def record(self, rollout: StoredRollout, events: tuple[Event, ...]) -> None:
        """Record Events about a rollout; they are written in the background."""
        self._record(names.UNITED_ROLLOUT_KIND, rollout.metadata, events)

    def record_deletion(self, rollout: StoredRollout) -> None:
        """Report that the target of a deleted rollout stays as it is, on the rollout and on the target."""
        if "formerPartition" not in rollout.status:
            return  # it has changed nothing, or has given everything back
        target = self._host.targets.get(rollout.target)
        run, what = rollout.status.get("runID"), f"UnitedRollout {rollout.metadata.name} was deleted"
        manual = "spec.updateStrategy.manualUpdate"
        message = f"{what}: new templates are held until you change {manual}.partition"
        if run:
            message = f"{what} during run {run}: the partitions stay as they are until you change {manual}"
        event = Event("RolloutDeleted", message, "Warning" if run else "Normal")
        self.record(rollout, (event,))
        if target is not None:
            self._record(names.UNITED_DEPLOYMENT_KIND, target.metadata, (event,))

    def _record(self, kind: str, metadata: RolloutMetadata | TargetMetadata, events: tuple[Event, ...]) -> None:
        if self._recorder is None:
            return
        regarding = ObjectReference(
            api_version=names.API_VERSION,
            kind=kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
        )
        for event in events:
            self._recorder.event(regarding, event.type, event.reason, event.message, action="Rollout")


def conflicts(error: errors.KubeError) -> bool:
    """Whether a write was refused because the object has changed meanwhile: its event brings the next pass."""
    return isinstance(error, errors.Conflict)
