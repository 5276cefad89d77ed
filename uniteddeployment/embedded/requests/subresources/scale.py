"""The scale subresource: a view of three fields of an object that is the same for every kind."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Column, Obj, RawSchema, ScalePaths
from uniteddeployment.embedded.apimachinery.tables import CREATED_DESCRIPTION, NAME_DESCRIPTION
from uniteddeployment.embedded.builtin.cells import cell
from uniteddeployment.embedded.errors import Cause, invalid
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.managed_fields import scale as scaled
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import patch as patches
from uniteddeployment.embedded.requests import patch_body, write
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.requests.yaml_body import Loaded
from uniteddeployment.embedded.schema.node import node_of
from uniteddeployment.embedded.storage.state import Core

GROUP: Final = "autoscaling"
KIND: Final = "Scale"
API_VERSION: Final = "autoscaling/v1"
SUBRESOURCE: Final = "scale"

SCHEMA: Final[RawSchema] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {
            "type": "object",
            "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
        },
    },
}
_NODE: Final = node_of(SCHEMA, lambda _: {})
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


COLUMNS: Final = (
    Column("Name", "string", cell("name"), NAME_DESCRIPTION, "name"),
    Column(
        "Desired",
        "integer",
        lambda obj, _: obj["spec"].get("replicas", 0),
        "replicas is the desired number of instances for the scaled object.",
    ),
    Column(
        "Available",
        "integer",
        lambda obj, _: obj["status"]["replicas"],
        "replicas is the actual number of observed instances of the scaled object.",
    ),
    Column("Age", "string", cell("age"), CREATED_DESCRIPTION),
)
"""The table columns of a built-in kind's Scale."""


def at(obj: Obj, path: str) -> Any:
    """The value at a dotted path, or None."""
    value: Any = obj
    for step in path.strip(".").split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def put(obj: Obj, path: str, value: Any) -> None:
    """Set the value at a dotted path."""
    *parents, last = path.strip(".").split(".")
    for step in parents:
        obj = obj.setdefault(step, {})
    obj[last] = value


def scale_of(paths: ScalePaths, obj: Obj) -> Obj:
    """The Scale of an object."""
    replicas = at(obj, paths.replicas) or 0
    status: Obj = {"replicas": at(obj, paths.status_replicas) or 0}
    if selector := _selector(paths, obj):
        status["selector"] = selector
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {field: obj["metadata"][field] for field in _METADATA if field in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(paths: ScalePaths, obj: Obj) -> str:
    """The label selector as text. Custom resources store text, built-in kinds an object in their spec.

    A ReplicationController has a plain label map.
    """
    value = at(obj, paths.selector) if paths.selector else None
    if value is None:
        value = at(obj, ".spec.selector")
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    return format_selector(value if obj["kind"] != "ReplicationController" else {"matchLabels": value})


def format_selector(selector: Mapping[str, Any]) -> str:
    """A LabelSelector as text."""
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, operator, values = expression["key"], expression["operator"], expression.get("values") or ()
        terms.append((key, _term(key, operator, values)))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def _term(key: str, operator: str, values: Sequence[str]) -> str:
    match operator:
        case "In":
            return f"{key} in ({','.join(sorted(values))})"
        case "NotIn":
            return f"{key} notin ({','.join(sorted(values))})"
        case "Exists":
            return key
        case _:
            return f"!{key}"


def get(core: Core, target: Target) -> Obj:
    """The Scale of a stored object."""
    obj = write.live(core, target)
    if obj is None:
        raise target.missing()
    return scale_of(_paths(target), obj)


def _paths(target: Target) -> ScalePaths:
    paths = target.resource.scale
    if paths is None:
        raise target.missing()
    return paths


def read(core: Core, raw: bytes, media: str) -> Obj:
    """The Scale in the body of a PUT."""
    bodies.check_size(raw)
    scale = bodies.read_plain(core.registry, KIND, API_VERSION, raw, media)
    scale.setdefault("spec", {})
    return scale


def update(core: Core, target: Target, scale: Obj, call: Call) -> Obj:
    """Set the replicas of an object to those of a Scale; return the new Scale."""
    bodies.check_name(scale, target.name, target.namespace)
    paths = _paths(target)

    _drop_zero(scale)

    def change(live: Obj) -> Obj:
        managed.update(_owned_scale(paths, live), scale, **_ownership(core, call))
        return _with(live, target, scale)

    return scale_of(paths, write.update(core, target, change, call, owned=False))


def _drop_zero(scale: Obj) -> None:
    """A Scale with zero replicas omits the field, so the field has no owner."""
    replicas = scale["spec"].get("replicas")
    if replicas is None or (replicas == 0 and not isinstance(replicas, bool)):
        scale["spec"].pop("replicas", None)


def _owned_scale(paths: ScalePaths, live: Obj) -> Obj:
    """The Scale of an object, with the owners of its replicas."""
    scale = scale_of(paths, live)
    scale["metadata"]["managedFields"] = scaled.of_scale(live["metadata"].get("managedFields"), paths.replicas)
    return scale


def _ownership(core: Core, call: Call) -> dict[str, Any]:
    """The arguments of field ownership for a Scale."""
    return {
        "manager": call.manager,
        "api_version": API_VERSION,
        "subresource": SUBRESOURCE,
        "now": core.clock.now(),
        "node": _NODE,
        "status": False,
    }


def _with(live: Obj, target: Target, scale: Obj) -> Obj:
    """The object with the replicas of its new Scale and their owners."""
    paths = _paths(target)
    replicas = (scale.get("spec") or {}).get("replicas")
    replicas = 0 if replicas is None else replicas
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bodies.mistyped(KIND, "ScaleSpec.spec.replicas", replicas, "int32")
    if replicas < 0 and not target.resource.custom:
        text = f"Invalid value: {json.dumps(replicas)}: must be greater than or equal to 0"
        raise invalid(KIND, GROUP, target.name, [Cause("FieldValueInvalid", text, "spec.replicas")])
    new = clone(live)
    put(new, paths.replicas, replicas)
    metadata, scale_metadata = new["metadata"], scale["metadata"]
    for field in ("resourceVersion", "uid"):
        if scale_metadata.get(field):
            metadata[field] = scale_metadata[field]
    metadata["managedFields"] = scaled.of_object(
        metadata.get("managedFields"), scale_metadata.get("managedFields"), paths.replicas, target.resource.api_version
    )
    return new


def patch(core: Core, target: Target, media: str, raw: bytes, call: Call) -> Obj:
    """Patch the Scale of an object; return the new Scale."""
    bodies.check_size(raw)
    if media == patches.APPLY_PATCH:
        return _apply(core, target, patches.read_apply(raw), call)
    scale = get(core, target)
    new = patch_body.read(media, raw).apply_to(scale, _NODE)
    bodies.check_parts(KIND, new)
    new.setdefault("spec", {})
    return update(core, target, new, call)


def _apply(core: Core, target: Target, loaded: Loaded, call: Call) -> Obj:
    """Server-side apply of a Scale."""
    paths, config = _paths(target), loaded.value

    def change(live: Obj) -> Obj:
        applied = managed.apply(_owned_scale(paths, live), config, force=call.force, **_ownership(core, call))
        patches.check_repeated(loaded, call)
        bodies.check_name(config, target.name, target.namespace)
        return _with(live, target, clone(applied))

    return scale_of(paths, write.update(core, target, change, call, owned=False))
