"""Notifications of a rollout whose controller is killed and started again, with the rights of its role."""

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.simulation.rollout.kit import ACCOUNT, NAMESPACE, RBAC, rollouts
from uniteddeployment_rollout.notifications import sender
from uniteddeployment_rollout.notifications.outbox import Outcome

EVENTS = ["Started", "Paused", "Completed"]
SOURCE = {"secretKeyRef": {"name": "chat"}}
URL = "https://chat.example/T0P-5ECRET"


class Receiver:
    """What is sent. While it is not open, requests have no answer."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def post(self, _web: object, url: str, content: bytes, headers: dict[str, str]) -> Outcome:
        assert url == URL
        self.sent.append((json.loads(content)["event"], headers["Idempotency-Key"].rpartition("-")[2]))
        await self.open.wait()
        return Outcome()


def grant(w: Any) -> None:
    """The Secret with the URL, and the Role of docs/rollouts.md."""
    name = {"metadata": {"name": "chat"}}
    secret = {**name, "data": {"url": base64.b64encode(URL.encode()).decode()}}
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["chat"], "verbs": ["get"]}]
    binding = {
        **name,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "chat"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }
    w.request(w.host, "POST", "/api/v1/namespaces/default/secrets", secret)
    w.request(w.host, "POST", f"{RBAC}/namespaces/default/roles", {**name, "rules": rules})
    w.request(w.host, "POST", f"{RBAC}/namespaces/default/rolebindings", binding)


async def test_notifications_are_delivered_once_and_again_only_if_the_controller_was_killed_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver = Receiver()
    monkeypatch.setattr(sender, "post", receiver.post)
    async with rollouts(create=False) as kit:
        grant(kit.world)
        kit.create(notifications=[{"name": "chat", "events": EVENTS, "urlFrom": SOURCE}])
        await kit.phase("Healthy")
        kit.release("app:2")
        await kit.phase("Paused", 1)
        await kit.world.until(lambda: not kit.status.get("notifications"), what="delivery")
        assert receiver.sent == [("Started", "1"), ("Paused", "2")]
        kit.kill()
        kit.start()
        receiver.open.clear()
        kit.give("approve")
        await kit.phase("Paused", 2)
        await kit.world.until(lambda: len(receiver.sent) == 3, what="the next notification")
        kit.kill()
        kit.start()
        await kit.world.until(lambda: len(receiver.sent) == 4, what="the repetition")
        receiver.open.set()
        await kit.world.until(lambda: not kit.status.get("notifications"), what="delivery")
        assert receiver.sent[2:] == [("Paused", "3")] * 2
        kit.give("approve")
        await kit.phase("Healthy")
        await kit.world.until(lambda: not kit.status.get("notifications"), what="delivery")
        assert receiver.sent[4:] == [("Completed", "4")]
        assert "T0P-5ECRET" not in str(kit.status)
