"""Steps as data: how many pods of each subset are to be updated at each step. Pure.

Targets only rise from step to step, whatever their form: a partition cannot take an updated pod back.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from uniteddeployment_api.int_or_percent import percent_of
from uniteddeployment_api.selectors import selector_matches
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, RolloutWave, UnitedRolloutSpec
from uniteddeployment_rollout.partitions import FIRST_CANARY_EVERYWHERE, LARGEST_FIRST, NEAREST, shares

_OFFSETS: Mapping[str, Fraction] = {
    "Even": NEAREST,
    "FirstCanaryEverywhere": FIRST_CANARY_EVERYWHERE,
    "LargestFirst": LARGEST_FIRST,
}
_ALL = "100%"


@dataclass(frozen=True, slots=True)
class Goal:
    """What one step asks for: pods to update by subset, and the reason of each number."""

    updated: Mapping[str, int]
    reasons: Mapping[str, str]
    whole: frozenset[str] = frozenset()
    """Subsets of which all pods are to be updated, however many they are."""

    @property
    def total(self) -> int:
        return sum(self.updated.values())


def steps_of(spec: UnitedRolloutSpec) -> tuple[RolloutStep, ...]:
    """The steps, and after them one for the rest if the last one leaves any."""
    last = spec.steps[-1]
    if last.wave is None and last.replicas == _ALL:
        return spec.steps
    return (*spec.steps, RolloutStep(replicas=_ALL))


def offset_of(spec: UnitedRolloutSpec) -> Fraction:
    """The order in which subsets get their updated pods."""
    return _OFFSETS[spec.distribution]


def rounded_up(value: int | str, total: int) -> int:
    """A number of pods, at most all of them; a part of a pod counts as one."""
    if isinstance(value, int):
        return min(value, total)
    return -(-percent_of(value) * total // 100)


def named(wave: RolloutWave, subsets: Collection[str], labels: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The subsets that a wave applies to. ``labels`` are those of their Cluster objects."""
    names = frozenset(wave.subsets or subsets)
    selector = wave.cluster_selector
    if selector is None:
        return names
    return frozenset(name for name in names if selector_matches(selector, labels.get(name, {})))


def goal(
    spec: UnitedRolloutSpec,
    number: int,
    sizes: Mapping[str, int],
    there: Mapping[str, int] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Goal:
    """The goal of a step (from 1): that of all steps up to it, so that it never falls; of step 0, nothing further.

    ``there`` are updated pods that stay in any case. They count, so that a step does not update others beside them.
    ``labels`` are those of the Cluster objects of the subsets, which waves select by.
    """
    offset = offset_of(spec)
    updated = {name: min((there or {}).get(name, 0), size) for name, size in sizes.items()}
    reasons = {name: "is updated already" if updated[name] else "no step has reached it" for name in sizes}
    whole: frozenset[str] = frozenset()
    for index, step in enumerate(steps_of(spec)[:number], start=1):
        before = updated
        wave = frozenset(sizes) if step.wave is None else named(step.wave, sizes, labels or {})
        if step.replicas == _ALL:
            whole |= wave
        if step.wave is None:
            total = rounded_up(step.replicas, sum(sizes.values()))
            updated = shares(sizes, total, offset, updated)
            why = f"step {index} updates {total} of {sum(sizes.values())} pods"
        else:
            updated = {
                name: max(before[name], rounded_up(step.replicas, size) if name in wave else 0)
                for name, size in sizes.items()
            }
            why = f"step {index} updates {step.replicas} of this subset"
        reasons = {name: why if updated[name] > before[name] else reasons[name] for name in sizes}
    return Goal(updated, reasons, whole)


def everything(sizes: Mapping[str, int], why: str) -> Goal:
    """All pods."""
    return Goal(dict(sizes), dict.fromkeys(sizes, why), frozenset(sizes))
