"""Label selectors as objects hold them: ``matchLabels`` and ``matchExpressions``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Labels = Mapping[str, str]
Requirement = Mapping[str, Any]
"""One of ``matchExpressions``: key, operator and values."""


def _compare(value: str | None, bound: str, *, greater: bool) -> bool:
    try:
        left, right = int(value or ""), int(bound)
    except ValueError:
        return False
    return left > right if greater else left < right


_OPERATORS: Final[dict[str, Callable[[str | None, Sequence[str]], bool]]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compare(value, values[0], greater=True),
    "Lt": lambda value, values: _compare(value, values[0], greater=False),
}


def satisfies(labels: Labels, requirement: Requirement) -> bool:
    """Whether labels satisfy one requirement. ``Gt`` and ``Lt`` occur in node selectors only."""
    check = _OPERATORS.get(requirement.get("operator", ""))
    return check is not None and check(labels.get(requirement["key"]), requirement.get("values") or ())


def matches_labels(selector: Mapping[str, Any] | None, labels: Labels) -> bool:
    """Whether a LabelSelector matches labels: an absent one matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(satisfies(labels, requirement) for requirement in selector.get("matchExpressions") or ())
