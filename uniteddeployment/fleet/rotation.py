"""When the token of a member is replaced. Pure."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from uniteddeployment.fleet.account import Lifetime

FIRST, LAST = 0.6, 0.8
"""A token is replaced after a part of its life that is between these and fixed for each Cluster, so that the tokens of
members that were registered together are not all replaced at once."""
RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
RETRY_PART = 0.05
"""The pause after failures is at most this part of the life of the token."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a token by the clock of this process, which may differ from that of the member."""

    due: datetime
    """When it is replaced."""
    expires: datetime
    life: timedelta

    def retry_after(self, failures: int) -> timedelta:
        """The pause after so many failures in a row, at least one."""
        longest = min(LONGEST_RETRY, self.life * RETRY_PART)
        doubled: int = 2 ** min(failures - 1, 16)
        return min(RETRY * doubled, longest)


def schedule(life: Lifetime, issued: datetime | None, uid: str) -> Schedule:
    """The times of a token of the Cluster with this uid.

    ``issued`` is when it was issued by the clock of this process; None if that is not known: then the clocks of the
    member and of this process are taken to agree.
    """
    begin, length = issued or life.issued, timedelta(seconds=life.seconds)
    part = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8]) / 2**64
    return Schedule(begin + length * (FIRST + (LAST - FIRST) * part), begin + length, length)
