"""Autoscalers in autoscaling/v1, whose spec has one number for all metrics: the rest is in annotations.

Contract: functions give a new object and leave the one they got alone. What an annotation cannot be read as is lost, as
on a real server. Objects of autoscaling/v1 never have these annotations of their own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.golang import go_json
from uniteddeployment.embedded.apimachinery.resources import Obj

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = f"{_PREFIX}metrics"
BEHAVIOR: Final = f"{_PREFIX}behavior"
CONDITIONS: Final = f"{_PREFIX}conditions"
CURRENT: Final = f"{_PREFIX}current-metrics"
_ANNOTATIONS: Final = frozenset(
    {METRICS, BEHAVIOR, CONDITIONS, CURRENT, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"}
)

_CPU: Final = "cpu"
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message")

Field = tuple[str, tuple[str, ...]]
"""The name of a field in v1, and where its value is in v2."""

_SELECTOR: Final = ("metric", "selector")
_NAME: Final = ("metric", "name")


def _sources(side: str, average: str, value: str, utilization: str) -> Mapping[str, tuple[Field, ...]]:
    """The fields of each kind of metric in the order of v1: what is wanted of it (target), or what it is (current)."""
    return {
        "object": (
            ("target", ("describedObject",)),
            ("metricName", _NAME),
            (value, (side, "value")),
            ("selector", _SELECTOR),
            ("averageValue", (side, "averageValue")),
        ),
        "pods": (("metricName", _NAME), (average, (side, "averageValue")), ("selector", _SELECTOR)),
        "resource": (
            ("name", ("name",)),
            (utilization, (side, "averageUtilization")),
            (average, (side, "averageValue")),
        ),
        "containerResource": (
            ("name", ("name",)),
            (utilization, (side, "averageUtilization")),
            (average, (side, "averageValue")),
            ("container", ("container",)),
        ),
        "external": (
            ("metricName", _NAME),
            ("metricSelector", _SELECTOR),
            (value, (side, "value")),
            (average, (side, "averageValue")),
        ),
    }


_WANTED: Final = _sources("target", "targetAverageValue", "targetValue", "targetAverageUtilization")
_MEASURED: Final = _sources("current", "currentAverageValue", "currentValue", "currentAverageUtilization")
_REFERENCE: Final = ("kind", "name", "apiVersion")
_TYPES: Final = {
    "object": "Object", "pods": "Pods", "resource": "Resource", "containerResource": "ContainerResource",
    "external": "External",
}  # fmt: skip

_NEVER_ABSENT: Final = frozenset(
    {
        ("object", "targetValue"), ("object", "currentValue"), ("pods", "targetAverageValue"),
        ("pods", "currentAverageValue"), ("resource", "currentAverageValue"),
        ("containerResource", "currentAverageValue"), ("external", "currentValue"),
    }
)  # fmt: skip
"""Quantities that v1 shows even where there are none."""


# From v2 to v1


def from_v2(obj: Obj) -> Obj:
    """An autoscaling/v2 autoscaler as v1 shows it."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics, behavior = spec.pop("metrics", None) or (), spec.pop("behavior", None)
    current, conditions = status.pop("currentMetrics", None) or (), status.pop("conditions", None) or ()
    percentages = [metric["resource"]["target"]["averageUtilization"] for metric in metrics if _is_percentage(metric)]
    if percentages:
        spec["targetCPUUtilizationPercentage"] = percentages[0]
    for metric in current:
        resource = metric.get("resource") or {}
        used = (resource.get("current") or {}).get("averageUtilization")
        if resource.get("name") == _CPU and used is not None:
            status["currentCPUUtilizationPercentage"] = used
    status.setdefault("currentReplicas", 0)
    values = {
        METRICS: [_metric_to_v1(metric, _WANTED) for metric in metrics if not _is_percentage(metric)],
        CURRENT: [_metric_to_v1(metric, _MEASURED) for metric in current],
        BEHAVIOR: behavior and _behavior_to_v1(behavior),
        CONDITIONS: [
            {key: condition[key] for key in _CONDITION if condition.get(key) is not None} for condition in conditions
        ],
    }
    annotated = {name: go_json(value, ordered=False) for name, value in values.items() if value}
    return {**obj, "metadata": _annotated(obj["metadata"], annotated), "spec": spec, "status": status}


def _is_percentage(metric: Obj) -> bool:
    resource = metric.get("resource") or {}
    return resource.get("name") == _CPU and (resource.get("target") or {}).get("averageUtilization") is not None


def _annotated(metadata: Obj, more: Mapping[str, str]) -> Obj:
    """Metadata with these annotations in place of those that it had of them."""
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _ANNOTATIONS}
    annotations |= more
    kept = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**kept, "annotations": annotations} if annotations else kept


def _metric_to_v1(metric: Obj, sources: Mapping[str, tuple[Field, ...]]) -> Obj:
    made: Obj = {"type": metric.get("type", "")}
    for source, fields in sources.items():
        if metric.get(source) is not None:
            made[source] = _source_to_v1(source, fields, metric[source])
    return made


def _source_to_v1(source: str, fields: Sequence[Field], given: Obj) -> Obj:
    made: Obj = {}
    for name, path in fields:
        value: Any = given
        for step in path:
            value = (value or {}).get(step)
        if path == ("describedObject",):
            value = {key: value[key] for key in _REFERENCE if key in value}
        if value is None and (source, name) in _NEVER_ABSENT:
            value = "0"
        if value is not None:
            made[name] = value
    return made


def _behavior_to_v1(behavior: Obj) -> Obj:
    return {"ScaleUp": _rules_to_v1(behavior.get("scaleUp")), "ScaleDown": _rules_to_v1(behavior.get("scaleDown"))}


def _rules_to_v1(rules: Obj | None) -> Obj | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": None if policies is None else [_policy_to_v1(policy) for policy in policies],
        "Tolerance": rules.get("tolerance"),
    }


def _policy_to_v1(policy: Obj) -> Obj:
    return {"Type": policy.get("type"), "Value": policy.get("value"), "PeriodSeconds": policy.get("periodSeconds")}


# From v1 to v2


def to_v2(obj: Obj) -> Obj:
    """An autoscaling/v1 autoscaler as v2 keeps it."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = obj["metadata"].get("annotations") or {}
    percent, used = (
        spec.pop("targetCPUUtilizationPercentage", None),
        status.pop("currentCPUUtilizationPercentage", None),
    )
    metrics = _read(annotations, METRICS, lambda given: [_metric_to_v2(metric, _WANTED) for metric in given]) or []
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append({"type": "Resource", "resource": {"name": _CPU, "target": target}})
    if metrics:
        spec["metrics"] = metrics
    behavior = _read(annotations, BEHAVIOR, _behavior_to_v2)
    if behavior:
        spec["behavior"] = behavior
    current = _read(annotations, CURRENT, lambda given: [_metric_to_v2(metric, _MEASURED) for metric in given])
    if current is None and used is not None:
        current = [{"type": "Resource", "resource": {"name": _CPU, "current": {"averageUtilization": used}}}]
    status["currentMetrics"] = current
    conditions = _read(annotations, CONDITIONS, list)
    if conditions:
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return {**obj, "metadata": _annotated(obj["metadata"], {}), "spec": spec, "status": status}


def _read(annotations: Mapping[str, str], name: str, convert: Callable[[Any], Any]) -> Any:
    """The value of an annotation; None if there is none that makes sense."""
    try:
        return convert(json.loads(annotations[name])) if name in annotations else None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _metric_to_v2(metric: Obj, sources: Mapping[str, tuple[Field, ...]]) -> Obj:
    source = next(name for name in sources if metric.get(name) is not None)
    given = metric[source]
    made: Obj = {}
    for name, path in sources[source]:
        value = given.get(name)
        if value is None:
            continue
        at = made
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = value
    if "target" in made:
        made["target"]["type"] = _target_type(made["target"])
    return {"type": metric.get("type") or _TYPES[source], source: made}


def _target_type(target: Obj) -> str:
    if "averageUtilization" in target:
        return "Utilization"
    if "averageValue" in target:
        if target.get("value") == "0":
            del target["value"]
        return "AverageValue" if "value" not in target else "Value"
    return "Value"


def _behavior_to_v2(given: Obj) -> Obj:
    # Go's decoder does not care about the case of names.
    known = {key.lower(): value for key, value in given.items()}
    return {key: _rules_to_v2(known[key.lower()]) for key in ("scaleUp", "scaleDown") if known.get(key.lower())}


def _rules_to_v2(given: Obj) -> Obj:
    known = {key.lower(): value for key, value in given.items() if value is not None}
    made = {
        key: known[key.lower()]
        for key in ("stabilizationWindowSeconds", "selectPolicy", "tolerance")
        if key.lower() in known
    }
    if "policies" in known:
        made["policies"] = [_policy_to_v2(policy) for policy in known["policies"]]
    return made


def _policy_to_v2(given: Obj) -> Obj:
    known = {key.lower(): value for key, value in given.items()}
    return {key: known[key.lower()] for key in ("type", "value", "periodSeconds") if key.lower() in known}
