"""When a controller process is ready: it can do its part now, or take over when it is its turn."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from uniteddeployment.controller.health import Health


def controller(*, synced: bool) -> Any:
    event = asyncio.Event()
    if synced:
        event.set()
    return SimpleNamespace(synced=event)


def elector(*, leads: bool, problem: str = "") -> Any:
    return SimpleNamespace(is_leader=leads, problem=problem)


@pytest.mark.parametrize(
    ("candidate", "synced", "reason"),
    [
        (elector(leads=False), False, ""),
        (elector(leads=False, problem="the Lease is refused"), False, "the Lease is refused"),
        (elector(leads=True, problem="the Lease is refused"), True, "the Lease is refused"),
        (elector(leads=True), False, "the caches are not in sync yet"),
        (elector(leads=True), True, ""),
        (None, False, "the caches are not in sync yet"),
        (None, True, ""),
    ],
)
def test_standing_by_is_ready_and_being_refused_the_lease_is_not(candidate: Any, synced: bool, reason: str) -> None:
    """All replicas serve webhooks; one that could never lead is not counted on."""
    health = Health(controller(synced=synced), candidate, expects_webhooks=False)
    assert health.not_ready() == reason
    assert health.dead() == ""


def test_a_replica_that_does_not_serve_its_webhooks_is_not_ready_and_restarts_when_they_ended() -> None:
    """Otherwise a Service sends API servers to a port that nobody answers."""
    health = Health(controller(synced=True), None, expects_webhooks=True)
    assert health.not_ready() == "the webhooks are not served yet"
    health.webhooks = SimpleNamespace(ended="", problem="the certificate expired")
    assert (health.not_ready(), health.dead()) == ("the certificate expired", "")
    health.webhooks = SimpleNamespace(ended="they ended", problem="they ended")
    assert (health.not_ready(), health.dead()) == ("they ended", "they ended")
    health.webhooks = SimpleNamespace(ended="", problem="")
    assert health.not_ready() == ""
