"""The notifications that wait in the status of a rollout: what is added, removed and tried again. Pure.

A notification is stored in the same write as the state that it is about, and removed when its delivery is known. So a
controller that stops anywhere loses none, and repeats only those whose delivery it could not store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from uniteddeployment_api.v1alpha1.notifications import MAX_MESSAGE, MAX_PENDING, PendingNotification
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout, UnitedRolloutStatus
from uniteddeployment_rollout.decision import Decision
from uniteddeployment_rollout.notifications.happenings import Happening, happenings
from uniteddeployment_rollout.status import Draft, from_text, to_text

RETRY_SECONDS = (5, 15, 60, 300, 900)
"""Time before each further attempt. After the last one, the notification is given up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attempt to deliver a notification. Without a problem, it was delivered."""

    problem: str = ""
    """Why not, without any part of the URL."""
    permanent: bool = False
    """Further attempts would fail as well."""


def notified(decision: Decision, rollout: UnitedRollout, outcomes: Mapping[int, Outcome], now: datetime) -> Decision:
    """Return the decision with the notifications that it leads to, and with the results of earlier attempts."""
    draft = Draft(decision.status, now)
    pending = [*_tried(draft, rollout, outcomes), *_added(draft, rollout)]
    for dropped in pending[:-MAX_PENDING]:
        _give_up(draft, dropped, f"more than {MAX_PENDING} notifications wait")
    pending = pending[-MAX_PENDING:]
    draft.set(notifications=tuple(pending))
    waits = [(from_text(entry.retry_time) - now).total_seconds() for entry in pending if entry.retry_time]
    times = [max(0.0, wait) for wait in waits]
    if decision.requeue_after is not None:
        times.append(decision.requeue_after)
    return replace(
        decision,
        status=draft.status,
        events=(*decision.events, *draft.events),
        requeue_after=min(times, default=None),
    )


def due(status: UnitedRolloutStatus, now: datetime) -> list[PendingNotification]:
    """The notifications to send now."""
    return [entry for entry in status.notifications if entry.retry_time is None or from_text(entry.retry_time) <= now]


def _tried(draft: Draft, rollout: UnitedRollout, outcomes: Mapping[int, Outcome]) -> list[PendingNotification]:
    """The notifications that still wait. Those that were removed from the spec are dropped."""
    names = {notification.name for notification in rollout.spec.notifications}
    waiting = []
    for entry in draft.status.notifications:
        outcome = outcomes.get(entry.id)
        if entry.name not in names:
            continue
        if outcome is None:
            waiting.append(entry)
        elif outcome.problem and not outcome.permanent and entry.attempts < len(RETRY_SECONDS):
            retry = draft.now + timedelta(seconds=RETRY_SECONDS[entry.attempts])
            update = {"attempts": entry.attempts + 1, "retry_time": to_text(retry)}
            waiting.append(entry.model_copy(update=update))
        elif outcome.problem:
            _give_up(draft, entry, outcome.problem)
    return waiting


def _give_up(draft: Draft, entry: PendingNotification, problem: str) -> None:
    message = f"notification {entry.name} of {entry.event} was not delivered: {problem}"
    draft.event("NotificationFailed", message, "Warning")


def _added(draft: Draft, rollout: UnitedRollout) -> list[PendingNotification]:
    added: list[PendingNotification] = []
    first = draft.status.notification_count + 1
    for happening in happenings(rollout.status, draft.status):
        for notification in rollout.spec.notifications:
            if happening.event in notification.events:
                added.append(_pending(draft, first + len(added), notification.name, happening))
    if added:
        draft.set(notification_count=added[-1].id)
    return added


def _pending(draft: Draft, id_: int, name: str, happening: Happening) -> PendingNotification:
    return PendingNotification(
        id=id_,
        name=name,
        event=happening.event,
        time=draft.time,
        phase=draft.status.phase or "",
        run_id=happening.run_id,
        step=happening.step,
        steps=happening.steps,
        replicas=draft.status.replicas,
        updated_replicas=draft.status.updated_replicas,
        revision=happening.revision,
        stable_revision=happening.stable_revision,
        by=happening.by[:256],
        cause=happening.cause[:MAX_MESSAGE],
        message=happening.message[:MAX_MESSAGE],
    )
