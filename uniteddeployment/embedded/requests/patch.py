"""PATCH: four kinds of patches on an object, a status or nothing at all.

Contract: a patch is turned into the whole object that it asks for, which then goes the way of every update. An apply
may also create what it does not find.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.nesting import NestingError, check_value
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError, bad_request, conflict
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.patch import json_patch as jsonpatch
from uniteddeployment.embedded.patch import merge, strategic
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import write
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.requests.yaml_body import parse_yaml
from uniteddeployment.embedded.schema.node import Node
from uniteddeployment.embedded.storage.state import Core

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

KINDS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


@dataclass(frozen=True, slots=True)
class Patched:
    """The answer to a PATCH; ``created`` if an apply found nothing to apply to."""

    obj: Obj
    created: bool = False


def check_media(media: str, *, custom: bool) -> None:
    """Refuse kinds of patches that are not spoken here (415)."""
    if media not in KINDS:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    if custom and media == STRATEGIC_PATCH:
        accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
        text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise StatusError(415, "UnsupportedMediaType", text)


def apply_to(media: str, live: Obj, body: bytes, node: Node) -> Obj:
    """The object that a JSON, merge or strategic merge patch makes of ``live``; private."""
    if media == JSON_PATCH:
        return _apply_json_patch(live, body)
    try:
        patch: Any = bodies.parse_json(body)
    except ValueError as error:
        raise bad_request(str(error)) from error
    if not isinstance(patch, dict):
        shape = bodies.json_type(patch)
        raise bad_request(f"json: cannot unmarshal {shape} into Go value of type map[string]interface {{}}")
    if media == MERGE_PATCH:
        return clone(merge.apply(live, patch))
    return clone(strategic.apply(live, patch, node))


def _apply_json_patch(live: Obj, body: bytes) -> Obj:
    try:
        operations = bodies.parse_json(body)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from error
    patched = jsonpatch.apply(live, operations)
    try:
        check_value(patched)
    except NestingError as error:
        raise bodies.bad_patch(str(error)) from error
    return clone(patched)


def read_apply(body: bytes) -> Obj:
    """The configuration in the body of an apply."""
    try:
        patch = parse_yaml(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(patch, dict):
        raise bad_request("error decoding YAML: the configuration must be an object")
    bodies.check_type_meta("Unstructured", patch, body)
    return patch


def patch(core: Core, target: Target, media: str, body: bytes, call: Call) -> Patched:
    """Patch one object."""
    bodies.check_size(body)
    if media == APPLY_PATCH:
        return _apply(core, target, read_apply(body), call)
    node = core.registry.node(target.resource)

    def change(live: Obj) -> Obj:
        new = apply_to(media, live, body, node)
        _decoded(core, target, new, call)
        return new

    return Patched(write.update(core, target, change, call))


def _decoded(core: Core, target: Target, new: Obj, call: Call) -> None:
    """What came out of a patch must be an object like any other."""
    resource = target.resource
    new.setdefault("kind", resource.kind)
    new.setdefault("apiVersion", resource.api_version)
    if (new["kind"], new["apiVersion"]) != (resource.kind, resource.api_version):
        raise _other_kind(core, new, call)
    bodies.patched(resource, new, call)
    bodies.check_name(new, target.name, target.namespace)
    resource.strategy.default(new)


def _other_kind(core: Core, new: Obj, call: Call) -> StatusError:
    """What is wrong with an object that a patch made into one of another kind: as that kind first, then as itself."""
    for other in core.registry:
        if (other.kind, other.api_version) == (new["kind"], new["apiVersion"]):
            try:
                bodies.patched(other, new, call)
            except StatusError as error:
                return error
            return bodies.bad_patch(f"converting ({other.version}.{other.kind}): unknown conversion")
    version, kind = json.dumps(new["apiVersion"]), json.dumps(new["kind"])
    return bodies.bad_patch(f"no kind {kind} is registered for version {version}")


def _apply(core: Core, target: Target, config: Obj, call: Call) -> Patched:
    live = write.live(core, target)
    if live is None and target.subresource:
        raise target.missing()

    def change(before: Obj | None) -> Obj:
        new = clone(_applied(core, target, before, config, call))
        _decoded(core, target, new, call)
        return new

    if live is not None:
        return Patched(write.update(core, target, change, call, owned=False))
    new = change(None)
    if new["metadata"].get("uid"):
        raise _uid_of_nothing(target, new["metadata"]["uid"])
    new["metadata"].pop("resourceVersion", None)
    return Patched(write.create(core, target, new, call, owned=False), created=True)


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
