"""Label selectors: validation, matching and text form."""

from collections.abc import Mapping, Sequence

from uniteddeployment_api.v1alpha1.meta import LabelSelector, LabelSelectorRequirement


def requirement_values_fit(operator: str, values: Sequence[str]) -> bool:
    """Return whether ``values`` are valid for the operator of a label or node requirement."""
    match operator:
        case "In" | "NotIn":
            return len(values) > 0
        case "Gt" | "Lt":
            return len(values) == 1 and values[0].lstrip("-").isdecimal()
        case _:
            return not values


def selector_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy all requirements of the selector. An empty selector matches everything."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _requirement_matches(requirement, labels) for requirement in selector.match_expressions
    )


def selector_text(selector: LabelSelector) -> str:
    """Return the selector in the text form of query parameters and of the scale subresource, in a fixed order."""
    parts = [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    for requirement in selector.match_expressions:
        values = ",".join(sorted(requirement.values))
        match requirement.operator:
            case "In":
                parts.append(f"{requirement.key} in ({values})")
            case "NotIn":
                parts.append(f"{requirement.key} notin ({values})")
            case "Exists":
                parts.append(requirement.key)
            case "DoesNotExist":
                parts.append(f"!{requirement.key}")
    return ",".join(parts)


def _requirement_matches(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
