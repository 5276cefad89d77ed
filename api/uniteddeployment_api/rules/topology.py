"""Rules on how spec.topology divides the pods, and on partitions."""

from typing import Final

from uniteddeployment_api.names import API_VERSION, CLUSTER_KIND
from uniteddeployment_api.rules.base import Rule
from uniteddeployment_api.rules.cel import KEPT, SUBSETS, hundredths, number, rounded, total

_ADAPTIVE = "has(self.scheduleStrategy.type) && self.scheduleStrategy.type == 'Adaptive'"

SHARE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="shares-not-mixed",
        at="spec.topology",
        cel=(
            "!(self.subsets.exists(s, has(s.replicas)) && "
            "self.subsets.exists(s, has(s.minReplicas) || has(s.maxReplicas) || has(s.weight)))"
        ),
        field_path=".subsets",
        message=(
            "use either replicas, or minReplicas, maxReplicas and weight: they cannot be mixed in one UnitedDeployment"
        ),
    ),
    Rule(
        name="min-not-above-max",
        at="spec.topology.subsets[]",
        field_path=".minReplicas",
        message="minReplicas may not be larger than maxReplicas",
    ),
    Rule(
        name="some-subset-unbounded",
        at="spec.topology",
        cel=(
            "self.subsets.size() == 0 || self.subsets.exists(s, has(s.weight)) || "
            "self.subsets.exists(s, !has(s.maxReplicas))"
        ),
        field_path=".subsets",
        message="at least one subset has to be without maxReplicas, so that every pod has a place",
    ),
    Rule(
        name="total-needed",
        at="spec",
        cel=f"has(self.replicas) || {SUBSETS}.all(s, has(s.replicas) && type(s.replicas) == int)",
        field_path=".topology.subsets",
        message="without spec.replicas every subset has to say its own number of pods in replicas",
    ),
    Rule(
        name="shares-within-total",
        at="spec",
        cel=(
            f"!has(self.replicas) || {total(rounded('s.replicas'))} <= self.replicas || ({KEPT}) || "
            f"{total(hundredths('s.replicas'))} <= self.replicas * 100"
        ),
        field_path=".topology.subsets",
        optional_old_self=True,
        feasibility=True,
        message="the fixed shares of the subsets add up to more than spec.replicas: lower a share or raise the total",
    ),
    Rule(
        name="shares-reach-total",
        at="spec",
        field_path=".topology.subsets",
        feasibility=True,
        message=(
            "every subset has a fixed share and they add up to less than spec.replicas: "
            "leave replicas out in one subset, which then takes the rest"
        ),
    ),
    Rule(
        name="partitions-name-subsets",
        at="spec",
        cel=(
            "!has(self.updateStrategy.manualUpdate) || !has(self.updateStrategy.manualUpdate.partitions) || "
            f"[{SUBSETS}.map(s, s.name)].all(names, self.updateStrategy.manualUpdate.partitions.all(k, k in names))"
        ),
        field_path=".updateStrategy.manualUpdate.partitions",
        message="every key has to be the name of a subset",
    ),
    Rule(
        name="bounds-consistent",
        at="spec",
        field_path=".topology.subsets",
        feasibility=True,
        message="with this total, minReplicas is larger than maxReplicas",
    ),
)

SCHEDULE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="cluster-type",
        at="spec.topology.clusterRegistry",
        field_path=".clusterType",
        message=f"clusters are objects of the kind {CLUSTER_KIND} of {API_VERSION}",
    ),
    Rule(
        name="adaptive-not-fixed",
        at="spec.topology",
        cel=f"!({_ADAPTIVE}) || !self.subsets.exists(s, has(s.replicas))",
        field_path=".scheduleStrategy.type",
        message="Adaptive moves pods between subsets, so none of them can have fixed replicas",
    ),
    Rule(
        name="reservation-kind",
        at="spec",
        field_path=".topology.scheduleStrategy.adaptive.reserveUnschedulablePods",
        message="pods with ordinals have no stand-ins: reserveUnschedulablePods is for Deployments and CloneSets",
    ),
    Rule(
        name="ordinals-kind",
        at="spec",
        field_path=".topology.ordinals",
        message="only pods of StatefulSets have ordinals",
    ),
    Rule(
        name="ordinals-size",
        at="spec.topology",
        field_path=".ordinalBlock",
        message="Disjoint ordinals need a size for each subset: a whole number as its maxReplicas, or ordinalBlock",
    ),
    Rule(
        name="ordinals-fit",
        at="spec.topology",
        field_path=".ordinalBlock",
        message="a subset has more pods of its own than ordinalBlock gives it ordinals",
    ),
    Rule(
        name="ordinals-immutable",
        at="spec.topology",
        cel=(
            "has(self.ordinals) || has(oldSelf.ordinals) ? has(self.ordinals) && has(oldSelf.ordinals) && "
            "self.ordinals == oldSelf.ordinals && (self.ordinals != 'Disjoint' || "
            "(!has(oldSelf.ordinalBlock) || has(self.ordinalBlock) && self.ordinalBlock == oldSelf.ordinalBlock) && "
            "oldSelf.subsets.all(o, self.subsets.all(s, s.name != o.name || "
            f"{number('s.maxReplicas', -1)} == {number('o.maxReplicas', -1)}))) : true"
        ),
        change=True,
        message=(
            "ordinals may not be changed, nor ordinalBlock and maxReplicas while ordinals are Disjoint: "
            "the pods would get other identities"
        ),
    ),
    Rule(
        name="ordinals-order-immutable",
        at="spec.topology",
        field_path=".subsets",
        change=True,
        message="while ordinals are Disjoint, subsets keep their order and new ones go to the end",
    ),
    Rule(
        name="adopted-keeps-ordinals",
        at="spec.topology",
        field_path=".ordinals",
        message="Disjoint ordinals would give the pods of an adopted workload other names",
    ),
)
