"""Tables: objects as rows of cells, for ``kubectl get``."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from uniteddeployment.embedded.apimachinery.resources import Column, Obj, Resource
from uniteddeployment.embedded.errors import bad_request

Include = Literal["Metadata", "Object", "None"]
_INCLUDES: Final[Mapping[str, Include]] = {"": "Metadata", "Metadata": "Metadata", "Object": "Object", "None": "None"}

META_VERSION: Final = "meta.k8s.io/v1"

NAME_DESCRIPTION: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def _name(obj: Obj, _: datetime) -> Any:
    return obj["metadata"].get("name", "")


def _created(obj: Obj, _: datetime) -> Any:
    return obj["metadata"].get("creationTimestamp")


DEFAULT_COLUMNS: Final = (
    Column("Name", "string", _name, NAME_DESCRIPTION, "name"),
    Column("Created At", "date", _created, CREATED_DESCRIPTION),
)
"""The columns of a kind that declares none."""


def include(value: str) -> Include:
    """Parse the query parameter includeObject. Raises StatusError (400)."""
    parsed = _INCLUDES.get(value)
    if parsed is None:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{value}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return parsed


def partial(obj: Obj) -> Obj:
    """An object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": obj["metadata"]}


def table(
    resource: Resource,
    objects: Sequence[Obj],
    *,
    metadata: Mapping[str, Any],
    now: datetime,
    included: Include,
    definitions: bool = True,
) -> Obj:
    """The Table of some objects. Watches send column definitions with the first event only."""
    columns = resource.columns or DEFAULT_COLUMNS
    return {
        "kind": "Table",
        "apiVersion": META_VERSION,
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in columns] if definitions else None,
        "rows": [_row(resource, obj, now, included) for obj in objects],
    }


def _definition(column: Column) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(resource: Resource, obj: Obj, now: datetime, included: Include) -> Obj:
    conditions: Callable[[Obj], Sequence[Obj]] | None = resource.extra.get("row_conditions")
    row: Obj = {"cells": [column.cell(obj, now) for column in resource.columns or DEFAULT_COLUMNS]}
    if conditions is not None and (row_conditions := conditions(obj)):
        row["conditions"] = row_conditions
    if included == "Metadata":
        row["object"] = partial(_without(obj, resource.extra.get("row_hides", ())))
    elif included == "Object":
        row["object"] = obj
    else:
        row["object"] = None
    return row


def _without(obj: Obj, hidden: Collection[str]) -> Obj:
    """An object without the annotations that rows hide."""
    metadata = obj["metadata"]
    if not hidden or not metadata.get("annotations"):
        return obj
    rest = {key: value for key, value in metadata["annotations"].items() if key not in hidden}
    shown = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**obj, "metadata": {**shown, "annotations": rest} if rest else shown}
