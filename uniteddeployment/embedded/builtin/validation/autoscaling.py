"""Validation of autoscalers and disruption budgets."""

from typing import Any

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.quantity import nano
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, invalids, not_supported, required
from uniteddeployment.embedded.builtin.validation.fields import (
    at_most_all,
    immutable,
    int_or_percent,
    label_selector,
    ordered_selector,
)
from uniteddeployment.embedded.errors import Cause

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_MAX_WINDOW = 3600
_MAX_PERIOD = 1800


def autoscaler(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes: list[Cause] = []
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        causes.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        causes.append(required("spec.maxReplicas", "must be set and greater than 0"))
    if least is not None and most < least:
        causes.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    causes += _target(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
    for index, metric in enumerate(spec.get("metrics") or ()):
        causes += _metric(metric, f"spec.metrics[{index}]")
    behavior = spec.get("behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        if key in behavior:
            causes += _rules(behavior[key], f"spec.behavior.{key}")
    return causes


def _target(target: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for key in ("kind", "name"):
        if not target.get(key):
            causes.append(required(f"{path}.{key}"))
        else:
            causes += invalids(f"{path}.{key}", target[key], names.path_segment(target[key]))
    version = target.get("apiVersion", "")
    # The core group has no scalable kinds, and an empty version would select it.
    if not version or (target.get("kind") != "ReplicationController" and "/" not in version):
        causes.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return causes


def _metric(metric: Obj, path: str) -> list[Cause]:
    kind = metric.get("type", "")
    if not kind:
        return [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        return [not_supported(f"{path}.type", kind, tuple(_SOURCES))]
    key = _SOURCES[kind]
    causes = [
        forbidden(f"{path}.{other}", "must populate the given metric source only")
        for other in _SOURCES.values()
        if other != key and other in metric
    ]
    if key not in metric:
        return [*causes, required(f"{path}.{key}", "must populate information for the given metric source")]
    source = metric[key]
    if key in ("resource", "containerResource") and not source.get("name"):
        causes.append(required(f"{path}.{key}.name", "must specify a resource name"))
    return causes + _metric_target(source.get("target") or {}, f"{path}.{key}.target")


def _metric_target(target: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    kind = target.get("type", "")
    if not kind:
        causes.append(required(f"{path}.type", "must specify a metric target type"))
    elif kind not in ("Utilization", "Value", "AverageValue"):
        text = "must be either Utilization, Value, or AverageValue"
        causes.append(invalid(f"{path}.type", kind, text))
    causes += [
        invalid(f"{path}.{key}", target[key], "must be positive")
        for key in ("value", "averageValue")
        if key in target and nano(target[key]) <= 0
    ]
    if target.get("averageUtilization") is not None and target["averageUtilization"] < 1:
        causes.append(invalid(f"{path}.averageUtilization", target["averageUtilization"], "must be greater than 0"))
    return causes


def _rules(rules: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        causes.append(invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    elif window is not None and window > _MAX_WINDOW:
        causes.append(
            invalid(f"{path}.stabilizationWindowSeconds", window, f"must be less than or equal to {_MAX_WINDOW}")
        )
    if rules.get("selectPolicy") not in _SELECT_POLICIES:
        causes.append(not_supported(f"{path}.selectPolicy", rules.get("selectPolicy"), _SELECT_POLICIES))
    if not rules.get("policies"):
        causes.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        at = f"{path}.policies[{index}]"
        if policy.get("type") not in ("Pods", "Percent"):
            causes.append(not_supported(f"{at}.type", policy.get("type", ""), ("Percent", "Pods")))
        for key, limit in (("value", None), ("periodSeconds", _MAX_PERIOD)):
            number: Any = policy.get(key, 0)
            if number <= 0:
                causes.append(invalid(f"{at}.{key}", number, "must be greater than zero"))
            elif limit is not None and number > limit:
                causes.append(invalid(f"{at}.{key}", number, f"must be less than or equal to {limit}"))
    return causes


def budget(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    causes: list[Cause] = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": ordered_selector(spec.get("selector")),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        causes.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for key, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            causes += int_or_percent(value, f"spec.{key}")
            causes += at_most_all(value, f"spec.{key}")
    causes += label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        causes.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return causes


def priority_class(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        text = "priority class names with 'system-' prefix are reserved for system use only"
        causes.append(forbidden("metadata.name", text))
    elif value > 10**9:
        text = "maximum allowed value of a user defined priority is 1000000000"
        causes.append(forbidden("value", text))
    policy = obj.get("preemptionPolicy")
    if policy not in (None, "Never", "PreemptLowerPriority"):
        causes.append(not_supported("preemptionPolicy", policy, ("Never", "PreemptLowerPriority")))
    return causes


def priority_class_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    causes: list[Cause] = []
    if new.get("value") != old.get("value"):
        causes.append(forbidden("Value", "may not be changed in an update."))
    return causes + immutable(new, old, "preemptionPolicy", "preemptionPolicy")
