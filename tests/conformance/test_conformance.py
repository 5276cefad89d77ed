"""Replays recordings of a real cluster against the embedded one, with the recordings' own replayers.

``known_differences.yaml`` lists the cases that differ, with reasons. A case that fails must be listed there, and a case
that passes must not.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support.control_planes import ControlPlane
from tests.support.kubectl import kubectl_136
from tests.support.processes import ud

TOKEN = "conformance"
RECORDINGS = Path(__file__).parent / "recordings"
KNOWN = yaml.safe_load((Path(__file__).parent / "known_differences.yaml").read_text())
SECONDS = 300
PATIENCE = "3"
"""Factor for timeouts, for busy machines; the comparison does not change."""

pytestmark = [pytest.mark.xdist_group("conformance"), pytest.mark.timeout(SECONDS)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The cluster that the recordings expect."""
    folder = tmp_path_factory.mktemp("conformance")
    file = folder / "kubeconfig"
    with ud("embedded", "--token", TOKEN, "--kubeconfig", str(file), log=folder / "log") as process:
        process.wait_for("export KUBECONFIG")
        yield ControlPlane("conformance", yaml.safe_load(file.read_text()), process)


@dataclass(frozen=True)
class Replay:
    """The result of a replayer."""

    passed: int
    failed: frozenset[str]
    text: str


def replay(cluster: ControlPlane, program: str, *options: str) -> Replay:
    command = [sys.executable, str(RECORDINGS / program), "--server", cluster.server, "--token", TOKEN, "--insecure"]
    command += ["--timeout-factor", PATIENCE, *options]
    # Write no files next to the recordings.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    summary = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    assert summary, done.stdout + done.stderr
    failed = frozenset(re.findall(r"^FAIL (\S+)", done.stdout, re.MULTILINE))
    assert len(failed) == int(summary[2])
    return Replay(int(summary[1]), failed, done.stdout)


def compare(result: Replay, known: dict[str, str]) -> None:
    new, fixed = result.failed - set(known), set(known) - result.failed
    assert not new, f"these cases fail and are not listed: {sorted(new)}\n{result.text}"
    assert not fixed, f"these cases pass; remove them from known_differences.yaml: {sorted(fixed)}"


def test_requests_are_answered_as_recorded(cluster: ControlPlane) -> None:
    """Compare including managedFields, then replay the failed cases without them."""
    strict = replay(cluster, "replay.py", "--managed-fields", "-j", "8")
    compare(strict, KNOWN["managedFields"])
    assert strict.passed >= 0.95 * (strict.passed + len(strict.failed))
    assert set(KNOWN["requests"]) <= set(KNOWN["managedFields"]), (
        "a case that differs without managedFields must differ with them too"
    )
    if strict.failed:
        cases = [option for case in sorted(strict.failed) for option in ("--cases", case)]
        compare(replay(cluster, "replay.py", *cases), KNOWN["requests"])


def test_kubectl_shows_what_was_recorded(cluster: ControlPlane) -> None:
    compare(replay(cluster, "kubectl_replay.py", "--kubectl", kubectl_136(), "-j", "4"), KNOWN["kubectl"])


@pytest.mark.parametrize("kind", ["requests", "managedFields", "kubectl"])
def test_every_known_difference_has_its_reason(kind: str) -> None:
    assert all(isinstance(reason, str) and len(reason) > 20 for reason in KNOWN[kind].values())
