"""Checks that involve other pods: topology spread constraints, pod affinity and anti-affinity.

Pods are counted once per placement; after that a node costs a lookup.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.label_selector import Labels, matches_labels
from uniteddeployment.embedded.controllers.scheduler.filters import Check, Rejection, selected
from uniteddeployment.embedded.controllers.scheduler.model import NodeInfo, PodInfo
from uniteddeployment.embedded.controllers.scheduler.selectors import Rule, untolerated, with_label_keys
from uniteddeployment.embedded.controllers.scheduler.state import ClusterState

NamespaceLabels = Callable[[], Mapping[str, Labels]]
"""The labels of each namespace, for terms with a namespaceSelector."""

UNEVEN: Final = Rejection(("node(s) didn't match pod topology spread constraints",), unresolvable=False)
NO_TOPOLOGY: Final = Rejection(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), unresolvable=True
)
NOT_NEAR: Final = Rejection(("node(s) didn't match pod affinity rules",), unresolvable=True)
TOO_NEAR: Final = Rejection(("node(s) didn't match pod anti-affinity rules",), unresolvable=False)
KEPT_AWAY: Final = Rejection(("node(s) didn't satisfy existing pods anti-affinity rules",), unresolvable=False)


def pod_checks(
    pod: PodInfo, state: ClusterState, namespaces: NamespaceLabels, without: Collection[PodInfo] = ()
) -> Iterator[Check]:
    """The checks that count other pods, without those in ``without``."""
    hard = [rule for rule in pod.spread if rule.get("whenUnsatisfiable") == "DoNotSchedule"]
    if hard:
        yield spread_check(pod, hard, state, without)
    if pod.affinity:
        yield _affinity_check(pod, state, namespaces, without)
    if pod.anti_affinity:
        yield _anti_affinity_check(pod, state, namespaces, without)
    blocked = {
        pair
        for other, node in state.excluding()
        if other not in without
        for term in other.anti_affinity
        if (pair := _pair(term, node)) and Term(term, other, namespaces).matches(pod)
    }
    if blocked:
        yield lambda node: KEPT_AWAY if any(node.labels.get(key) == value for key, value in blocked) else None


# Topology spread


class Spread:
    """One constraint of a pod, and the number of matching pods per domain."""

    def __init__(
        self, rule: Rule, pod: PodInfo, nodes: Sequence[NodeInfo], state: ClusterState, without: Collection[PodInfo]
    ) -> None:
        self.key: str = rule["topologyKey"]
        self._most: int = rule["maxSkew"]
        selector = rule.get("labelSelector")
        keys = rule.get("matchLabelKeys") or ()
        if keys:
            selector = with_label_keys(selector, keys, (), pod.labels)
        counted = {node.name for node in nodes if _included(rule, pod, node)}
        self.counts: Counter[str] = Counter({node.labels[self.key]: 0 for node in nodes if node.name in counted})
        for other, node in state.pods_of([pod.key[0]]):
            if node.name in counted and not other.terminating and other not in without:
                self.counts[node.labels[self.key]] += matches_labels(selector, other.labels)
        self._self = int(matches_labels(selector, pod.labels))
        enough = len(self.counts) >= (rule.get("minDomains") or 1)
        self._least = min(self.counts.values(), default=0) if enough else 0

    def uneven(self, node: NodeInfo) -> bool:
        """Whether one more pod there violates the constraint."""
        return self.counts[node.labels[self.key]] + self._self - self._least > self._most


def _included(rule: Rule, pod: PodInfo, node: NodeInfo) -> bool:
    if rule.get("nodeAffinityPolicy", "Honor") == "Honor" and not selected(pod, node):
        return False
    respects = rule.get("nodeTaintsPolicy", "Ignore") == "Honor"
    return not (respects and untolerated(pod.tolerations, node.taints, ("NoSchedule", "NoExecute")))


def spreads(
    pod: PodInfo, rules: Sequence[Rule], state: ClusterState, without: Collection[PodInfo] = ()
) -> list[Spread]:
    """The counts of several constraints; nodes without one of the labels are left out."""
    keys = [rule["topologyKey"] for rule in rules]
    nodes = [node for node in state.nodes if all(key in node.labels for key in keys)]
    return [Spread(rule, pod, nodes, state, without) for rule in rules]


def spread_check(pod: PodInfo, rules: Sequence[Rule], state: ClusterState, without: Collection[PodInfo]) -> Check:
    """Check that a domain exceeds the emptiest one by no more than the constraints allow."""
    counted = spreads(pod, rules, state, without)

    def check(node: NodeInfo) -> Rejection | None:
        for spread in counted:
            if spread.key not in node.labels:
                return NO_TOPOLOGY
            if spread.uneven(node):
                return UNEVEN
        return None

    return check


# Affinity between pods


class Term:
    """A pod affinity term in the context of its pod."""

    def __init__(self, term: Rule, pod: PodInfo, namespaces: NamespaceLabels) -> None:
        self.key: str = term["topologyKey"]
        selector = term.get("labelSelector")
        same, different = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
        self._selector = with_label_keys(selector, same, different, pod.labels) if same or different else selector
        named: Sequence[str] = term.get("namespaces") or ()
        chosen: Rule | None = term.get("namespaceSelector")
        if chosen is not None:
            named = [*named, *(name for name, labels in namespaces().items() if matches_labels(chosen, labels))]
        self.namespaces = frozenset(named) if named or chosen is not None else frozenset((pod.key[0],))

    def matches(self, other: PodInfo) -> bool:
        return other.key[0] in self.namespaces and matches_labels(self._selector, other.labels)


def _pair(term: Rule, node: NodeInfo) -> tuple[str, str] | None:
    value = node.labels.get(term["topologyKey"])
    return None if value is None else (term["topologyKey"], value)


def domains(
    terms: Sequence[Term], state: ClusterState, without: Collection[PodInfo], *, together: bool
) -> list[set[str]]:
    """For each term, the domains with a matching pod (``together``: one that matches all terms)."""
    per_term: list[set[str]] = [set() for _ in terms]
    for other, node in state.pods_of({name for term in terms for name in term.namespaces}):
        if other in without:
            continue
        matched = [term.matches(other) for term in terms]
        if together and not all(matched):
            continue
        for term, hit, where in zip(terms, matched, per_term, strict=True):
            if hit and term.key in node.labels:
                where.add(node.labels[term.key])
    return per_term


def _affinity_check(
    pod: PodInfo, state: ClusterState, namespaces: NamespaceLabels, without: Collection[PodInfo]
) -> Check:
    terms = [Term(term, pod, namespaces) for term in pod.affinity]
    per_term = domains(terms, state, without, together=True)
    # The first pod of a group with affinity to itself may run anywhere.
    first = not any(per_term) and all(term.matches(pod) for term in terms)

    def check(node: NodeInfo) -> Rejection | None:
        for term, where in zip(terms, per_term, strict=True):
            value = node.labels.get(term.key)
            if value is None or (value not in where and not first):
                return NOT_NEAR
        return None

    return check


def _anti_affinity_check(
    pod: PodInfo, state: ClusterState, namespaces: NamespaceLabels, without: Collection[PodInfo]
) -> Check:
    terms = [Term(term, pod, namespaces) for term in pod.anti_affinity]
    per_term = domains(terms, state, without, together=False)

    def check(node: NodeInfo) -> Rejection | None:
        near = any(node.labels.get(term.key) in where for term, where in zip(terms, per_term, strict=True))
        return TOO_NEAR if near else None

    return check


def preference(pod: PodInfo, state: ClusterState, namespaces: NamespaceLabels) -> Callable[[NodeInfo], int]:
    """The sum of weights of preferred pod (anti-)affinity for each node."""
    weighted: list[tuple[int, Term]] = []
    for sign, preferences in ((1, pod.affinity_preferences), (-1, pod.anti_affinity_preferences)):
        weighted += [(sign * rule["weight"], Term(rule["podAffinityTerm"], pod, namespaces)) for rule in preferences]
    sums: Counter[tuple[str, Any]] = Counter()
    for other, node in state.pods_of({name for _, term in weighted for name in term.namespaces}):
        for weight, term in weighted:
            if term.key in node.labels and term.matches(other):
                sums[term.key, node.labels[term.key]] += weight
    return lambda node: sum(weight for (key, value), weight in sums.items() if node.labels.get(key) == value)
