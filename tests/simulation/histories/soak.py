"""``make soak``: thousands of random histories. What breaks an invariant is shrunk and printed as a story.

The seed alone gives the long story again: ``make soak FIRST=SEED SEEDS=1``, with ``FAULTS=1`` if it was given before.
"""

import argparse
import gc
import sys
import time
from functools import partial
from multiprocessing import get_context

from tests.simulation.histories.losses import Figures
from tests.simulation.histories.verdict import judge

SHRINK_SECONDS = 300.0
PROGRESS_SECONDS = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1000, help="the first seed (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=4000, help="how many (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="how many processes (default: %(default)s)")
    parser.add_argument("--faults", action="store_true", help="only stories about faults of members")
    options = parser.parse_args()
    return soak(range(options.first, options.first + options.seeds), options.workers, faults=options.faults)


def soak(seeds: range, workers: int, *, faults: bool) -> int:
    """Play the stories of seeds and print each breach and the progress. Return 1 if there was a breach, else 0.

    With ``faults``, each story is about a fault of members, and figures of all failovers are printed in the end.
    """
    started = shown = time.monotonic()
    breaches = 0
    figures = Figures()
    with get_context("spawn").Pool(workers, initializer=_keep_what_is_imported) as pool:
        judged = pool.imap_unordered(partial(judge, shrink_seconds=SHRINK_SECONDS, faults=faults), seeds)
        for count, verdict in enumerate(judged, start=1):
            figures.add(verdict.figures)
            if verdict.rule:
                breaches += 1
                sys.stdout.write(f"\n{verdict}\n\n")
            now = time.monotonic()
            if now - shown > PROGRESS_SECONDS or count == len(seeds):
                shown = now
                rate = count / (now - started)
                sys.stdout.write(f"{count} of {len(seeds)} histories, {breaches} broken, {rate:.1f} a second\n")
            sys.stdout.flush()
    if faults:
        sys.stdout.write(f"{figures}\n")
    return 1 if breaches else 0


def _keep_what_is_imported() -> None:
    """Look for garbage in what stories make, and rarely."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


if __name__ == "__main__":
    sys.exit(main())
