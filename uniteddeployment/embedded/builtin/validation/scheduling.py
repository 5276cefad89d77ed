"""Validation of scheduling constraints: affinity, tolerations, topology spread."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    duplicate,
    forbidden,
    invalid,
    invalids,
    not_supported,
    required,
)
from uniteddeployment.embedded.builtin.validation.fields import label_selector, one_of
from uniteddeployment.embedded.errors import Cause

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT_TEXT = "must be in the range 1-100"
_POLICIES = ("Honor", "Ignore")


def tolerations(given: Sequence[Obj], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, toleration in enumerate(given):
        at = f"{path}[{index}]"
        key, operator, effect = toleration.get("key", ""), toleration.get("operator", ""), toleration.get("effect", "")
        if key:
            causes += invalids(f"{at}.key", key, names.label_key(key))
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(invalid(f"{at}.operator", operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(invalid(f"{at}.effect", effect, text))
        if operator in ("", "Equal"):
            errors = names.label_value(toleration.get("value", ""))
            if errors:
                causes.append(invalid(f"{at}.operator", toleration["value"], ";".join(errors)))
        elif operator == "Exists":
            if toleration.get("value"):
                causes.append(invalid(f"{at}.operator", toleration, "value must be empty when `operator` is 'Exists'"))
        else:
            causes.append(not_supported(f"{at}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            causes.append(not_supported(f"{at}.effect", effect, _EFFECTS))
    return causes


def spread(given: Sequence[Obj], path: str) -> list[Cause]:
    """Topology spread constraints."""
    causes: list[Cause] = []
    taken: set[tuple[str, str]] = set()
    for index, constraint in enumerate(given):
        at = f"{path}[{index}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if constraint.get("maxSkew", 0) <= 0:
            causes.append(invalid(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero"))
        if not key:
            causes.append(required(f"{at}.topologyKey", "can not be empty"))
        else:
            causes += invalids(f"{at}.topologyKey", key, names.label_key(key))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            causes.append(not_supported(f"{at}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
        if (key, action) in taken:
            causes.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        taken.add((key, action))
        causes += _domains(constraint, action, at)
        causes += one_of(constraint, "nodeAffinityPolicy", at, _POLICIES)
        causes += one_of(constraint, "nodeTaintsPolicy", at, _POLICIES)
        if constraint.get("matchLabelKeys") and "labelSelector" not in constraint:
            causes.append(forbidden(f"{at}.matchLabelKeys", "must not be specified when labelSelector is not set"))
        causes += label_selector(constraint.get("labelSelector"), f"{at}.labelSelector")
    return causes


def _domains(constraint: Obj, action: str, path: str) -> list[Cause]:
    least = constraint.get("minDomains")
    if least is None:
        return []
    if least <= 0:
        return [invalid(f"{path}.minDomains", least, "must be greater than 0")]
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        return [invalid(f"{path}.minDomains", least, text)]
    return []


def affinity(given: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if "nodeAffinity" in given:
        causes += _node_affinity(given["nodeAffinity"], f"{path}.nodeAffinity")
    for key in ("podAffinity", "podAntiAffinity"):
        if key in given:
            causes += _pod_affinity(given[key], f"{path}.{key}")
    return causes


def _node_affinity(given: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if _REQUIRED in given:
        causes += node_selector(given[_REQUIRED], f"{path}.{_REQUIRED}")
    for index, preferred in enumerate(given.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        causes += _weight(preferred, at)
        causes += _node_term(preferred.get("preference") or {}, f"{at}.preference")
    return causes


def _weight(term: Obj, path: str) -> list[Cause]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, _WEIGHT_TEXT)]


def node_selector(given: Obj, path: str) -> list[Cause]:
    """Terms of a node selector, of which a node must satisfy one."""
    terms = given.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        cause for index, term in enumerate(terms) for cause in _node_term(term, f"{path}.nodeSelectorTerms[{index}]")
    ]


def _node_term(term: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        causes += _node_requirement(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.get("matchFields") or ()):
        causes += _field_requirement(requirement, f"{path}.matchFields[{index}]")
    return causes


def _node_requirement(requirement: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            causes.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            causes.append(required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return causes + invalids(f"{path}.key", requirement.get("key", ""), names.label_key(requirement.get("key", "")))


def _field_requirement(requirement: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(required(f"{path}.values", text))
    if requirement.get("key") != "metadata.name":
        causes.append(invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key"))
    return causes


def _pod_affinity(given: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, term in enumerate(given.get(_REQUIRED) or ()):
        causes += _pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, preferred in enumerate(given.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        causes += _weight(preferred, at)
        causes += _pod_term(preferred.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")
    return causes


def _pod_term(term: Obj, path: str) -> list[Cause]:
    causes = label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    causes += label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        causes += invalids(f"{path}.namespace", namespace, names.label(namespace))
    key = term.get("topologyKey", "")
    if not key:
        causes.append(required(f"{path}.topologyKey", "can not be empty"))
        return causes
    return causes + invalids(f"{path}.topologyKey", key, names.label_key(key))
