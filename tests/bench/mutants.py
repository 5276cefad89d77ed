"""The share of small mutations of the code that a test notices, from a random sample; all of them take hours.

mutmut makes the mutants. The unit tests that reach the mutated function are run against each of them, and simulations
and tests of the webhooks against those that survive. A mutant is killed if a test fails, or takes far more CPU time
than without the mutation. Survivors are listed with the command to show them. Statements that log are not mutated: no
test reads the log.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
MUTANTS = ROOT / "mutants"
ROOMS = ("planning", "controller", "fleet")
UNIT_TESTS = (
    *(f"tests/unit/{room}" for room in ROOMS),
    "tests/unit/rollout/gates/test_admission.py",  # queries, which are the controller's
    "tests/unit/test_docstring_examples.py",
)
SIMULATIONS = tuple(
    f"tests/simulation/test_{name}.py"
    for name in (
        "main_job", "trouble", "partitions", "removing", "reachability", "restarts", "recreating", "taking_over",
        "member_health", "failover", "cluster_status", "leaving", "permission", "room", "tokens",
        "cluster_profiles",
    )
)  # fmt: skip
"""Those that notice most: stories of applications, and stories of the fleet."""
WEBHOOKS = ("tests/integration/controller/test_admission.py",)
"""Their server runs in a thread, and no simulation has one."""


def main() -> None:
    """Sample, run, print. Ends with 1 if fewer than ``--at-least`` percent were killed."""
    options = _options()
    _run([sys.executable, "-m", "tests.bench.mutations.make"], ROOT)
    drawn = _draw(_names(), options.sample, options.seed)
    killed = _killed(drawn, UNIT_TESTS, options.workers)
    _print_figures("killed by unit tests", drawn, killed, options.seed)
    if options.simulations:
        killed |= _killed([name for name in drawn if name not in killed], (*SIMULATIONS, *WEBHOOKS), options.workers)
        _print_figures("killed by unit tests, simulations or tests of the webhooks", drawn, killed, options.seed)
    for name in sorted(set(drawn) - killed):
        print(f"survived: python -m mutmut show {name}")
    sys.exit(0 if len(killed) * 100 >= options.at_least * len(drawn) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants to test")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--workers", type=int, default=2, help="how many are tested side by side")
    parser.add_argument("--at-least", type=float, default=90.0, help="percent to kill, else the exit code is 1")
    parser.add_argument("--simulations", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


def _run(command: list[str], directory: Path, **environment: str) -> None:
    if code := subprocess.run(command, cwd=directory, env=os.environ | environment, check=False).returncode:
        sys.exit(f"{' '.join(command)} ended with {code}")


def _names() -> list[str]:
    """The names of all mutants."""
    return [name for path in MUTANTS.rglob("*.py.meta") for name in json.loads(path.read_text())["exit_code_by_key"]]


def _draw(names: Iterable[str], count: int, seed: int) -> list[str]:
    known = sorted(names)
    return random.Random(seed).sample(known, min(count, len(known)))


def _killed(mutants: Collection[str], tests: Iterable[str], workers: int) -> set[str]:
    """The mutants that tests notice. The tests run with mutmut's copy of the code, and of the packages beside it."""
    if not mutants:
        return set()
    with tempfile.TemporaryDirectory() as directory:
        task, verdicts = Path(directory, "task"), Path(directory, "verdicts")
        task.write_text(json.dumps(list(mutants)))
        command = [sys.executable, "-m", "tests.bench.mutations.trial", str(task), str(verdicts), str(workers), *tests]
        _run(command, MUTANTS, PYTHONPATH=os.pathsep.join(str(MUTANTS / part) for part in ("", "api", "rollout")))
        noticed: dict[str, str] = json.loads(verdicts.read_text())
        return {name for name, by in noticed.items() if by}


def _print_figures(title: str, drawn: Collection[str], killed: Collection[str], seed: int) -> None:
    """Print the share, and the figure of each room."""
    share = len(killed) / len(drawn)
    margin = 1.96 * math.sqrt(share * (1 - share) / len(drawn))
    print(f"{title}: {len(killed)} of {len(drawn)} = {share:.1%} (95 % interval: ±{margin:.1%}; seed {seed})")
    for room in ROOMS:
        mutants = [name for name in drawn if name.split(".")[1] == room]
        print(f"  {room}: {sum(name in killed for name in mutants)} of {len(mutants)}", flush=True)


if __name__ == "__main__":
    main()
