"""Defaults of autoscalers: metrics and scaling behavior."""

from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj

_CPU_PERCENT = 80
_SCALE_UP: list[Obj] = [
    {"type": "Pods", "value": 4, "periodSeconds": 15},
    {"type": "Percent", "value": 100, "periodSeconds": 15},
]
_SCALE_DOWN: list[Obj] = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _autoscaler_spec(spec: Obj) -> None:
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _rules(behavior, "scaleUp", _SCALE_UP, window=0)
        _rules(behavior, "scaleDown", _SCALE_DOWN, window=None)


def _rules(behavior: Obj, key: str, policies: list[Obj], *, window: int | None) -> None:
    rules: dict[str, Any] = behavior.setdefault(key, {})
    if rules.get("stabilizationWindowSeconds") is None and window is not None:
        rules["stabilizationWindowSeconds"] = window
    if rules.get("selectPolicy") is None:
        rules["selectPolicy"] = "Max"
    if not rules.get("policies"):
        rules["policies"] = [dict(policy) for policy in policies]


COMPUTED: dict[str, Callable[[Obj], None]] = {"autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler_spec}
