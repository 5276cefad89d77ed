"""Scenario 51 over real controllers, API servers and workloads, in virtual time, with a process that may be killed.

The pure state machine (tests/unit/rollout/machine.py) tries many more histories over a model of a UnitedDeployment.
These check that the model promises nothing that the real thing does not keep. The benchmark ``rollouts`` plays more.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.simulation.rollout.history import play


@pytest.mark.parametrize("seed", [0, 2])
async def test_51_the_invariants_hold_at_each_write_of_anybody(seed: int) -> None:
    broken, story = await play(seed)
    assert not broken, story


DEFECTS = {
    "one pod more than the budget is down": ("budget", "limit", lambda limit: lambda *args: limit(*args) + 1, 2),
    "partitions are lowered although something holds the run": ("advance", "holds", lambda _: lambda *_: iter(()), 2),
}


@pytest.mark.parametrize(("owner", "attribute", "put", "seed"), DEFECTS.values(), ids=DEFECTS)
async def test_51_a_seed_of_the_suite_finds_a_defect(
    owner: str, attribute: str, put: Callable[..., Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"uniteddeployment_rollout.{owner}")
    monkeypatch.setattr(module, attribute, put(getattr(module, attribute)))
    broken, _ = await play(seed)
    assert broken
