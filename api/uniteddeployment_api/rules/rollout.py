"""Rules about UnitedRollouts."""

from typing import Final

from uniteddeployment_api.names import UNITED_ROLLOUT_KIND
from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.cel import percent

_OF_ALL_PODS: Final = "!has(s.wave)"


def _rising(form: str, value: str) -> str:
    return f"self.steps.filter(s, {_OF_ALL_PODS} && type(s.replicas) == {form}).map(s, {value}).isSorted()"


ROLLOUT_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="rollout-target-immutable",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.targetRef",
        cel="self.name == oldSelf.name",
        field_path=".name",
        change=True,
        message="the target is immutable; delete the UnitedRollout and create one for the other target",
    ),
    Rule(
        name="rollout-steps-needed",
        kind=UNITED_ROLLOUT_KIND,
        at="spec",
        field_path=".steps",
        schema=True,
        message="must have at least one step",
    ),
    Rule(
        name="rollout-steps-rise",
        kind=UNITED_ROLLOUT_KIND,
        at="spec",
        cel=f"{_rising('int', 'int(s.replicas)')} && {_rising('string', percent('s.replicas'))}",
        field_path=".steps",
        message="must not be less than in an earlier step, because partitions do not revert pods",
    ),
    Rule(
        name="rollout-steps-update",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.steps[]",
        cel="type(self.replicas) == int ? int(self.replicas) > 0 : self.replicas.charAt(0) != '0'",
        field_path=".replicas",
        message="must be more than 0",
    ),
    Rule(
        name="rollout-wave-names-subsets",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.steps[]",
        field_path=".wave.subsets",
        other_object=True,
        message="every name must be that of a subset of the target",
    ),
    Rule(
        name="rollout-wave-selects-subsets",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.steps[]",
        field_path=".wave.clusterSelector",
        other_object=True,
        message="the labels must be those of a Cluster that runs a subset of the target",
    ),
    Rule(
        name="notification-names",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.notifications[]",
        field_path=".name",
        schema=True,
        message="must be unique in the rollout",
    ),
    Rule(
        name="notification-events",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.notifications[]",
        field_path=".events",
        schema=True,
        message="must have at least one entry, and none twice",
    ),
    Rule(
        name="notification-url",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.notifications[]",
        cel="has(self.url) != has(self.urlFrom)",
        field_path=".url",
        message="set exactly one of url and urlFrom",
    ),
    Rule(
        name="notification-template",
        kind=UNITED_ROLLOUT_KIND,
        at="spec.notifications[]",
        field_path=".template",
        message="must be JSON with variables such as ${name}",
    ),
)
