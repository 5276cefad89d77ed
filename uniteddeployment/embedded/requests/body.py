"""Request bodies: JSON, YAML and protobuf, the expected kind, unknown fields.

Contract: the result is a private object with the kind and apiVersion of its resource and without unknown fields. Error
messages are the real server's, including those of Go's decoder.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from uniteddeployment.embedded.apimachinery import nesting
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request
from uniteddeployment.embedded.requests import protobuf, yaml_body
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.json_body import parse_json, repeated
from uniteddeployment.embedded.requests.negotiate import JSON, PROTOBUF, YAML
from uniteddeployment.embedded.storage.registry import Registry

LIMIT: Final = 3 * 1024 * 1024
SUMMARY: Final = 30

NO_KIND = "couldn't get version/kind; json parse error"
_PARTS = frozenset({"metadata", "spec", "status", "target", "deleteOptions"})
_CANNOT_BE = "cannot be handled as a"
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
STRICT: Final = "strict decoding error"


def check_size(body: bytes) -> None:
    """Refuse a body that is too large (413)."""
    if len(body) > LIMIT:
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LIMIT}")


class Body(NamedTuple):
    """A decoded body, with facts about its text that the value lost.

    ``document`` is set for JSON with duplicate fields; ``repeated`` are duplicate fields of YAML. ``ordered`` is False
    if errors of strict decoding are reported in the order of sorted field names instead of the order of the text.
    """

    value: Any
    document: Any = None
    repeated: tuple[str, ...] = ()
    ordered: bool = True


def parse(body: bytes, media: str) -> Body:
    """Decode a body in its media type. Raises ValueError."""
    if media == JSON:
        value = parse_json(body)
        return Body(value, repeated(body, value))
    if media == PROTOBUF:
        return Body(_parse_protobuf(body))
    loaded = yaml_body.load(body)
    return Body(loaded.value, repeated=loaded.repeated, ordered=False)


def _parse_protobuf(body: bytes) -> Obj:
    try:
        obj = protobuf.decode(body)
    except RecursionError as error:
        raise nesting.NestingError("proto: exceeded max depth") from error
    nesting.check_value(obj)
    return obj


# Objects


def read_object(registry: Registry, resource: Resource, body: bytes, media: str, call: Call) -> Obj:
    """The object of a create or an update."""
    check_size(body)
    read = _parse(resource, body, media)
    obj: Obj = read.value
    _check_kind(registry, resource, obj, body)
    # Responses begin with kind and apiVersion, whatever the order in the body.
    obj = {"kind": resource.kind, "apiVersion": resource.api_version, **obj}
    conform(resource, obj, call, read)
    return obj


def _parse(resource: Resource, body: bytes, media: str) -> Body:
    try:
        read = parse(body, media)
    except ValueError as error:
        why = str(error) if media == YAML else f"{NO_KIND}: {error}"
        raise _unrecognized(resource.kind, why, body) from error
    value = {} if read.value is None else read.value
    if not isinstance(value, dict):
        struct = (
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
        why = f"json: cannot unmarshal {json_type(value)} into Go value of type {struct}"
        raise _unrecognized(resource.kind, f"{NO_KIND}: {why}", body)
    check_type_meta(resource.kind, value, body)
    return read._replace(value=value)


def json_type(value: Any) -> str:
    """Go's name for the type of a JSON value."""
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"


def _unrecognized(kind: str, why: str, body: bytes) -> StatusError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})")


def check_type_meta(expected: str, obj: Obj, body: bytes) -> None:
    """kind and apiVersion must be strings."""
    for field in ("apiVersion", "kind"):
        declared = obj.get(field)
        if declared is not None and not isinstance(declared, str):
            why = f"json: cannot unmarshal {json_type(declared)} into Go struct field .{field} of type string"
            raise _unrecognized(expected, f"{NO_KIND}: {why}", body)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    head = body[:SUMMARY]
    text = head.decode(errors="replace") if body[:1] == b"{" else head.hex()
    return f"{text} ..." if len(body) > SUMMARY else text


def _check_kind(registry: Registry, resource: Resource, obj: Obj, body: bytes) -> None:
    """The object must have the kind of the resource; built-in kinds may omit it.

    A custom resource of another kind passes here, and is refused by its validation.
    """
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if resource.custom:
        if not kind:
            raise _unrecognized(resource.kind, missing_kind(body.decode(errors="replace")), body)
        if api_version != resource.api_version:
            raise _other_version(api_version or "", resource.api_version)
        return
    if (kind or resource.kind, api_version or resource.api_version) != (resource.kind, resource.api_version):
        declared = (str(kind or resource.kind), str(api_version or resource.api_version))
        raise _of_other_kind(registry, resource, *declared, body)
    obj["kind"], obj["apiVersion"] = resource.kind, resource.api_version


def missing_kind(text: str) -> str:
    """The error text for an object without a kind."""
    return f"Object 'Kind' is missing in '{text}'"


def _other_version(api_version: str, wanted: str) -> StatusError:
    text = f"the API version in the data ({api_version}) does not match the expected API version ({wanted})"
    return bad_request(text)


def _of_other_kind(registry: Registry, resource: Resource, kind: str, api_version: str, body: bytes) -> StatusError:
    """400 for an object that has not the kind or version of the path."""
    if api_version.count("/") > 1:
        return _unrecognized(resource.kind, f"unexpected GroupVersion string: {api_version}", body)
    if any(
        (other.kind, other.api_version) == (kind, api_version) and stored(other) == stored(resource)
        for other in registry
    ):
        return _other_version(api_version, resource.api_version)
    version = api_version.rpartition("/")[2]
    why = unconvertible(registry, (resource.group, resource.kind), kind, api_version)
    return bad_request(f"{kind} in version {json.dumps(version)} {_CANNOT_BE} {resource.kind}: {why}")


def stored(resource: Resource) -> str:
    """The name of the table that all versions of a resource share."""
    return resource.storage or resource.key


def unconvertible(registry: Registry, wanted: tuple[str, str], kind: str, api_version: str) -> str:
    """The error text for an object of a kind that cannot be converted to ``wanted`` (group and kind)."""
    group, expected = wanted
    if any(other.kind == kind and other.api_version == api_version for other in registry):
        package, version = group.split(".", 1)[0] or "core", api_version.rpartition("/")[2]
        return f"converting ({version}.{kind}) to ({package}.{expected}): unknown conversion"
    return (
        f"no kind {json.dumps(kind)} is registered for version {json.dumps(api_version)} in scheme "
        '"pkg/api/legacyscheme/scheme.go:30"'
    )


def read_plain(registry: Registry, kind: str, api_version: str, body: bytes, media: str) -> Obj:
    """An object that is not stored: a Scale, an Eviction, a Binding, a review."""
    check_size(body)
    try:
        obj = parse(body, media).value
    except ValueError as error:
        raise _unrecognized(kind, f"{NO_KIND}: {error}", body) from error
    if not isinstance(obj, dict):
        raise _unrecognized(kind, f"{NO_KIND}: json: cannot unmarshal {json_type(obj)}", body)
    check_type_meta(kind, obj, body)
    declared = (obj.get("kind") or kind, obj.get("apiVersion") or api_version)
    if declared != (kind, api_version):
        version = declared[1].rpartition("/")[2]
        why = unconvertible(registry, (api_version.rpartition("/")[0], kind), *declared)
        raise bad_request(f"{declared[0]} in version {json.dumps(version)} {_CANNOT_BE} {kind}: {why}")
    obj["kind"], obj["apiVersion"] = kind, api_version
    check_parts(kind, obj)
    return obj


def check_parts(kind: str, obj: Obj) -> None:
    """The parts of an object without a schema must be objects; metadata always exists."""
    for field in _PARTS & obj.keys():
        if obj[field] is None:
            del obj[field]
        elif not isinstance(obj[field], dict):
            raise mistyped(kind, f"{kind}.{field}", obj[field], "object")
    obj.setdefault("metadata", {})


def mistyped(kind: str, field: str, value: Any, wanted: str) -> StatusError:
    """400 for a value of the wrong type in an object without a schema."""
    why = f"json: cannot unmarshal {json_type(value)} into Go struct field {field} of type {wanted}"
    return bad_request(f'{kind} in version "v1" {_CANNOT_BE} {kind}: {why}')


def conform(resource: Resource, obj: Obj, call: Call, read: Body) -> None:
    """Drop unknown fields, with a warning or an error."""
    complaints = _conformed(resource, obj, read)
    if not complaints:
        return
    if call.validation == "Strict":
        raise bad_request(
            f"{resource.kind} in version {json.dumps(resource.version)} {_CANNOT_BE} {resource.kind}: "
            f"{STRICT}: {', '.join(complaints)}"
        )
    warn(complaints, call)


def _conformed(resource: Resource, obj: Obj, read: Body) -> list[str]:
    """Decode an object in place and return the errors of strict decoding."""
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    unknown = resource.strategy.conform(obj)
    if read.document is not None:
        return list(resource.strategy.complaints(read.document, unknown))
    if unknown and not (read.ordered or resource.custom):
        unknown = sorted(unknown, key=_place)
    return [yaml_body.MISTAKES + "\n  ".join(read.repeated), *unknown] if read.repeated else list(unknown)


def warn(complaints: Sequence[str], call: Call) -> None:
    """Add the errors of strict decoding as warnings, if the client wants warnings."""
    if call.validation == "Warn":
        for text in complaints:
            call.warnings += [line.strip() for line in text.removeprefix(yaml_body.MISTAKES).split("\n")]


_PATCHED: Final = Body(None, ordered=False)


def patched(resource: Resource, obj: Obj, call: Call, strict: Sequence[str] = (), shown: str = "<object>") -> None:
    """Decode the result of a patch, whose errors are reported for a field called ``patch``.

    ``strict`` are errors of strict decoding in the patch itself; ``shown`` is the value in the message.
    """
    try:
        complaints = [*strict, *_conformed(resource, obj, _PATCHED)]
    except StatusError as error:
        if error.code != 400:
            raise
        raise bad_patch(error.message.rpartition(f"{_CANNOT_BE} {resource.kind}: ")[2], shown) from error
    if complaints and call.validation == "Strict":
        raise bad_patch(f"{STRICT}: {', '.join(complaints)}", shown)
    warn(complaints, call)


def _place(complaint: str) -> list[tuple[str, int]]:
    """Sort key of errors: the position of the field in a document with sorted keys."""
    return [(name, int(index or -1)) for name, index in _STEPS.findall(complaint)]


def bad_patch(why: str, shown: str = "<object>") -> StatusError:
    """422 for a patch whose result cannot be decoded."""
    text = f"Invalid value: {shown}: {why}"
    cause = Cause("FieldValueInvalid", text, "patch")
    details: Mapping[str, Any] = {"causes": [{"reason": cause.reason, "message": text, "field": cause.field}]}
    return StatusError(422, "Invalid", f' "" is invalid: patch: {text}', details=dict(details))


def nameless(name: str) -> StatusError:
    """400 for an object without a name."""
    return bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def check_name(obj: Obj, name: str, namespace: str) -> None:
    """The object of an update must have the name and namespace of the path."""
    metadata = obj.get("metadata") or {}
    declared = metadata.get("name", "")
    if not declared:
        raise nameless(name)
    if declared != name:
        raise bad_request(f"the name of the object ({declared}) does not match the name on the URL ({name})")
    if namespace and metadata.get("namespace", namespace) not in ("", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def read_options(body: bytes, media: str) -> Obj | None:
    """The DeleteOptions in the body of a DELETE, if there are any."""
    check_size(body)
    if not body.strip():
        return None
    try:
        value = parse(body, media).value
    except ValueError as error:
        raise bad_request(f"error decoding DeleteOptions: {error}") from error
    if not isinstance(value, dict):
        raise bad_request("DeleteOptions must be an object")
    return value
