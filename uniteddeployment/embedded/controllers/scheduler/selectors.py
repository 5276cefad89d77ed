"""Node selector terms, taints and tolerations, and label selectors with label keys."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uniteddeployment.embedded.apimachinery.label_selector import Labels, satisfies

Rule = Mapping[str, Any]
"""A selector, a term, a toleration or a taint."""


def matches_term(term: Rule, name: str, labels: Labels) -> bool:
    """Whether a NodeSelectorTerm matches: all of its expressions and fields; an empty term matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(satisfies(labels, rule) for rule in expressions) and all(
        satisfies({"metadata.name": name}, rule) for rule in fields
    )


def matches_terms(terms: Iterable[Rule], name: str, labels: Labels) -> bool:
    """Whether a NodeSelector matches: any of its terms."""
    return any(matches_term(term, name, labels) for term in terms)


def named_nodes(terms: Sequence[Rule]) -> frozenset[str] | None:
    """The only nodes that terms with ``metadata.name`` fields allow; None if they allow others too."""
    names: frozenset[str] = frozenset()
    for term in terms:
        allowed: frozenset[str] | None = None
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values = frozenset(field.get("values") or ())
                allowed = values if allowed is None else allowed & values
        if allowed is None:
            return None
        names |= allowed
    return names if terms else None


def tolerates(tolerations: Iterable[Rule], taint: Rule) -> Rule | None:
    """The first toleration for a taint, or None."""
    for toleration in tolerations:
        effect, key = toleration.get("effect"), toleration.get("key")
        if effect and effect != taint.get("effect"):
            continue
        if key and key != taint.get("key"):
            continue
        if toleration.get("operator") == "Exists":
            return toleration
        if key and toleration.get("value", "") == taint.get("value", ""):
            return toleration
    return None


def untolerated(tolerations: Sequence[Rule], taints: Iterable[Rule], effects: Sequence[str]) -> list[Rule]:
    """The taints with these effects that are not tolerated."""
    return [taint for taint in taints if taint.get("effect") in effects and tolerates(tolerations, taint) is None]


def with_label_keys(selector: Rule | None, keys: Iterable[str], mismatched: Iterable[str], labels: Labels) -> Rule:
    """A selector restricted to pods that have (or do not have) the values of a pod's own labels."""
    rules = list((selector or {}).get("matchExpressions") or ())
    rules += [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
    rules += [{"key": key, "operator": "NotIn", "values": [labels[key]]} for key in mismatched if key in labels]
    return {"matchLabels": (selector or {}).get("matchLabels") or {}, "matchExpressions": rules}
