"""Rules about spec.topology, which divides the pods, and about partitions."""

from dataclasses import replace
from typing import Final

from uniteddeployment_api.names import API_VERSION, CLUSTER_KIND, CLUSTER_PROFILE_API_VERSION, CLUSTER_PROFILE_KIND
from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.cel import KEPT, SHARES, SUBSETS, hundredths, number, rounded, total

_MANUAL, _OLD_MANUAL = "self.updateStrategy.manualUpdate", "oldSelf.updateStrategy.manualUpdate"
_UNUSED = f"!has({_MANUAL}) || !has({_MANUAL}.partitions)"
_EVERY, _NAMES = f"{_MANUAL}.partitions.all", f"{SUBSETS}.map(s, s.name)"
_KEPT = f"has({_OLD_MANUAL}) && has({_OLD_MANUAL}.partitions) && k in {_OLD_MANUAL}.partitions"
_KNOWN = f"[oldSelf.topology.subsets.map(s, s.name)].all(olds, {_EVERY}(k, k in names || k in olds || ({_KEPT})))"

_CREATION = Rule(
    name="partitions-name-subsets",
    at="spec",
    cel=f"oldSelf.hasValue() || {_UNUSED} || [{_NAMES}].all(names, {_EVERY}(k, k in names))",
    optional_old_self=True,
    retained=True,
    field_path=".updateStrategy.manualUpdate.partitions",
    message="every key must be the name of a subset",
)
_UPDATE = replace(
    _CREATION, cel=f"{_UNUSED} || [{_NAMES}].all(names, {_EVERY}(k, k in names) || {_KNOWN})", optional_old_self=False
)
_PARTITIONS = (_CREATION, _UPDATE)
"""A subset can go in one edit with its partition, or without. These are two expressions, because an API server cannot
limit the cost of one that reads lists of an optional previous version."""

SHARE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="shares-not-mixed",
        at="spec.topology",
        field_path=".subsets",
        message=(
            "use either replicas, or minReplicas, maxReplicas and weight; they cannot be mixed in one UnitedDeployment"
        ),
    ),
    Rule(
        name="min-not-above-max",
        at="spec.topology.subsets[]",
        field_path=".minReplicas",
        message="must not be larger than maxReplicas",
    ),
    Rule(
        name="some-subset-unbounded",
        at="spec.topology",
        cel=(
            "self.subsets.exists(s, !has(s.maxReplicas)) || self.subsets.exists(s, has(s.weight)) || "
            "self.subsets.size() == 0"
        ),
        field_path=".subsets",
        message="without weights, at least one subset must not have maxReplicas, so that every pod can be placed",
    ),
    Rule(
        name="total-needed",
        at="spec",
        field_path=".topology.subsets",
        message="without spec.replicas, every subset must set replicas to a whole number",
    ),
    Rule(
        name="shares-within-total",
        at="spec",
        cel=(
            f"!has(self.replicas) || [self.replicas].all(all, [{SHARES}].all(shares, "
            f"{total(rounded('share'))} <= all || ({KEPT}) || {total(hundredths('share'))} <= all * 100))"
        ),
        field_path=".topology.subsets",
        optional_old_self=True,
        feasibility=True,
        message=(
            "the fixed shares of the subsets add up to more than spec.replicas; lower a share or raise spec.replicas"
        ),
    ),
    Rule(
        name="shares-reach-total",
        at="spec",
        field_path=".topology.subsets",
        feasibility=True,
        message=(
            "every subset has a fixed share, and the shares add up to less than spec.replicas; "
            "remove replicas from one subset, which then takes the rest"
        ),
    ),
    *_PARTITIONS,
    # The next two have no CEL: each write of an application would pay for it, and unknown names have no effect.
    Rule(
        name="max-updated-names-subsets",
        at="spec",
        retained=True,
        field_path=".updateStrategy.manualUpdate.maxUpdated",
        message="every key must be the name of a subset",
    ),
    Rule(
        name="revert-names-subsets",
        at="spec",
        retained=True,
        field_path=".updateStrategy.manualUpdate.revert",
        message="every item must be the name of a subset",
    ),
    Rule(
        name="bounds-consistent",
        at="spec.topology.subsets[]",
        field_path=".minReplicas",
        feasibility=True,
        message="at the present spec.replicas, minReplicas is larger than maxReplicas; change one of them",
    ),
)

SCHEDULE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="cluster-type",
        at="spec.topology.clusterRegistry",
        field_path=".clusterType",
        message=(
            f"must be the kind {CLUSTER_KIND} of {API_VERSION}, or the kind {CLUSTER_PROFILE_KIND} of "
            f"{CLUSTER_PROFILE_API_VERSION}"
        ),
    ),
    Rule(
        name="adaptive-not-fixed",
        at="spec.topology",
        field_path=".scheduleStrategy.type",
        message=(
            "Adaptive moves pods between subsets, so subsets must not have fixed replicas; "
            "use minReplicas and maxReplicas"
        ),
    ),
    Rule(
        name="reservation-kind",
        at="spec",
        field_path=".topology.scheduleStrategy.adaptive.reserveUnschedulablePods",
        message="only supported for Deployments and CloneSets, because pods of StatefulSets cannot have stand-ins",
    ),
    Rule(
        name="ordinals-kind",
        at="spec",
        field_path=".topology.ordinals",
        message="Disjoint is only supported for StatefulSets, because other pods have no ordinals",
    ),
    Rule(
        name="ordinals-size",
        at="spec.topology",
        field_path=".ordinalBlock",
        message=(
            "Disjoint ordinals require a range size for each subset; set ordinalBlock, or maxReplicas to a whole number"
        ),
    ),
    *(
        Rule(
            name="ordinals-fit",
            at="spec.topology.subsets[]",
            field_path=field,
            message="must not exceed ordinalBlock, the number of ordinals of the subset",
        )
        for field in (".replicas", ".minReplicas")
    ),
    Rule(
        name="ordinals-immutable",
        at="spec.topology",
        cel=(
            "self.ordinals == oldSelf.ordinals && (self.ordinals != 'Disjoint' || "
            "(!has(oldSelf.ordinalBlock) || has(self.ordinalBlock) && self.ordinalBlock == oldSelf.ordinalBlock) && "
            "oldSelf.subsets.all(o, self.subsets.all(s, s.name != o.name || "
            f"{number('s.maxReplicas', -1)} == {number('o.maxReplicas', -1)})))"
        ),
        change=True,
        message=(
            "ordinals are immutable; while they are Disjoint, so are ordinalBlock and the maxReplicas of existing "
            "subsets, because pods would change their identities"
        ),
    ),
    Rule(
        name="ordinals-order-immutable",
        at="spec.topology",
        field_path=".subsets",
        change=True,
        message="while ordinals are Disjoint, subsets must keep their order, and new subsets must be added at the end",
    ),
    Rule(
        name="adopted-keeps-ordinals",
        at="spec.topology",
        field_path=".ordinals",
        message="must be Shared while a subset adopts a workload, because Disjoint ordinals would rename its pods",
    ),
)
