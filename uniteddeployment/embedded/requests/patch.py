"""PATCH: applies a patch to an object or a subresource.

Contract: a patch yields the whole desired object, which is then handled like any update. An apply may also create a
missing object.
"""

import json
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError, bad_request, conflict
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import patch_body, write, yaml_body
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.patch_body import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, PatchBody
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.requests.yaml_body import Loaded
from uniteddeployment.embedded.storage.state import Core

APPLY_PATCH: Final = "application/apply-patch+yaml"

KINDS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


@dataclass(frozen=True, slots=True)
class Patched:
    """The result of a PATCH; ``created`` if an apply created the object."""

    obj: Obj
    created: bool = False


def check_media(media: str, *, custom: bool) -> None:
    """Refuse unsupported kinds of patches (415)."""
    if media not in KINDS:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    if custom and media == STRATEGIC_PATCH:
        accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
        text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise StatusError(415, "UnsupportedMediaType", text)


def read_apply(body: bytes) -> Loaded:
    """The configuration in the body of an apply."""
    try:
        loaded = yaml_body.load(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: {yaml_body.TO_JSON}{error}") from error
    if not isinstance(loaded.value, dict):
        raise bad_request("error decoding YAML: the configuration must be an object")
    bodies.check_type_meta("Unstructured", loaded.value, body)
    return loaded


def patch(core: Core, target: Target, media: str, body: bytes, call: Call) -> Patched:
    """Patch one object."""
    bodies.check_size(body)
    if media == APPLY_PATCH:
        return _apply(core, target, read_apply(body), call)
    node = core.registry.node(target.resource)

    def change(live: Obj) -> Obj:
        given = patch_body.read(media, body)
        new = typed(core, target, given.apply_to(live, node), given, call)
        bodies.patched(target.resource, new, call, given.complaints, given.shown)
        return _completed(target, new)

    return Patched(write.update(core, target, change, call))


def _completed(target: Target, new: Obj) -> Obj:
    """The result of a patch must be the object that the path names."""
    bodies.check_name(new, target.name, target.namespace)
    target.resource.strategy.default(new)
    return new


def typed(core: Core, target: Target, new: Obj, given: PatchBody, call: Call) -> Obj:
    """Convert the result of a patch to the resource's kind and version. Raises StatusError.

    A custom resource of another kind passes here, and is refused by its validation.
    """
    resource = target.resource
    if given.strategic:
        return {**new, "kind": resource.kind, "apiVersion": resource.api_version}
    for field in ("kind", "apiVersion"):
        if not isinstance(declared := new.get(field) or "", str):
            why = f"json: cannot unmarshal {bodies.json_type(declared)} into Go struct field .{field} of type string"
            raise bodies.bad_patch(f"{bodies.NO_KIND}: {why}")
    if resource.custom:
        return _custom(new)
    if not new.get("apiVersion"):
        # Decoded without a version, the object loses all of its fields.
        raise bodies.nameless(target.name)
    new["kind"] = new.get("kind") or resource.kind
    declared = (new["kind"], new["apiVersion"])
    if declared == (resource.kind, resource.api_version):
        return new
    return _of_other_kind(core, target, new, call)


def _custom(new: Obj) -> Obj:
    if not new.get("kind"):
        raise bodies.bad_patch(bodies.missing_kind(json.dumps(new, sort_keys=True, separators=(",", ":"))))
    if not new.get("apiVersion"):
        why = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        details = {"causes": [{"message": why}]}
        raise StatusError(500, "InternalError", f"Internal error occurred: {why}", details=details)
    return new


def _of_other_kind(core: Core, target: Target, new: Obj, call: Call) -> Obj:
    """Decode an object whose kind a patch changed as that kind, then convert it if possible."""
    resource = target.resource
    for other in core.registry:
        if (other.kind, other.api_version) == (new["kind"], new["apiVersion"]):
            bodies.patched(other, new, call)
            if bodies.stored(other) == bodies.stored(resource):
                return clone(core.registry.show(resource, core.registry.hide(other, new)))
    wanted = (resource.group, resource.kind)
    raise bodies.bad_patch(bodies.unconvertible(core.registry, wanted, new["kind"], new["apiVersion"]))


def _apply(core: Core, target: Target, loaded: Loaded, call: Call) -> Patched:
    live = write.live(core, target)
    if live is None and target.subresource:
        raise target.missing()

    def change(before: Obj | None) -> Obj:
        new = clone(_applied(core, target, before, loaded.value, call))
        check_repeated(loaded, call)
        bodies.patched(target.resource, new, call)
        return _completed(target, new)

    if live is not None:
        return Patched(write.update(core, target, change, call, owned=False))
    new = change(None)
    if new["metadata"].get("uid"):
        raise _uid_of_nothing(target, new["metadata"]["uid"])
    new["metadata"].pop("resourceVersion", None)
    return Patched(write.create(core, target, new, call, owned=False), created=True)


def check_repeated(loaded: Loaded, call: Call) -> None:
    """Refuse duplicate keys in a configuration, or add warnings about them."""
    if not loaded.repeated:
        return
    if call.validation == "Strict":
        errors = yaml_body.MISTAKES + "\n  ".join(loaded.repeated)
        raise bad_request(f"error strict decoding YAML: {yaml_body.TO_JSON}{errors}")
    bodies.warn(loaded.repeated, call)


def _uid_of_nothing(target: Target, uid: str) -> StatusError:
    resource = target.resource
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return conflict(resource.plural, resource.group, target.name, why)


def _applied(core: Core, target: Target, before: Obj | None, config: Obj, call: Call) -> Obj:
    resource = target.resource
    return managed.apply(
        before,
        config,
        manager=call.manager,
        force=call.force,
        api_version=resource.api_version,
        subresource=target.subresource,
        now=core.clock.now(),
        node=core.registry.node(resource),
        status=resource.status,
    )
