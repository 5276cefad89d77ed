"""Responses: objects, lists and statuses in the form and media type that the client accepts."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import yaml

from uniteddeployment.embedded.apimachinery import tables
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.requests.negotiate import JSON, YAML, Accepted
from uniteddeployment.embedded.storage.state import Core

encode = msgspec.json.Encoder().encode
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@cache
def head(kind: str, api_version: str) -> bytes:
    """The first bytes of an object, which precede its stored JSON without the opening brace."""
    return f'{{"kind":{json.dumps(kind)},"apiVersion":{json.dumps(api_version)},'.encode()


def full(resource: Resource, raw: bytes) -> bytes:
    """The JSON of a stored object, with kind and apiVersion."""
    return head(resource.kind, resource.api_version) + raw[1:]


def list_kind(resource: Resource) -> str:
    return str(resource.extra.get("listKind") or f"{resource.kind}List")


def warning_values(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts as values of Warning headers."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in dict.fromkeys(texts))
    return tuple(f'299 - "{text}"' for text in quoted)


def raw_json(body: bytes, status: int = 200, warnings: Sequence[str] = ()) -> Response:
    return Response(status, {"content-type": JSON}, body, warnings=warning_values(warnings))


def text(body: str, status: int = 200) -> Response:
    headers = {"content-type": "text/plain; charset=utf-8"}
    if status >= 400:
        headers["x-content-type-options"] = "nosniff"
    return Response(status, headers, body.encode())


def value(obj: Any, accepted: Accepted, status: int = 200, warnings: Sequence[str] = ()) -> Response:
    """Any value in the accepted media type."""
    if accepted.media == YAML:
        body = yaml.dump(obj, Dumper=_Dumper, default_flow_style=False, allow_unicode=True).encode()
        return Response(status, {"content-type": YAML}, body, warnings=warning_values(warnings))
    return raw_json(encode(obj), status, warnings)


def error(failure: StatusError) -> Response:
    """The Status of an error."""
    headers = {"content-type": JSON}
    if failure.retry_after is not None:
        headers["retry-after"] = str(failure.retry_after)
    return Response(failure.code, headers, encode(failure.body()))


def object_(
    core: Core,
    resource: Resource,
    obj: Obj,
    accepted: Accepted,
    query: Mapping[str, str],
    *,
    status: int = 200,
    warnings: Sequence[str] = (),
) -> Response:
    """One object in the accepted form."""
    if accepted.form == "Table":
        obj = table_of(core, resource, [obj], _version_of(obj), query)
    elif accepted.form == "PartialObjectMetadata":
        obj = tables.partial(obj)
    elif accepted.form:
        text = f"you requested {accepted.form}, but the requested object is not a list"
        raise StatusError(406, "NotAcceptable", text)
    return value(obj, accepted, status, warnings)


def _version_of(obj: Obj) -> dict[str, str]:
    version = obj["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def table_of(
    core: Core, resource: Resource, objects: Sequence[Obj], metadata: Mapping[str, Any], query: Mapping[str, str]
) -> Obj:
    included = tables.include(query.get("includeObject", ""))
    return tables.table(resource, objects, metadata=metadata, now=core.clock.now(), included=included)


def list_(
    core: Core,
    resource: Resource,
    objects: Sequence[Obj],
    metadata: Mapping[str, Any],
    *,
    accepted: Accepted,
    query: Mapping[str, str],
) -> Response:
    """Several objects in the accepted form."""
    if accepted.form == "Table":
        shown = {name: item for name, item in metadata.items() if item != ""}
        return value(table_of(core, resource, objects, shown, query), accepted)
    if accepted.form == "PartialObjectMetadataList":
        items = [tables.partial(obj) for obj in objects]
        listed = {"kind": accepted.form, "apiVersion": tables.META_VERSION, "metadata": metadata, "items": items}
        return value(listed, accepted)
    if accepted.form:
        text = f"you requested {accepted.form}, but the requested object is a list (*{list_kind(resource)})"
        raise StatusError(406, "NotAcceptable", text)
    items = list(objects) if resource.custom else [_nameless(obj) for obj in objects]
    listed = {
        "kind": list_kind(resource),
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": items,
    }
    return value(listed, accepted)


def _nameless(obj: Obj) -> Obj:
    """Items of typed lists do not repeat kind and apiVersion."""
    return {field: item for field, item in obj.items() if field not in ("kind", "apiVersion")}


def raw_list(resource: Resource, raws: Sequence[bytes], metadata: Mapping[str, Any]) -> Response:
    """A list of stored objects of a built-in kind, concatenated without decoding."""
    start = head(list_kind(resource), resource.api_version)
    return raw_json(b"".join((start, b'"metadata":', encode(metadata), b',"items":[', b",".join(raws), b"]}")))


def success(resource: Resource, name: str, uid: str) -> Obj:
    """The Status in the response to a DELETE."""
    details = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
