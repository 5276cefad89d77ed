"""Which of many similar stories are played: a few of each by ``make test``, and every one by ``make stories``."""

import os
from collections.abc import Sequence
from typing import TypeVar

EVERY = os.environ.get("STORIES") == "all"

T = TypeVar("T")


def some(every: Sequence[T], chosen: Sequence[T]) -> Sequence[T]:
    """Those that are chosen for ``make test``, or every one. Raises ValueError if one is chosen that does not exist."""
    if strange := [one for one in chosen if one not in every]:
        raise ValueError(f"not among {every}: {strange}")
    return every if EVERY else chosen
