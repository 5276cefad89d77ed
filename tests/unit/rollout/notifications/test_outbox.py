"""Notifications in the status of a rollout: what is added, tried again and given up, and in which words."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.rollout.fleet import Controller, Fleet, stored_again
from uniteddeployment_api.notification_texts import DEFAULT, InvalidTemplate, check, filled
from uniteddeployment_api.v1alpha1.notifications import MAX_PENDING
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout
from uniteddeployment_rollout import advance
from uniteddeployment_rollout.decision import Decision
from uniteddeployment_rollout.notifications.outbox import RETRY_SECONDS, Outcome, due, notified

ALL = ["Started", "StepCompleted", "Paused", "Degraded", "RollingBack", "RolledBack", "Completed", "Superseded"]
CHAT = {"name": "chat", "events": ALL, "url": "https://chat.example/hook"}
STEPS = [{"replicas": 1, "pause": {}}, {"replicas": "50%"}, {"replicas": "100%", "pause": {}}]


class Notifying(Controller):
    """A controller whose decisions pass through the outbox. ``deliver`` is the result of each attempt."""

    def __init__(self, fleet: Fleet, **spec: Any) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self.sent: list[Any] = []
        super().__init__(fleet, **({"steps": STEPS, "notifications": [CHAT]} | spec))

    def decide(self) -> Decision:
        decision = advance(self.rollout, self.fleet.target(), self.now)
        outcomes, self.outcomes = self.outcomes, {}
        decision = notified(decision, self.rollout, outcomes, self.now)
        again = notified(
            advance(stored_again(self.rollout, decision), self.fleet.target(), self.now),
            stored_again(self.rollout, decision),
            {},
            self.now,
        )
        assert again.status == decision.status, "what is stored leads to the same decision, and to nothing new"
        return decision

    def deliver(self, outcome: Outcome | None = None) -> list[str]:
        """Attempt what is due, and record the results with the next pass."""
        entries = due(self.status, self.now)
        self.sent += [(entry.event, entry.message) for entry in entries]
        self.outcomes = {entry.id: outcome or Outcome() for entry in entries}
        self.settle()
        return [entry.event for entry in entries]


def made(**spec: Any) -> tuple[Fleet, Notifying]:
    fleet = Fleet({"a": 4, "b": 2, "c": 2})
    return fleet, Notifying(fleet, **spec)


def test_everything_that_happens_in_a_run_is_stored_once_in_its_order() -> None:
    fleet, controller = made()
    fleet.release("v2")
    controller.settle()
    assert controller.deliver() == ["Started", "Paused"]
    assert controller.deliver() == []
    controller.approve()
    assert controller.deliver() == ["StepCompleted", "StepCompleted", "Paused"]
    controller.approve()
    assert controller.deliver() == ["Completed"]
    assert controller.sent == [
        ("Started", "v1 to v2 in 3 steps"),
        ("Paused", "step 1 of 3: waits for approval"),
        ("StepCompleted", "step 1 of 3 is complete: 1 of 8 pods are updated"),
        ("StepCompleted", "step 2 of 3 is complete: 4 of 8 pods are updated"),
        ("Paused", "step 3 of 3: waits for approval"),
        ("Completed", "all 8 pods run v2"),
    ]
    assert controller.status.notification_count == 6


def test_failures_rollbacks_and_superseded_runs_are_notified_with_their_reasons() -> None:
    fleet, controller = made()
    fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    controller.wait(3600)
    assert controller.deliver() == ["Started", "Degraded"]
    assert "a: ImagePullBackOff: 1" in controller.sent[-1][1]
    fleet.release("v3")
    controller.settle()
    assert controller.deliver()[:2] == ["Superseded", "Started"]
    controller.give("1", "abort")
    controller.settle()
    assert controller.deliver() == ["RollingBack", "RolledBack"]
    assert controller.sent[-2:] == [
        ("RollingBack", "the run was aborted"),
        ("RolledBack", "all 8 pods run v1 again: Aborted"),
    ]


def test_each_notification_gets_only_what_it_asks_for_and_one_that_was_removed_nothing() -> None:
    only = {**CHAT, "name": "only", "events": ["Paused"]}
    fleet, controller = made(notifications=[only, {**CHAT, "name": "both", "events": ["Started", "Paused"]}])
    fleet.release("v2")
    controller.settle()
    entries = [(entry.name, entry.event, entry.id) for entry in controller.status.notifications]
    assert entries == [("both", "Started", 1), ("only", "Paused", 2), ("both", "Paused", 3)]
    controller.edit(notifications=[only])
    controller.settle()
    assert [entry.name for entry in controller.status.notifications] == ["only"]


def test_a_failed_attempt_is_repeated_a_limited_number_of_times_at_growing_intervals() -> None:
    fleet, controller = made(notifications=[{**CHAT, "events": ["Paused"]}])
    fleet.release("v2")
    controller.settle()
    for seconds in RETRY_SECONDS:
        assert controller.deliver(Outcome("HTTP 503")) == ["Paused"]
        assert controller.decide().requeue_after == seconds
        controller.wait(seconds - 1)
        assert controller.deliver() == []
        controller.wait(1)
    assert controller.deliver(Outcome("HTTP 503")) == ["Paused"]
    assert controller.status.notifications == ()
    last = controller.events[-1]
    assert (last.reason, last.type) == ("NotificationFailed", "Warning")
    assert last.message == "notification chat of Paused was not delivered: HTTP 503"


def test_a_permanent_failure_is_not_repeated() -> None:
    fleet, controller = made(notifications=[{**CHAT, "events": ["Paused"]}])
    fleet.release("v2")
    controller.settle()
    controller.deliver(Outcome("HTTP 404", permanent=True))
    assert controller.status.notifications == ()
    assert controller.reasons()[-1] == "NotificationFailed"


def test_the_number_of_waiting_notifications_is_limited() -> None:
    """The status has a limited size (I16)."""
    fleet, controller = made()
    for number in range(MAX_PENDING):
        fleet.release(f"v{number + 2}")
        controller.settle()
    assert len(controller.status.notifications) == MAX_PENDING
    assert controller.status.notifications[-1].id == controller.status.notification_count
    failed = next(event for event in controller.events if event.reason == "NotificationFailed")
    assert "more than 32 notifications wait" in failed.message


def test_a_retry_does_not_delay_a_decision_that_is_due_earlier() -> None:
    fleet, controller = made(steps=[{"replicas": 1, "pause": {"duration": "3s"}}])
    fleet.release("v2")
    controller.settle()
    controller.deliver(Outcome("HTTP 503"))
    assert controller.decide().requeue_after == 3
    decision = replace(controller.decide(), requeue_after=None)
    later = controller.now + timedelta(seconds=60)
    assert notified(decision, controller.rollout, {}, later).requeue_after == 0


HOSTILE = '"}, {"text": "<!channel> \\\n\u2028'


def test_values_cannot_change_the_structure_of_a_body() -> None:
    values = dict.fromkeys(("namespace", "name", "message"), HOSTILE)
    template = '{"text": "$$ ${namespace}/${name}: ${message}", "step": ${step}}'
    document = json.loads(filled(template, {**values, "step": 3}))
    assert document == {"text": f"$ {HOSTILE}/{HOSTILE}: {HOSTILE}", "step": 3}


def test_a_value_that_looks_like_a_variable_stays_as_it_is() -> None:
    assert json.loads(filled('"${message}"', {"message": "${name} $$"})) == "${name} $$"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("text", "must be JSON"),
        ('{"text": ${message}}', "with texts in quotes (Expecting value: line 1, column 10)"),
        ('{"text": "${user.name}"}', "character 11: write $$"),
        ('{"text": "$name"}', "character 11: write $$"),
        ('{"text": "${password}"}', "there is no variable password; use namespace, "),
        ("[" * 5000, "is nested too deeply"),
    ],
)
def test_a_template_that_cannot_work_is_refused_with_the_reason(template: str, message: str) -> None:
    with pytest.raises(InvalidTemplate, match=re.escape(message)):
        check(template)


def test_the_default_body_has_every_variable() -> None:
    check(DEFAULT)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"events": []}, "spec.notifications[0].events"),
        ({"events": ["Paused", "Paused"]}, "spec.notifications[0].events"),
        ({"url": None}, "spec.notifications[0].url"),
        ({"urlFrom": {"secretKeyRef": {"name": "chat"}}}, "spec.notifications[0].url"),
        ({"template": "{"}, "spec.notifications[0].template"),
    ],
)
def test_a_notification_that_cannot_work_is_refused(change: dict[str, Any], path: str) -> None:
    spec = {"targetRef": {"name": "web"}, "steps": STEPS, "notifications": [{**CHAT, **change}]}
    errors = validate_united_rollout(parse_united_rollout({"metadata": {"name": "web"}, "spec": spec}))
    assert [error.path for error in errors] == [path]


def test_names_of_notifications_are_unique() -> None:
    spec = {"targetRef": {"name": "web"}, "steps": STEPS, "notifications": [CHAT, CHAT]}
    errors = validate_united_rollout(parse_united_rollout({"metadata": {"name": "web"}, "spec": spec}))
    assert [error.path for error in errors] == ["spec.notifications[1].name"]
