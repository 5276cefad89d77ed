"""The role of the rollout controller: no rule is missing and none is unused.

In every simulation of a rollout, a request that the role does not allow fails the test. The story here does everything
that the controller can do, so each rule has to be used by it.
"""

import asyncio
from typing import Any

import pytest
import yaml

from tests.simulation.rollout import kit as kits
from tests.simulation.rollout.kit import ACCOUNT, NAMESPACE, ROLES, rollouts
from tests.simulation.test_rights import Paging
from tests.support.inprocess import InProcessTransport
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.election import Elector
from uniteddeployment_rollout.loop import run


def allowed() -> set[tuple[str, str, str]]:
    """The rights of the role, as group, resource and verb."""
    return {
        (group, resource, verb)
        for role in yaml.safe_load_all(ROLES.read_text())
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


async def leads(w: Any) -> None:
    """What a process does beside the work of the controller: check the kinds, and hold the Lease."""
    token = w.token_of(w.host, NAMESPACE, ACCOUNT, 86400)
    client = Client(InProcessTransport(w.host, token, "host"), "host")
    await run._check(client)
    await Elector(client, NAMESPACE, run.LEASE, "one").run(lambda: asyncio.sleep(5))


async def test_each_right_is_used_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kits, "InProcessTransport", Paging)  # a server without streaming lists
    async with rollouts(subsets={"a": 2, "b": 1}, onFailure="Rollback", progressDeadline="1m") as kit:
        for number in range(2):  # the same Event again is written into the first one
            kit.give("resume", f"resume-{number}")
            await kit.world.until(lambda: not kit.status.get("commands"), what="an answer")
        kit.release("fail:2")
        await kit.world.until(lambda: kit.status.get("history"), what="the rollback")
        await leads(kit.world)
        await asyncio.sleep(5)
        assert sorted(kit.asked) == sorted(allowed())
