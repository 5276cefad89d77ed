"""Measurements that a decision asks for, and their results. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from uniteddeployment_api.v1alpha1.gates import GateTemplateSpec
from uniteddeployment_rollout.gates.resolve import Gate

Outcome = Literal["Success", "Failure", "Inconclusive", "Error", "Wait"]


@dataclass(frozen=True, slots=True)
class ProbeId:
    """Identity of one measurement. It is the same in every process, so no measurement is counted twice."""

    run_id: str
    step: int
    attempt: int
    gate: str
    subset: str
    number: int
    """Number of measurements of this gate before this one."""

    @property
    def text(self) -> str:
        """The identity as text."""
        parts = (self.run_id, self.step, self.attempt, self.gate, self.subset, self.number)
        return "/".join(str(part) for part in parts)


@dataclass(frozen=True, slots=True)
class Probe:
    """A measurement to take now."""

    id: ProbeId
    gate: Gate
    variables: Mapping[str, str]
    cluster: str = ""
    """Cluster of the subset, as namespace/name. Empty for the host, and for all subsets together."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of a measurement."""

    outcome: Outcome
    """Wait: ask again after the interval. It does not count as a measurement."""
    value: str = ""
    message: str = ""
    permanent: bool = False
    """With Error: the gate itself is wrong, so the limit of errors does not apply."""


@dataclass(frozen=True, slots=True)
class GateInputs:
    """Inputs of a decision beside the objects."""

    templates: Mapping[str, GateTemplateSpec] = field(default_factory=dict)
    """GateTemplates in the namespace of the rollout."""
    measured: Mapping[ProbeId, Measured] = field(default_factory=dict)
    """Results that may not be in the status yet."""
