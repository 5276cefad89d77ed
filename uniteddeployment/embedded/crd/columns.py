"""Table columns of custom resources: ``additionalPrinterColumns``, or name and age."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.duration import human
from uniteddeployment.embedded.apimachinery.resources import Column, Obj
from uniteddeployment.embedded.apimachinery.tables import CREATED_DESCRIPTION, NAME_DESCRIPTION
from uniteddeployment.embedded.crd.field_errors import number
from uniteddeployment.embedded.crd.jsonpath import JSONPathError, compile_path

CUSTOM_DESCRIPTION: Final = "Custom resource definition column (in JSONPath format): "

_AGE: Final = {
    "name": "Age",
    "type": "date",
    "description": CREATED_DESCRIPTION,
    "jsonPath": ".metadata.creationTimestamp",
}


def columns_of(version: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of one version of a custom resource; the name is always first."""
    printed = version.get("additionalPrinterColumns") or [_AGE]
    name = Column(name="Name", type="string", format="name", description=NAME_DESCRIPTION, cell=_name)
    return (name, *(_column(column) for column in printed))


def _name(obj: Obj, _now: datetime) -> Any:
    return obj["metadata"]["name"]


def _column(spec: Mapping[str, Any]) -> Column:
    path = spec["jsonPath"]
    return Column(
        name=spec["name"],
        type=spec["type"],
        format=spec.get("format") or "",
        description=spec.get("description") or f"{CUSTOM_DESCRIPTION}{path}",
        priority=int(spec.get("priority") or 0),
        cell=_cell(path, spec["type"]),
    )


def _cell(path: str, type_: str) -> Callable[[Obj, datetime], Any]:
    try:
        find = compile_path(path)
    except JSONPathError:
        return lambda _obj, _now: None

    def cell(obj: Obj, now: datetime) -> Any:
        # The real server shows the first of several matches.
        values = find(obj)
        if not values or values[0] is None:
            return None
        if type_ == "string":
            return _text(values[0])
        return _convert(values[0], type_, now)

    return cell


def _convert(value: Any, type_: str, now: datetime) -> Any:
    """A value in the type of its column; None if it has another type."""
    if type_ == "integer":
        return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if type_ == "number":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if type_ == "boolean":
        return value if isinstance(value, bool) else None
    if type_ == "date":
        return _age(value, now)
    return None


def _text(value: Any) -> str:
    """A value as JSONPath prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return str(value)


def _age(value: Any, now: datetime) -> str:
    try:
        then = datetime.fromisoformat(str(value))
    except ValueError:
        return "<invalid>"
    return human((now - then).total_seconds())
