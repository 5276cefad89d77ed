"""Follows the health of each Cluster: takes the outcome of probes, and judges again when a threshold is due."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from uniteddeployment.fleet import health, status, taints
from uniteddeployment.fleet.entry import REPLACED, Entry, Problem
from uniteddeployment.fleet.health import Record, Sign, Trouble
from uniteddeployment.planning.observed import Reach

LONGEST_GAP = timedelta(seconds=20)
"""The longest time from a good answer to the next probe, unless this process was suspended: the interval of the probes
and the time-out of one."""
SHORTEST_WAIT = 0.05
"""Seconds. The clock of the event loop may be a little ahead of the wall clock."""


class Tracker:
    """Keeps the record and the taints of each entry up to date. ``changed`` is called when one of them changes.

    ``fit_changed`` is called when the phase or the taints change, or a member that is Offline begins to
    recover, or no longer does. These decide what may run there.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        changed: Callable[[Entry], None],
        fit_changed: Callable[[Entry, Record], None],
    ) -> None:
        self._now = now
        self._changed = changed
        self._fit_changed = fit_changed

    def begin(self, entry: Entry, former: Entry | None) -> None:
        """Start from the former entry of the same Cluster, or from its stored status."""
        if former is not None:
            self.stop(former)
            entry.record, entry.taints = former.record, former.taints
        else:
            entry.record = status.record(entry.cluster.status)
            entry.taints = taints.stored(entry.cluster.status)
        self.refresh(entry)

    def answered(self, entry: Entry) -> None:
        """A probe was answered well."""
        entry.probes = entry.probes.answered(self._now())
        self._judge(entry, Sign.ANSWERS)

    def failed(self, entry: Entry, trouble: Trouble, began: datetime | None = None) -> None:
        """A probe that was sent at ``began`` failed, or no connection could be made."""
        entry.probes = entry.probes.failed(trouble, began or self._now(), longest_gap=LONGEST_GAP)
        self._judge(entry, Sign.FAILS)

    def refused(self, entry: Entry, problem: Problem) -> None:
        """The Cluster is not used, or no connection could be made.

        A problem without a reason says nothing about the member, for example that the host could not be read.
        """
        trouble = Trouble(problem.trouble or problem.reason, problem.detail)
        if problem.reason == REPLACED:
            entry.probes = entry.probes.failed(trouble, self._now(), longest_gap=LONGEST_GAP)
            self._judge(entry, Sign.REPLACED)
        elif problem.reach is Reach.UNKNOWN:
            self._judge(entry, Sign.REFUSED)
        elif trouble.reason:
            self.failed(entry, trouble)

    def suspended(self, entry: Entry) -> None:
        """The administrator suspended the Cluster."""
        self._judge(entry, Sign.SUSPENDED)

    def deleted(self, entry: Entry) -> None:
        """The Cluster is being deleted."""
        self._judge(entry, Sign.DELETED)

    def refresh(self, entry: Entry) -> None:
        """The object has changed: judge by its present thresholds, and compute the taints."""
        if entry.sign is not None:
            self._judge(entry, entry.sign)
        else:
            self._update(entry, entry.record)

    def stop(self, entry: Entry) -> None:
        """Judge an entry no more."""
        if entry.judgement is not None:
            entry.judgement.cancel()
            entry.judgement = None

    def _judge(self, entry: Entry, sign: Sign) -> None:
        entry.sign = sign
        now = self._now()
        settings = entry.cluster.spec.health.settings()
        self._update(entry, health.judge(entry.record, settings, sign, entry.probes, now))
        self.stop(entry)
        due = health.due(entry.record, settings)
        if due is not None and due > now:
            seconds = max((due - now).total_seconds(), SHORTEST_WAIT)
            entry.judgement = asyncio.get_running_loop().call_later(seconds, self._judge, entry, sign)

    def _update(self, entry: Entry, record: Record) -> None:
        old, old_taints = entry.record, entry.taints
        entry.record = record
        entry.taints = taints.in_effect(entry.cluster, record, old_taints, self._now())
        fit, before = ((one.phase, one.recovering) for one in (record, old))
        if fit != before or old_taints != entry.taints:
            self._fit_changed(entry, old)
        if old != record or old_taints != entry.taints:
            self._changed(entry)
