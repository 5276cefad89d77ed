"""A fleet with a gated rollout: the results of measurements are scripted, and the controller may be killed anywhere."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.unit.rollout.fleet import STEPS, V2, Controller, Fleet, stored_again
from uniteddeployment_api.validation.gates import parse_gate_template
from uniteddeployment_rollout import Decision, Target, advance
from uniteddeployment_rollout.gates.probe import GateInputs, Measured, Outcome, Probe, ProbeId

PROMETHEUS: dict[str, Any] = {
    "address": "http://prometheus:9090",
    "query": 'sum(rate(errors{revision="{{revision}}"}[1m]))',
    "successCondition": "result < 0.05",
    "scope": "All",
}
Answer = Outcome | Measured | None
"""The outcome of a measurement; None if it never ends."""


class GatedFleet(Fleet):
    """A fleet that reports revisions and restarts by subset."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__(sizes)
        self.restarts: dict[str, int] = {}
        self.stable_restarts: dict[str, int] = {}
        self.stable_unready: dict[str, int] = {}

    def target(self) -> Target:
        target = super().target()
        subsets = []
        for subset in target.subsets:
            stable = sum(pod.revision == self.current != self.template for pod in self.pods[subset.name])
            subsets.append(
                replace(
                    subset,
                    revision=f"hash-{self.template}",
                    restarts=self.restarts.get(subset.name, 0),
                    stable=stable,
                    stable_ready=stable - self.stable_unready.get(subset.name, 0),
                    stable_restarts=self.stable_restarts.get(subset.name, 0),
                    stable_revision=f"hash-{self.current}" if stable else "",
                )
            )
        return replace(target, namespace="default", subsets=tuple(subsets))


class Gated(Controller):
    """Answers probes with ``answers``, one for each, in order; the last one is repeated."""

    def __init__(self, fleet: Fleet, answers: Callable[[Probe], Answer] | list[Answer], **spec: Any) -> None:
        self.answers = answers
        self.templates: dict[str, Any] = {}
        self.measured: dict[ProbeId, Measured] = {}
        self.probes: list[Probe] = []
        """Every probe that was started, in every process."""
        self.recorded: tuple[ProbeId, ...] = ()
        super().__init__(fleet, **spec)

    @property
    def inputs(self) -> GateInputs:
        return GateInputs(self.templates, self.measured)

    def template(self, name: str, **spec: Any) -> None:
        self.templates[name] = parse_gate_template({"metadata": {"name": name}, "spec": spec}).spec

    def decide(self) -> Decision:
        target = self.fleet.target()
        decision = advance(self.rollout, target, self.now, inputs=self.inputs)
        stored = stored_again(self.rollout, decision)
        again = advance(stored, target, self.now, inputs=self.inputs)
        assert (again.status, again.write) == (decision.status, decision.write)
        self.recorded = decision.recorded
        assert [probe.id for probe in again.probes] == [probe.id for probe in decision.probes]
        return decision

    def step(self, *, dies_before_write: bool = False) -> bool:
        changed = super().step(dies_before_write=dies_before_write)
        for id_ in self.recorded:
            self.measured.pop(id_, None)
        decision = advance(self.rollout, self.fleet.target(), self.now, inputs=self.inputs)
        started = [self._start(probe) for probe in decision.probes if probe.id not in self.measured]
        return changed or any(started)

    def restart(self) -> None:
        """A new process knows no results that are not in the status."""
        self.measured = {}

    def _start(self, probe: Probe) -> bool:
        answer = self.answers(probe) if callable(self.answers) else self.answers[0]
        if answer is None:
            return False
        self.probes.append(probe)
        if isinstance(self.answers, list) and len(self.answers) > 1:
            del self.answers[0]
        self.measured[probe.id] = answer if isinstance(answer, Measured) else Measured(answer, message="as scripted")
        return True

    @property
    def rows(self) -> dict[tuple[str, str], str]:
        return {(row.name, row.subset): row.state for row in self.status.gates}


def gated(
    answers: Callable[[Probe], Answer] | list[Answer], gate: dict[str, Any] | None = None, **spec: Any
) -> tuple[GatedFleet, Gated]:
    """Four, two and two pods; after the first pod, a gate. A user has changed the template."""
    fleet = GatedFleet({"a": 4, "b": 2, "c": 2})
    measured = {"prometheus": PROMETHEUS} if gate is None or not {"readiness", "job", "webhook"} & gate.keys() else {}
    step = {"replicas": 1, "gates": [{"name": "errors", **measured, **(gate or {})}]}
    document = {"steps": [step, *STEPS[2:]], **spec}
    controller = Gated(fleet, answers, **document)
    fleet.release(V2)
    controller.settle()
    return fleet, controller
