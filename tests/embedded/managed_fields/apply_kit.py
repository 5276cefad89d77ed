"""Objects, schemas and shortcuts for tests of server-side apply."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from uniteddeployment.embedded.builtin.shapes import resolve
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.schema.node import Node, node_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = node_of(resolve("io.k8s.api.core.v1.ConfigMap"), resolve)
SERVICE = node_of(resolve("io.k8s.api.core.v1.Service"), resolve)
STRINGS = {"type": "array", "items": {"type": "string"}}
PORT = {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "note": {"type": "string"}}
SPEC = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "number": {"type": "integer"},
    "set": {**STRINGS, "x-kubernetes-list-type": "set"},
    "atomic": {**STRINGS, "x-kubernetes-list-type": "atomic"},
    "plain": STRINGS,
    "byname": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {name: {"type": "string"} for name in ("name", "val", "other")}},
    },
    "byport": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "properties": PORT},
    },
    "amap": {"type": "object", "additionalProperties": {"type": "string"}},
    "atomicmap": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "additionalProperties": {"type": "string"},
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}},
}
THING = node_of(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": SPEC},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}, "conditions": CONDITIONS}},
        },
    },
    resolve,
)

Obj = dict[str, Any]


def apply(live: Obj | None, patch: Obj, manager: str, *, node: Node = CONFIG_MAP, at: int = 0, **options: Any) -> Obj:
    before, config = copy.deepcopy(live), copy.deepcopy(patch)
    arguments = {"force": False, "api_version": "v1", "subresource": "", **options}
    result = managed.apply(live, patch, manager=manager, now=NOW + timedelta(seconds=at), node=node, **arguments)
    assert (live, patch) == (before, config)
    return result


def refused(live: Obj | None, patch: Obj, manager: str, **options: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(live, patch, manager, **options)
    return caught.value


def cm(data: Obj | None = None, **metadata: Any) -> Obj:
    obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", **metadata}}
    return obj if data is None else {**obj, "data": data}


def thing(spec: Obj | None = None, **parts: Any) -> Obj:
    obj: Obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, **parts}
    return obj if spec is None else {**obj, "spec": spec}


def apply_thing(live: Obj | None, patch: Obj, manager: str, **options: Any) -> Obj:
    return apply(live, patch, manager, node=THING, api_version="example.com/v1", **options)


def owners(obj: Obj) -> dict[str, Obj]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def update(live: Obj | None, new: Obj, manager: str, **options: Any) -> Obj:
    written = copy.deepcopy(new)
    arguments = {"api_version": "v1", "subresource": "", "node": CONFIG_MAP, **options}
    managed.update(live, written, manager=manager, now=NOW, **arguments)
    return written


A = cm({"k1": "v1", "k2": "v2"}, labels={"a": "1"})
