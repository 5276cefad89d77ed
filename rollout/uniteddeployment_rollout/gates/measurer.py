"""Takes the measurements that decisions ask for, beside the passes, and keeps the results until they are stored.

A measurement that hangs, fails or is slow delays no other: each is a task of its own, with a limit for each rollout.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from uniteddeployment.kube.errors import KubeError
from uniteddeployment.kube.web import RequestFailed
from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout.gates.measuring import Provider, Subject
from uniteddeployment_rollout.gates.probe import Measured, Outcome, Probe, ProbeId
from uniteddeployment_rollout.gates.rows import FINAL

AT_ONCE = 8
"""Measurements of one rollout that run at the same time."""
GATHERING_SECONDS = 1.0
"""How long results wait for those of other subsets, so that one write of the status has all of them."""
_LONGEST_ERROR = 240
_log = structlog.get_logger(__name__)

Key = tuple[str, str]


class GateMetrics(Protocol):
    """Receives each measurement when it is finished."""

    def measured(self, kind: str, outcome: Outcome, seconds: float) -> None: ...


@dataclass(slots=True)
class _Measuring:
    """The measurements of one rollout."""

    subject: Subject
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    tasks: dict[ProbeId, asyncio.Task[None]] = field(default_factory=dict)
    probes: dict[ProbeId, Probe] = field(default_factory=dict)
    results: dict[ProbeId, Measured] = field(default_factory=dict)
    reporting: asyncio.TimerHandle | None = None
    """Reports results that wait for others."""

    def stop_reporting(self) -> None:
        if self.reporting is not None:
            self.reporting.cancel()
            self.reporting = None


class Measurer:
    """Measures gates. ``changed(key)`` is called when a rollout has a new result."""

    def __init__(
        self, providers: Mapping[str, Provider], changed: Callable[[Key], None], metrics: GateMetrics | None = None
    ) -> None:
        self._providers = providers
        self._changed = changed
        self._metrics = metrics
        self._rollouts: dict[Key, _Measuring] = {}
        self._discarding: set[asyncio.Task[None]] = set()

    def results(self, key: Key) -> Mapping[ProbeId, Measured]:
        """Return the results that may not be stored yet."""
        known = self._rollouts.get(key)
        return dict(known.results) if known is not None else {}

    def follow(
        self,
        key: Key,
        subject: Subject,
        status: UnitedRolloutStatus,
        *,
        recorded: Collection[ProbeId] = (),
        probes: Collection[Probe] = (),
    ) -> None:
        """Start measurements that a stored status asks for, and drop those that it has, or that it never will."""
        known = self._rollouts.get(key)
        if known is not None and known.subject != subject:
            self.forget(key)
            known = None
        if known is None:
            if not probes:
                return
            known = self._rollouts[key] = _Measuring(subject)
        for id_ in recorded:
            known.results.pop(id_, None)
        self._drop(known, status)
        for probe in probes:
            if probe.id not in known.tasks and probe.id not in known.results:
                known.probes[probe.id] = probe
                known.tasks[probe.id] = asyncio.create_task(self._measure(key, known, probe))
        if not known.tasks and not known.results:
            known.stop_reporting()
            del self._rollouts[key]

    def forget(self, key: Key) -> None:
        """Stop all measurements of a rollout that is gone."""
        known = self._rollouts.pop(key, None)
        if known is None:
            return
        known.stop_reporting()
        for task in known.tasks.values():
            task.cancel()

    async def close(self) -> None:
        """Stop all measurements. What they have created stays for the next process."""
        tasks = [task for known in self._rollouts.values() for task in known.tasks.values()]
        for known in self._rollouts.values():
            known.stop_reporting()
        self._rollouts.clear()
        for task in (*tasks, *self._discarding):
            task.cancel()
        await asyncio.gather(*tasks, *self._discarding, return_exceptions=True)

    def _drop(self, known: _Measuring, status: UnitedRolloutStatus) -> None:
        rows = {(row.name, row.subset): row for row in status.gates}
        for id_ in [*known.tasks, *known.results]:
            row = rows.get((id_.gate, id_.subset))
            same = (id_.run_id, id_.step, id_.attempt) == (status.run_id, status.step, status.gate_attempt)
            if same and row is not None and row.number == id_.number and row.state not in FINAL:
                continue
            known.results.pop(id_, None)
            task = known.tasks.pop(id_, None)
            probe = known.probes.pop(id_, None)
            if task is not None and probe is not None:
                task.cancel()
                discarding = asyncio.create_task(self._discard(known.subject, probe))
                self._discarding.add(discarding)
                discarding.add_done_callback(self._discarding.discard)

    async def _discard(self, subject: Subject, probe: Probe) -> None:
        provider = self._providers.get(probe.gate.kind)
        if provider is None:
            return
        try:
            await provider.discard(subject, probe)
        except (RequestFailed, KubeError) as error:
            # The time limits of what was created remove it later.
            _log.warning("measurement was not discarded", gate=probe.id.gate, error=str(error))

    async def _measure(self, key: Key, known: _Measuring, probe: Probe) -> None:
        clock = asyncio.get_running_loop().time
        async with known.slots:
            started = clock()
            measured = await self._taken(known.subject, probe)
        if self._metrics is not None:
            self._metrics.measured(probe.gate.kind, measured.outcome, clock() - started)
        if known.tasks.pop(probe.id, None) is None:
            return  # it was dropped at this moment
        known.probes.pop(probe.id, None)
        known.results[probe.id] = measured
        if not known.tasks:
            self._report(key, known)
        elif known.reporting is None:
            loop = asyncio.get_running_loop()
            known.reporting = loop.call_later(GATHERING_SECONDS, self._report, key, known)

    def _report(self, key: Key, known: _Measuring) -> None:
        known.stop_reporting()
        self._changed(key)

    async def _taken(self, subject: Subject, probe: Probe) -> Measured:
        """Take a measurement. Whatever goes wrong is an error of this measurement alone."""
        provider = self._providers.get(probe.gate.kind)
        if provider is None:
            return Measured("Error", message=f"gates of the kind {probe.gate.kind} are not supported", permanent=True)
        try:
            return await provider.measure(subject, probe)
        except RequestFailed as error:
            return Measured("Error", message=str(error), permanent=error.permanent)
        except KubeError as error:
            return Measured("Error", message=str(error)[:_LONGEST_ERROR])
        except Exception as error:  # noqa: BLE001  # see above
            _log.exception("measurement failed", namespace=subject.namespace, rollout=subject.name, gate=probe.id.gate)
            return Measured("Error", message=f"internal error: {type(error).__name__}")
