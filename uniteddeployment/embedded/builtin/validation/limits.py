"""Validation of quotas and limit ranges."""

from collections.abc import Mapping

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.quantity import NANO, nano
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    NON_NEGATIVE,
    duplicate,
    forbidden,
    invalid,
    invalids,
    required,
)
from uniteddeployment.embedded.errors import Cause

_COMPUTE = ("cpu", "memory", "ephemeral-storage", "storage")
_ORDER = (
    ("min", "max", "min value {} is greater than max value {}"),
    ("defaultRequest", "max", "default request value {} is greater than max value {}"),
    ("default", "max", "default value {} is greater than max value {}"),
    ("min", "defaultRequest", "min value {} is greater than default request value {}"),
    ("min", "default", "min value {} is greater than default value {}"),
    ("defaultRequest", "default", "default request value {} is greater than default limit value {}"),
)
"""Pairs of amounts of which the first may not exceed the second."""


def resource_quota(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    for name, amount in ((obj.get("spec") or {}).get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        causes += invalids("spec.hard", name, names.label_key(name))
        if nano(amount) < 0:
            causes.append(invalid(path, amount, NON_NEGATIVE))
        elif not name.endswith(_COMPUTE) and nano(amount) % NANO:
            causes.append(invalid(path, amount, "must be an integer"))
    return causes


def limit_range(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        at = f"spec.limits[{index}]"
        kind = item.get("type", "")
        if not kind:
            causes.append(required(f"{at}.type"))
        if kind in taken:
            causes.append(duplicate(f"{at}.type", kind))
        taken.add(kind)
        causes += _item(item, at, kind)
    return causes


def _item(item: Obj, path: str, kind: str) -> list[Cause]:
    causes: list[Cause] = []
    if kind == "Pod":
        causes += [
            forbidden(f"{path}.{key}", "may not be specified when `type` is 'Pod'")
            for key in ("default", "defaultRequest")
            if item.get(key)
        ]
    if kind == "PersistentVolumeClaim" and not item.get("min") and not item.get("max"):
        causes.append(
            required(f"{path}.limits", "either minimum or maximum storage value is required, but neither was provided")
        )
    for low, high, text in _ORDER:
        causes += _above(item.get(low) or {}, item.get(high) or {}, f"{path}.{low}", text)
    return causes


def _above(low: Mapping[str, str], high: Mapping[str, str], path: str, text: str) -> list[Cause]:
    return [
        invalid(f"{path}[{name}]", amount, text.format(amount, high[name]))
        for name, amount in low.items()
        if name in high and nano(amount) > nano(high[name])
    ]
