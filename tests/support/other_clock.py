"""A process of ``ud embedded`` whose clock is wrong. See ``ENTRY`` in ``preloaded``."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest import mock

from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.main import main as ud
from uniteddeployment.embedded.clock import LoopClock

ANOTHER_CLOCK = "tests.support.other_clock:main"
AHEAD = "UD_TESTS_CLOCK_AHEAD"
"""Environment variable: by how many seconds the clock is ahead."""


def main() -> None:
    """Run ``ud``."""
    epoch = datetime.now(UTC) + timedelta(seconds=float(os.environ[AHEAD]))
    with mock.patch.object(embedded, "LoopClock", partial(LoopClock, epoch=epoch)):
        ud()
