"""The embedded cluster against recordings of a real one: every case, by the recordings' own replayers.

What differs is data, with its reason (``known_differences.yaml``), and compared in both directions: a case that fails
has to be in it, and one that passes has to leave it.
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

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("conformance")]

TOKEN = "conformance"
RECORDINGS = Path(__file__).parent / "recordings"
KNOWN = yaml.safe_load((Path(__file__).parent / "known_differences.yaml").read_text())
SECONDS = 300
PATIENCE = "3"
"""A busy machine gets more time; what is compared does not change."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The cluster that the recordings ask for."""
    folder = tmp_path_factory.mktemp("conformance")
    file = folder / "kubeconfig"
    with ud("embedded", "--token", TOKEN, "--kubeconfig", str(file), log=folder / "log") as process:
        process.wait_for("export KUBECONFIG")
        yield ControlPlane("conformance", yaml.safe_load(file.read_text()), process)


@dataclass(frozen=True)
class Replay:
    """What a replayer said."""

    passed: int
    failed: frozenset[str]
    text: str


def replay(cluster: ControlPlane, program: str, *options: str) -> Replay:
    command = [sys.executable, str(RECORDINGS / program), "--server", cluster.server, "--token", TOKEN, "--insecure"]
    command += ["--timeout-factor", PATIENCE, *options]
    # Nothing is written beside the recordings.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    summary = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    assert summary, done.stdout + done.stderr
    failed = frozenset(re.findall(r"^FAIL (\S+)", done.stdout, re.MULTILINE))
    assert len(failed) == int(summary[2])
    return Replay(int(summary[1]), failed, done.stdout)


def compare(found: Replay, known: dict[str, str]) -> None:
    new, mended = found.failed - set(known), set(known) - found.failed
    assert not new, f"these cases fail and are not known to: {sorted(new)}\n{found.text}"
    assert not mended, f"these cases pass; take them out of known_differences.yaml: {sorted(mended)}"


def test_requests_are_answered_as_recorded(cluster: ControlPlane) -> None:
    """With managedFields, which is the stricter comparison; what fails it is tried again without."""
    strict = replay(cluster, "replay.py", "--managed-fields", "-j", "8")
    compare(strict, KNOWN["managedFields"])
    assert strict.passed >= 0.95 * (strict.passed + len(strict.failed))
    assert set(KNOWN["requests"]) <= set(KNOWN["managedFields"]), "what differs without managedFields differs with them"
    if strict.failed:
        cases = [option for case in sorted(strict.failed) for option in ("--cases", case)]
        compare(replay(cluster, "replay.py", *cases), KNOWN["requests"])


def test_kubectl_shows_what_was_recorded(cluster: ControlPlane) -> None:
    compare(replay(cluster, "kubectl_replay.py", "--kubectl", kubectl_136(), "-j", "4"), KNOWN["kubectl"])


@pytest.mark.parametrize("kind", ["requests", "managedFields", "kubectl"])
def test_every_known_difference_has_its_reason(kind: str) -> None:
    assert all(isinstance(reason, str) and len(reason) > 20 for reason in KNOWN[kind].values())
