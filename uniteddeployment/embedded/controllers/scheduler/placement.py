"""Placement of one pod: checks every node, and returns the best one or the message why none fits."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.controllers.scheduler.claims import Claims, NotYetError, claims_of
from uniteddeployment.embedded.controllers.scheduler.filters import Check, Rejection, node_checks
from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.scores import best_node
from uniteddeployment.embedded.controllers.scheduler.selectors import named_nodes
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState
from uniteddeployment.embedded.controllers.scheduler.topology import NamespaceLabels, pod_checks

NO_NODES: Final = "no nodes available to schedule pods"
NOT_NAMED: Final = Rejection(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), unresolvable=True)
CONFLICTING: Final = "pod affinity terms conflict"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


@dataclass(slots=True)
class Placement:
    """The result of an attempt: a node, or the rejections of all nodes."""

    total: int
    node: NodeInfo | None = None
    claims: Claims = field(default_factory=Claims)
    rejections: dict[str, Rejection] = field(default_factory=dict)
    general: str = ""
    """A reason that does not depend on nodes."""

    @property
    def resolvable(self) -> list[str]:
        """Nodes that might take the pod after a preemption."""
        return [name for name, rejection in self.rejections.items() if not rejection.unresolvable]


class Placer:
    """Places pods in the present state of the cluster. Reads only."""

    def __init__(self, access: Access, state: ClusterState, namespaces: NamespaceLabels) -> None:
        self._access = access
        self._state = state
        self._namespaces = namespaces

    def place(self, pod: PodInfo) -> Placement:
        """Find the best node for a pod."""
        nodes = self._state.nodes
        result = Placement(len(nodes))
        if not nodes:
            result.general = NO_NODES
            return result
        named = named_nodes(pod.node_terms) if pod.node_terms is not None else None
        try:
            result.claims = claims_of(pod, self._access)
        except NotYetError as error:
            result.general = str(error)
            return result
        if named is not None and not named:
            result.general = CONFLICTING
            return result
        checks = self._checks(pod, result.claims)
        fitting = []
        for node in nodes:
            rejection = NOT_NAMED if named is not None and node.name not in named else first_rejection(checks, node)
            if rejection is None:
                fitting.append(node)
            else:
                result.rejections[node.name] = rejection
        if fitting:
            preferred = [node for node in fitting if node.name == pod.nominated]
            result.node = best_node(pod, preferred or fitting, self._state, self._namespaces)
        return result

    def fits_without(self, pod: PodInfo, claims: Claims, node: NodeInfo, without: Collection[PodInfo]) -> bool:
        """Whether a node would take a pod without some of its pods."""
        return first_rejection(self._checks(pod, claims, without), node) is None

    def _checks(self, pod: PodInfo, claims: Claims, without: Collection[PodInfo] = ()) -> Sequence[Check]:
        return (
            *node_checks(pod, self._state, without),
            *claims.checks(self._access),
            *pod_checks(pod, self._state, self._namespaces, without),
        )


def first_rejection(checks: Sequence[Check], node: NodeInfo) -> Rejection | None:
    """The first rejection of a node."""
    for check in checks:
        rejection = check(node)
        if rejection is not None:
            return rejection
    return None


def explain(placement: Placement, *, preempts: bool) -> str:
    """The message for a pod that no node takes, even with preemption."""
    if placement.general == NO_NODES:
        return NO_NODES
    available = f"0/{placement.total} nodes are available"
    unresolvable = placement.total if placement.general else placement.total - len(placement.resolvable)
    if placement.general:
        reasons = placement.general
    else:
        reasons = _counted(Counter(reason for r in placement.rejections.values() for reason in r.reasons))
    if not preempts:
        second = "not eligible due to preemptionPolicy=Never."
    else:
        second = (
            f"{available}: {_counted(Counter({NO_VICTIMS: len(placement.resolvable), NOT_HELPFUL: unresolvable}))}."
        )
    return f"{available}: {reasons}. no new claims to deallocate, preemption: {second}"


def explain_waiting(placement: Placement) -> str:
    """The message for a pod that waits for a preemption."""
    reasons = _counted(Counter(reason for r in placement.rejections.values() for reason in r.reasons))
    return f"0/{placement.total} nodes are available: {reasons}."


def _counted(reasons: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items() if count))
