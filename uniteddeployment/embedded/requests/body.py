"""Reading bodies: JSON and YAML, objects of the right kind, and fields that the schema does not know.

Contract: what comes out is a private object that says the kind and apiVersion of its resource and holds nothing that
the schema does not know. Texts of errors are the real server's, including those of its language's decoder.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery import nesting
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request
from uniteddeployment.embedded.requests import protobuf
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.negotiate import JSON, PROTOBUF
from uniteddeployment.embedded.requests.yaml_body import parse_yaml
from uniteddeployment.embedded.storage.registry import Registry

LIMIT: Final = 3 * 1024 * 1024
SUMMARY: Final = 30

_decode = msgspec.json.Decoder().decode
_NO_KIND = "couldn't get version/kind; json parse error"
_PARTS = frozenset({"metadata", "spec", "status", "target", "deleteOptions"})
_CANNOT_BE = "cannot be handled as a"
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_COLONS = re.compile(rb'"\s*:')


def check_size(body: bytes) -> None:
    """Refuse what is too large (413)."""
    if len(body) > LIMIT:
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LIMIT}")


_MISTAKES: Final = (
    ("Extra data", "after top-level value"),
    ("property name", "looking for beginning of object key string"),
    ("':' delimiter", "after object key"),
    ("control character", "in string literal"),
    ("escape", "in string escape code"),
    ("Expecting value", "looking for beginning of value"),
)
"""What Python's decoder says, and what Go's says of the same."""


def json_error(body: bytes) -> str:
    """What is wrong with a body that is no JSON, as Go's decoder says it."""
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].lstrip()
        if not rest or error.msg.startswith("Unterminated"):
            return "unexpected end of JSON input"
        inside = "after array element" if _in_array(error.doc[: error.pos]) else "after object key:value pair"
        where = next((said for mistake, said in _MISTAKES if mistake in error.msg), inside)
        return f"invalid character {rest[0]!r} {where}"
    except UnicodeDecodeError:
        return "invalid UTF-8 in string"
    return "unexpected end of JSON input"


def _in_array(text: str) -> bool:
    """Whether the innermost bracket that is open at the end of a text is that of a list."""
    brackets: list[str] = []
    for char in _STRINGS.sub("", text):
        if char in "[{":
            brackets.append(char)
        elif char in "]}" and brackets:
            brackets.pop()
    return bool(brackets) and brackets[-1] == "["


def parse_json(body: bytes) -> Any:
    """Any JSON value. Raises ValueError with the message of Go's decoder."""
    nesting.check_json(body)
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(json_error(body)) from error


def duplicates(body: bytes, value: Any) -> list[str]:
    """Paths of fields that a JSON body has twice. Cheap when there are none."""
    if len(_COLONS.findall(body)) <= _keys(value):
        return []
    found: list[str] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = _Pairs(pairs)
        seen: set[str] = set()
        built.twice = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]  # add returns None
        return built

    _collect(json.loads(body, object_pairs_hook=build), "", found)
    return found


class _Pairs(dict[str, Any]):
    """A decoded object that remembers which keys came twice."""

    twice: Sequence[str] = ()


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(item) for item in value.values() if isinstance(item, (dict, list)))
    if isinstance(value, list):
        return sum(_keys(item) for item in value if isinstance(item, (dict, list)))
    return 0


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, list):
        for i, item in enumerate(value):
            _collect(item, f"{path}[{i}]", found)
    elif isinstance(value, _Pairs):
        found += [f'duplicate field "{_join(path, key)}"' for key in value.twice]
        for key, item in value.items():
            _collect(item, _join(path, key), found)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def parse(body: bytes, media: str) -> Any:
    """A body in its media type. Raises ValueError."""
    if media == JSON:
        return parse_json(body)
    return _parse_protobuf(body) if media == PROTOBUF else parse_yaml(body)


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
    obj, strict = _parse(resource, body, media)
    _check_kind(registry, resource, obj, body)
    # Answers begin with what they are, whatever the order in the body.
    obj = {"kind": resource.kind, "apiVersion": resource.api_version, **obj}
    conform(resource, obj, call, strict)
    return obj


def _parse(resource: Resource, body: bytes, media: str) -> tuple[Obj, list[str]]:
    try:
        value = parse(body, media)
    except ValueError as error:
        raise _unrecognized(resource.kind, f"{_NO_KIND}: {error}", body) from error
    strict = duplicates(body, value) if media == JSON else []
    if not isinstance(value, dict):
        shape = json_type(value)
        struct = (
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
        why = f"json: cannot unmarshal {shape} into Go value of type {struct}"
        raise _unrecognized(resource.kind, f"{_NO_KIND}: {why}", body)
    check_type_meta(resource.kind, value, body)
    return value, strict


def json_type(value: Any) -> str:
    """What Go's decoder calls a value that is no object."""
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
    """What an object says it is must be text."""
    for field in ("apiVersion", "kind"):
        said = obj.get(field)
        if said is not None and not isinstance(said, str):
            why = f"json: cannot unmarshal {json_type(said)} into Go struct field .{field} of type string"
            raise _unrecognized(expected, f"{_NO_KIND}: {why}", body)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    head = body[:SUMMARY]
    text = head.decode(errors="replace") if body[:1] == b"{" else head.hex()
    return f"{text} ..." if len(body) > SUMMARY else text


def _check_kind(registry: Registry, resource: Resource, obj: Obj, body: bytes) -> None:
    """The object must be of the kind of the resource; built-in kinds may leave it unsaid."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if resource.custom:
        if not kind:
            raise bad_request(f"Object 'Kind' is missing in '{body.decode(errors='replace')}'")
        if api_version and api_version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
        if kind != resource.kind:
            raise bad_request(
                f"{kind} in version {json.dumps(resource.version)} cannot be handled as a {resource.kind}: "
                f"no kind {json.dumps(kind)} is registered for version {json.dumps(resource.api_version)}"
            )
    elif (kind or resource.kind, api_version or resource.api_version) != (resource.kind, resource.api_version):
        said = (str(kind or resource.kind), str(api_version or resource.api_version))
        raise _other_kind(registry, (resource.group, resource.kind), *said)
    obj["kind"], obj["apiVersion"] = resource.kind, resource.api_version


def _other_kind(registry: Registry, wanted: tuple[str, str], kind: str, api_version: str) -> StatusError:
    """400 for an object of another kind than the path is about, whose group and kind are ``wanted``."""
    group, expected = wanted
    version = api_version.rpartition("/")[2]
    if any(other.kind == kind and other.api_version == api_version for other in registry):
        package = group.split(".", 1)[0] or "core"
        why = f"converting ({version}.{kind}) to ({package}.{expected}): unknown conversion"
    else:
        why = (
            f"no kind {json.dumps(kind)} is registered for version {json.dumps(api_version)} in scheme "
            '"pkg/api/legacyscheme/scheme.go:30"'
        )
    return bad_request(f"{kind} in version {json.dumps(version)} cannot be handled as a {expected}: {why}")


def read_plain(registry: Registry, kind: str, api_version: str, body: bytes, media: str) -> Obj:
    """An object that is not stored: a Scale, an Eviction, a Binding, a review."""
    check_size(body)
    try:
        obj = parse(body, media)
    except ValueError as error:
        raise _unrecognized(kind, f"{_NO_KIND}: {error}", body) from error
    if not isinstance(obj, dict):
        raise _unrecognized(kind, f"{_NO_KIND}: json: cannot unmarshal {json_type(obj)}", body)
    check_type_meta(kind, obj, body)
    said = (obj.get("kind") or kind, obj.get("apiVersion") or api_version)
    if said != (kind, api_version):
        raise _other_kind(registry, (api_version.rpartition("/")[0], kind), *said)
    obj["kind"], obj["apiVersion"] = kind, api_version
    check_parts(kind, obj)
    return obj


def check_parts(kind: str, obj: Obj) -> None:
    """The parts of an object that has no schema here must be objects; there is always metadata."""
    for field in _PARTS & obj.keys():
        if obj[field] is None:
            del obj[field]
        elif not isinstance(obj[field], dict):
            raise mistyped(kind, f"{kind}.{field}", obj[field], "object")
    obj.setdefault("metadata", {})


def mistyped(kind: str, field: str, value: Any, wanted: str) -> StatusError:
    """400 for a value of a wrong type in an object that has no schema here."""
    why = f"json: cannot unmarshal {json_type(value)} into Go struct field {field} of type {wanted}"
    return bad_request(f'{kind} in version "v1" {_CANNOT_BE} {kind}: {why}')


def conform(resource: Resource, obj: Obj, call: Call, strict: Sequence[str] = ()) -> None:
    """Drop unknown fields, and warn of them or refuse them."""
    metadata = obj.get("metadata")
    if metadata is None:
        obj["metadata"] = {}
    wrong = [*strict, *resource.strategy.conform(obj)]
    if not wrong:
        return
    if call.validation == "Strict":
        raise bad_request(
            f"{resource.kind} in version {json.dumps(resource.version)} {_CANNOT_BE} {resource.kind}: "
            f"strict decoding error: {', '.join(wrong)}"
        )
    if call.validation == "Warn":
        call.warnings += wrong


def patched(resource: Resource, obj: Obj, call: Call) -> None:
    """The same for the result of a patch, whose errors are worded as those of a field called ``patch``."""
    try:
        conform(resource, obj, call)
    except StatusError as error:
        if error.code != 400:
            raise
        raise bad_patch(error.message.rpartition(f"{_CANNOT_BE} {resource.kind}: ")[2]) from error


def bad_patch(why: str) -> StatusError:
    """422 for a patch whose result cannot be decoded."""
    text = f"Invalid value: <object>: {why}"
    cause = Cause("FieldValueInvalid", text, "patch")
    details: Mapping[str, Any] = {"causes": [{"reason": cause.reason, "message": text, "field": cause.field}]}
    return StatusError(422, "Invalid", f' "" is invalid: patch: {text}', details=dict(details))


def check_name(obj: Obj, name: str, namespace: str) -> None:
    """The object of an update must be the one that the path names."""
    metadata = obj.get("metadata") or {}
    said = metadata.get("name", "")
    if not said:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if said != name:
        raise bad_request(f"the name of the object ({said}) does not match the name on the URL ({name})")
    if namespace and metadata.get("namespace", namespace) not in ("", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def read_options(body: bytes, media: str) -> Obj | None:
    """The DeleteOptions in the body of a DELETE, if there are any."""
    check_size(body)
    if not body.strip():
        return None
    try:
        value = parse(body, media)
    except ValueError as error:
        raise bad_request(f"error decoding DeleteOptions: {error}") from error
    if not isinstance(value, dict):
        raise bad_request("DeleteOptions must be an object")
    return value
