"""Virtual time: minutes of three clusters take a moment, and the same seed writes the same history, byte by byte."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.embedded_story import Told, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def told() -> Told:
    return run("1")


def test_minutes_of_three_clusters_take_a_moment() -> None:
    began = time.perf_counter()
    told = run("1")
    took = time.perf_counter() - began
    assert told.seconds > 10 * 60
    # The bound is far from what it takes: only a run that really waits for something is slower.
    assert took < told.seconds / 50


def test_two_runs_from_one_seed_write_the_same_history(told: Told) -> None:
    """I2."""
    again = run("1")
    assert again.history == told.history


def test_another_seed_is_another_history(told: Told) -> None:
    assert run("2").digest != told.digest


def test_the_history_does_not_depend_on_the_process(told: Told) -> None:
    """I2: nothing is decided by the order of a set or by an address in memory."""

    def elsewhere(hash_seed: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.simulation.embedded_story", "1"]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        found = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
        summary: dict[str, Any] = json.loads(found.stdout)
        return summary

    expected = {"digest": told.digest, "writes": len(told.history), "seconds": round(told.seconds)}
    assert elsewhere("1") == expected
    assert elsewhere("2") == expected
