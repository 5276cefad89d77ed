"""The scale subresource: a view of three fields of an object that is the same for every kind."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Column, Obj, RawSchema, Resource, ScalePaths
from uniteddeployment.embedded.apimachinery.tables import CREATED_DESCRIPTION, NAME_DESCRIPTION
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.cells import cell
from uniteddeployment.embedded.builtin.strategy import BuiltinStrategy, Rules
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request, invalid
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
VERSION: Final = "v1"
API_VERSION: Final = "autoscaling/v1"
DEFINITION: Final = "io.k8s.api.autoscaling.v1.Scale"
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
_UNSET: Final = -(2**31)
"""Replicas of a custom resource without replicas, while a patch is applied."""
_UNDECODABLE: Final = (
    'no kind is registered for the type v1.Scale in scheme "pkg/apiserver/customresource_handler.go:781"'
)
_UNOWNED: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to "
    "proper version: request to convert CR to an invalid group/version: autoscaling/v1"
)
"""The real server cannot apply a Scale to a custom resource whose replicas have no owner."""
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _columns(desired: str, available: str) -> tuple[Column, ...]:
    return (
        Column("Name", "string", cell("name"), NAME_DESCRIPTION, "name"),
        Column("Desired", "integer", lambda obj, _: obj["spec"].get("replicas", 0), desired),
        Column("Available", "integer", lambda obj, _: obj["status"]["replicas"], available),
    )


COLUMNS: Final = (
    *_columns(
        "replicas is the desired number of instances for the scaled object.",
        "replicas is the actual number of observed instances of the scaled object.",
    ),
    Column("Age", "string", cell("age"), CREATED_DESCRIPTION),
)
"""The table columns of a built-in kind's Scale."""

CUSTOM_COLUMNS: Final = (
    *_columns("Number of desired replicas", "Number of actual replicas"),
    Column("Age", "date", cell("age"), CREATED_DESCRIPTION),
)


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
    obj, paths = _live(core, target), _paths(target)
    if target.resource.custom and at(obj, paths.replicas) is None:
        why = f"the spec replicas field {json.dumps(paths.replicas)} does not exist"
        details = {"causes": [{"message": why}]}
        raise StatusError(500, "InternalError", f"Internal error occurred: {why}", details=details)
    return scale_of(paths, obj)


def _live(core: Core, target: Target) -> Obj:
    obj = write.live(core, target)
    if obj is None:
        raise target.missing()
    return obj


def _paths(target: Target) -> ScalePaths:
    paths = target.resource.scale
    if paths is None:
        raise target.missing()
    return paths


@lru_cache(maxsize=1)
def _scales() -> Resource:
    """The Scale as a resource, for decoding."""
    strategy = BuiltinStrategy(DEFINITION, kind=KIND, version=VERSION, status=False, generation=(), rules=Rules())
    return Resource(
        group=GROUP,
        version=VERSION,
        kind=KIND,
        plural="scales",
        singular="scale",
        strategy=strategy,
        schema=shapes.resolve(DEFINITION),
        resolve=shapes.resolve,
    )


def read(core: Core, target: Target, raw: bytes, media: str, call: Call) -> Obj:
    """The Scale in the body of a PUT."""
    try:
        return bodies.read_object(core.registry, _scales(), raw, media, call)
    except StatusError as error:
        if target.resource.custom and error.code == 400:
            # The real server's decoder of custom resources cannot report errors of a Scale.
            raise bad_request(_UNDECODABLE) from error
        raise


def update(core: Core, target: Target, scale: Obj, call: Call) -> Obj:
    """Set the replicas of an object to those of a Scale; return the new Scale."""
    bodies.check_name(scale, target.name, target.namespace)
    paths = _paths(target)

    _drop_zero(scale)

    def change(live: Obj) -> Obj:
        write.check_uid(target, scale["metadata"], live)
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
    if replicas < 0 and not target.resource.custom:
        text = f"Invalid value: {json.dumps(replicas)}: must be greater than or equal to 0"
        raise invalid(KIND, GROUP, target.name, [Cause("FieldValueInvalid", text, "spec.replicas")])
    new = clone(live)
    put(new, paths.replicas, replicas)
    metadata, scale_metadata = new["metadata"], scale["metadata"]
    if scale_metadata.get("resourceVersion"):
        metadata["resourceVersion"] = scale_metadata["resourceVersion"]
    metadata["managedFields"] = scaled.of_object(
        metadata.get("managedFields"), scale_metadata.get("managedFields"), paths.replicas, target.resource.api_version
    )
    return new


def patch(core: Core, target: Target, media: str, raw: bytes, call: Call) -> Obj:
    """Patch the Scale of an object; return the new Scale."""
    bodies.check_size(raw)
    if media == patches.APPLY_PATCH:
        return _apply(core, target, patches.read_apply(raw), call)
    live, paths, resource = _live(core, target), _paths(target), _scales()
    before = scale_of(paths, live)
    if target.resource.custom and at(live, paths.replicas) is None:
        before["spec"]["replicas"] = _UNSET
    given = patch_body.read(media, raw)
    new = given.apply_to(before, core.registry.node(resource))
    new = patches.typed(core, target._replace(resource=resource), new, given, call)
    bodies.patched(resource, new, call, given.complaints, given.shown)
    if new["spec"].get("replicas") == _UNSET:
        raise bad_request(f"the spec replicas field {json.dumps(paths.replicas)} cannot be empty")
    return update(core, target, new, call)


def _apply(core: Core, target: Target, loaded: Loaded, call: Call) -> Obj:
    """Server-side apply of a Scale."""
    paths, config = _paths(target), loaded.value

    def change(live: Obj) -> Obj:
        scale = _owned_scale(paths, live)
        if target.resource.custom and not scale["metadata"]["managedFields"]:
            raise StatusError(500, "", _UNOWNED)
        applied = managed.apply(scale, config, force=call.force, **_ownership(core, call))
        patches.check_repeated(loaded, call)
        bodies.check_name(config, target.name, target.namespace)
        return _with(live, target, clone(applied))

    return scale_of(paths, write.update(core, target, change, call, owned=False))
