"""Virtual time: the same seed yields the same history, byte for byte."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.simulation.story import Outcome, run

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run("1")


def test_the_scenario_covers_minutes_of_three_clusters(outcome: Outcome) -> None:
    """A short scenario would prove little about the two tests below. The timeout fails a scenario that really waits."""
    assert outcome.seconds > 10 * 60


def test_two_runs_from_one_seed_write_the_same_history(outcome: Outcome) -> None:
    """The history depends on the seed only (I2)."""
    again = run("1")
    assert again.history == outcome.history


def test_another_seed_is_another_history(outcome: Outcome) -> None:
    assert run("2").digest != outcome.digest


def test_the_history_does_not_depend_on_the_process(outcome: Outcome) -> None:
    """Nothing depends on the order of a set or on memory addresses (I2)."""

    def elsewhere(hash_seed: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.embedded.simulation.story", "1"]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        result = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
        summary: dict[str, Any] = json.loads(result.stdout)
        return summary

    expected = {"digest": outcome.digest, "writes": len(outcome.history), "seconds": round(outcome.seconds)}
    assert elsewhere("1") == expected
    assert elsewhere("2") == expected
