"""Decides the phase of a member from the answers to its probes. Pure.

Two notions must not be mixed. The *reach* of a member says whether it can be read and written now, and changes at once.
Its *phase* says whether it is fit to hold replicas, and follows thresholds. They count from times that are stored in
the status of the Cluster, so that a restart of the controller neither forgets nor changes anything. All times are those
of the controller; the clock of a member is never compared.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

UNREACHABLE: Final = "Unreachable"
"""It does not answer."""
UNAUTHORIZED: Final = "Unauthorized"
"""It answers 401 or 403."""
NOT_HEALTHY: Final = "NotHealthy"
"""It answers with errors of its own."""
NO_READY_NODES: Final = "NoReadyNodes"
"""It answers, and has no schedulable node that is ready."""
NOT_READABLE: Final = "NotReadable"
"""Its answers, or the events of its watches, cannot be understood."""
INVALID_CREDENTIALS: Final = "InvalidCredentials"
"""The Secret is missing, or cannot be used."""
RECOVERING: Final = "Recovering"
"""It answers again, and is not Running yet."""
INTERNAL_ERROR: Final = "InternalError"
"""An error of the controller itself."""

FAILED_PROBES: Final = 2
"""How many probes in a row have to fail before anything follows from it."""
SETTLED_AFTER: Final = timedelta(seconds=30)
"""How long a Running member has to answer until its earlier failures no longer count."""
MOST_OUTAGES: Final = 30
"""The number of outages stops growing here; the pause has reached its maximum long before."""


class Phase(StrEnum):
    """The phase of a member, as in the state diagram of the Ubernetes design."""

    PENDING = "Pending"
    RUNNING = "Running"
    OFFLINE = "Offline"
    TERMINATED = "Terminated"


class Sign(StrEnum):
    """The latest fact about a member."""

    ANSWERS = "answers"
    FAILS = "fails"
    REPLACED = "is replaced"
    """Another cluster answers at its address."""
    SUSPENDED = "is suspended"
    REFUSED = "is refused"
    """The Cluster cannot be used: it represents the host, or another Cluster is used for the same cluster."""
    DELETED = "is deleted"


@dataclass(frozen=True, slots=True)
class Settings:
    """``spec.health`` of a Cluster."""

    offline_after: timedelta = timedelta(seconds=25)
    recover_after: timedelta = timedelta(seconds=60)
    max_recover_after: timedelta = timedelta(minutes=10)
    stable_after: timedelta = timedelta(minutes=10)

    def recovery(self, outages: int) -> timedelta:
        """How long a member that was Offline has to answer until it is Running. Each further outage doubles the
        time."""
        longest = max(self.recover_after, self.max_recover_after)
        return min(self.recover_after * (1 << max(outages - 1, 0)), longest)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a probe failed."""

    reason: str
    """One of the reasons above, or one that the connection gives."""
    detail: str
    """For people."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of one member by this process, summed up."""

    trouble: Trouble | None = None
    """Why the last probe failed; None if it was answered."""
    failures: int = 0
    """How many failed in a row."""
    failing_since: datetime | None = None
    last_answer: datetime | None = None
    """When the last good answer came."""

    def answered(self, now: datetime) -> "Probes":
        """Add a good answer."""
        return Probes(last_answer=now)

    def failed(self, trouble: Trouble, began: datetime, *, longest_gap: timedelta) -> "Probes":
        """Add a failed probe that was sent at ``began``.

        The member may have failed right after its last good answer. An answer that is older than ``longest_gap`` does
        not count: this process itself was suspended, or had no network.
        """
        since = self.failing_since or began
        if not self.failures and self.last_answer is not None and began - self.last_answer <= longest_gap:
            since = self.last_answer
        return Probes(trouble, self.failures + 1, since, self.last_answer)


@dataclass(frozen=True, slots=True)
class Record:
    """The health of a member, as its status stores it."""

    phase: Phase = Phase.PENDING
    since: datetime | None = None
    """When the phase began."""
    reason: str = ""
    """Why it fails, or why it was Offline until it recovers; empty if it is well."""
    failing_since: datetime | None = None
    answering_since: datetime | None = None
    """Since when it answers again; None while it fails, and when its failures no longer count."""
    outages: int = 0
    """How often in a row it was Offline without a stable time in between."""

    @property
    def recovering(self) -> bool:
        """Whether it is Offline, and answers again."""
        return self.phase is Phase.OFFLINE and self.answering_since is not None

    def moved(self, phase: Phase, now: datetime) -> "Record":
        """Return the record of another phase, which begins now."""
        return self if phase is self.phase else Record(phase, now, outages=self.outages)


def judge(record: Record, settings: Settings, sign: Sign, probes: Probes, now: datetime) -> Record:
    """Return the record that follows from the latest sign and the probes."""
    record = _not_in_the_future(record, now)
    if record.phase is Phase.TERMINATED or sign is Sign.DELETED:
        return record.moved(Phase.TERMINATED, now)
    if sign in (Sign.SUSPENDED, Sign.REFUSED):
        return replace(record.moved(Phase.PENDING, now), outages=0)
    reason = probes.trouble.reason if probes.trouble is not None else ""
    if record.phase is Phase.PENDING:
        return record.moved(Phase.RUNNING, now) if sign is Sign.ANSWERS else replace(record, reason=reason)
    if sign is Sign.ANSWERS:
        return _answers(record, settings, now)
    if record.phase is Phase.OFFLINE:
        return replace(record, reason=reason, answering_since=None)
    return _fails(record, settings, sign, probes, now)


def due(record: Record, settings: Settings) -> datetime | None:
    """Return when to judge again if nothing else happens; None if time alone changes nothing."""
    if record.answering_since is not None:
        offline = record.phase is Phase.OFFLINE
        return record.answering_since + (settings.recovery(record.outages) if offline else SETTLED_AFTER)
    if record.phase is Phase.RUNNING and record.failing_since is not None:
        return record.failing_since + settings.offline_after
    return None


def _answers(record: Record, settings: Settings, now: datetime) -> Record:
    """It answers: damp the way back, so that a member that comes and goes is not Running each time."""
    if record.phase is Phase.RUNNING and record.failing_since is None:
        return record
    since = record.answering_since or now
    record = replace(record, answering_since=since)
    if record.phase is Phase.OFFLINE:
        return record.moved(Phase.RUNNING, now) if now - since >= settings.recovery(record.outages) else record
    if now - since < SETTLED_AFTER:
        return record
    return Record(record.phase, record.since, outages=record.outages)


def _fails(record: Record, settings: Settings, sign: Sign, probes: Probes, now: datetime) -> Record:
    """It is Running and fails: one failed probe changes nothing, and further ones only after a threshold."""
    if record.failing_since is None and probes.failures < FAILED_PROBES and sign is not Sign.REPLACED:
        return record
    reason = probes.trouble.reason if probes.trouble is not None else record.reason
    since = record.failing_since or probes.failing_since or now
    failing = replace(record, reason=reason, failing_since=since, answering_since=None)
    certain = sign is Sign.REPLACED or (probes.failures >= FAILED_PROBES and now - since >= settings.offline_after)
    if not certain:
        return failing
    stable = record.since is None or now - record.since >= settings.stable_after
    outages = 1 if stable else min(record.outages + 1, MOST_OUTAGES)
    return Record(Phase.OFFLINE, now, reason, since, outages=outages)


def _not_in_the_future(record: Record, now: datetime) -> Record:
    """Limit the stored times to now, in case the clock of the controller was set back."""
    times = {
        name: min(time, now)
        for name in ("since", "failing_since", "answering_since")
        if (time := getattr(record, name)) is not None and time > now
    }
    return replace(record, **times) if times else record
