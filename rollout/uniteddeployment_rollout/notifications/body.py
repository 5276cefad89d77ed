"""The body of a notification. Pure."""

from uniteddeployment_api import notification_texts
from uniteddeployment_api.v1alpha1.notifications import PendingNotification, RolloutNotification
from uniteddeployment_rollout.loop.objects import StoredRollout


def body(rollout: StoredRollout, notification: RolloutNotification, entry: PendingNotification) -> bytes:
    """The JSON document that is sent. Raises InvalidTemplate."""
    namespace, target = rollout.target
    values: dict[str, str | int] = {
        "namespace": namespace,
        "name": rollout.metadata.name,
        "target": target,
        "event": entry.event,
        "time": entry.time,
        "phase": entry.phase,
        "message": entry.message,
        "run": entry.run_id,
        "revision": entry.revision,
        "stableRevision": entry.stable_revision,
        "by": entry.by,
        "cause": entry.cause,
        "step": entry.step,
        "steps": entry.steps,
        "replicas": entry.replicas,
        "updatedReplicas": entry.updated_replicas,
    }
    template = notification.template or notification_texts.DEFAULT
    notification_texts.check(template)
    return notification_texts.filled(template, values).encode()
