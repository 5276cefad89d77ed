"""The share of small mutations of the code that a test notices, from a random sample; all of them take hours.

mutmut makes the mutants and runs the unit tests that reach each one. Mutants that survive are then tried against
simulations. A mutant is killed if a test fails or runs out of time. Survivors are listed with the command to show them.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
MUTANTS = ROOT / "mutants"
ROOMS = ("planning", "controller", "fleet")
SIMULATIONS = ("main_job", "trouble", "partitions", "removing", "reachability", "restarts", "recreating", "taking_over")
"""Those that notice most, which together take about two minutes."""
_SMALLEST = "uniteddeployment.planning.ownership.*"
"""A first run generates every mutant and learns which tests reach which function; it has to test at least one."""
_KILLED = frozenset({1, 3, -24, 24, 36, 152, 255, 37})
"""mutmut's exit codes of mutants that a test failed on, that ran out of time, or that did not pass the type checker."""
_LONGEST_SECONDS = 900
"""A mutant with which the simulations take this long is noticed."""


def main() -> None:
    """Sample, run, print. Ends with 1 if fewer than ``--at-least`` percent were killed."""
    options = _options()
    _mutmut(_SMALLEST, quiet=True)
    drawn = _draw(_verdicts(), options.sample, options.seed)
    _mutmut(*drawn)
    verdicts = _verdicts()
    killed = {name for name in drawn if verdicts[name] in _KILLED}
    print(f"killed by unit tests: {len(killed)} of {len(drawn)}; the others are tried against simulations", flush=True)
    with ThreadPoolExecutor(options.workers) as pool:
        rest = [name for name in drawn if name not in killed]
        killed |= {name for name, noticed in zip(rest, pool.map(_simulations_notice, rest), strict=True) if noticed}
    _print_survivors(drawn, killed)
    share = len(killed) / len(drawn)
    margin = 1.96 * math.sqrt(share * (1 - share) / len(drawn))
    print(f"killed: {len(killed)} of {len(drawn)} = {share:.1%} (95 % interval: ±{margin:.1%}; seed {options.seed})")
    sys.exit(0 if share * 100 >= options.at_least else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants to test")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--workers", type=int, default=2, help="how many simulations run side by side")
    parser.add_argument("--at-least", type=float, default=90.0, help="percent to kill, else the exit code is 1")
    return parser.parse_args()


def _mutmut(*names: str, quiet: bool = False) -> None:
    command = [sys.executable, "-m", "mutmut", "run", *names]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL if quiet else None, check=False)
    if done.returncode:
        sys.exit(f"mutmut ended with {done.returncode}: run `python -m mutmut run {names[0]}` to see why")


def _verdicts() -> dict[str, int | None]:
    """Name of each mutant -> mutmut's exit code; None if it has not been tested."""
    found: dict[str, int | None] = {}
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        found |= json.loads(path.read_text())["exit_code_by_key"]
    return found


def _draw(names: Iterable[str], count: int, seed: int) -> list[str]:
    known = sorted(names)
    return random.Random(seed).sample(known, min(count, len(known)))


def _simulations_notice(mutant: str) -> bool:
    """Run simulations with one mutant until a test fails. mutmut's copy of the code is told which by a variable."""
    files = [f"tests/simulation/test_{name}.py" for name in SIMULATIONS]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "MUTANT_UNDER_TEST": mutant, "PYTHONPATH": str(MUTANTS)}
    try:
        done = subprocess.run(
            command, cwd=MUTANTS, env=environment, capture_output=True, check=False, timeout=_LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def _print_survivors(drawn: Collection[str], killed: Collection[str]) -> None:
    """Print each survivor with the command that shows it, and the figure of each room."""
    for name in sorted(set(drawn) - set(killed)):
        print(f"survived: python -m mutmut show {name}")
    for room in ROOMS:
        mutants = [name for name in drawn if name.split(".")[1] == room]
        print(f"{room}: {sum(name in killed for name in mutants)} of {len(mutants)}")


if __name__ == "__main__":
    main()
