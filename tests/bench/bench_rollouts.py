"""Random histories of rollouts: thousands over the pure model, and dozens over real controllers.

This runs only when it is named, because it takes many minutes.
"""

import os
import time
from functools import partial
from random import SystemRandom

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.simulation.rollout.history import play
from tests.support.virtual_time import simulate
from tests.unit.rollout.machine import Rollouts

ON_REQUEST = True
EXAMPLES = int(os.environ.get("UD_BENCH_EXAMPLES", "10000"))
HISTORIES = int(os.environ.get("UD_BENCH_HISTORIES", "48"))
SEEDS = 10**9


def run() -> list[tuple[str, str]]:
    """Raises AssertionError for the first history that breaks an invariant."""
    started = time.perf_counter()
    chosen = settings(
        max_examples=EXAMPLES,
        stateful_step_count=25,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    run_state_machine_as_test(Rollouts, settings=chosen)
    rows = [(f"{EXAMPLES} histories over the model: no invariant broken", f"{time.perf_counter() - started:.0f} s")]
    started, first = time.perf_counter(), SystemRandom().randrange(SEEDS)
    for seed in range(first, first + HISTORIES):
        broken, story = simulate(partial(play, seed))
        assert not broken, f"seed {seed}: {broken}: {story}"
    took = f"{time.perf_counter() - started:.0f} s"
    return [*rows, (f"{HISTORIES} histories over real controllers, from seed {first}: no invariant broken", took)]
