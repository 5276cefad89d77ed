"""OpenAPI v3 documents of the served resources: an index of group versions, and one document for each.

The documents contain what kubectl reads: the fields of a kind and their descriptions (``explain``), patch types and
query parameters (``apply``, ``--validate``, ``--dry-run=server``), and list keys. Functions are pure. Documents are
cached by their content, so that clusters that serve the same resources share them; callers must not change them.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from cachetools import LRUCache

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.discovery.schemas import META, SCHEMAS, Components, gvk_of

Json = dict[str, Any]

_SCALE: Final = ("autoscaling", "v1", "Scale")
_STATUS: Final = ("", "v1", "Status")
_DELETE_OPTIONS: Final = ("", "v1", "DeleteOptions")
_INFO: Final = {"title": "Kubernetes", "version": "v1.36.0"}
_INFO_OF_CUSTOM: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}

_FORM: Final = 2
"""Part of every hash: kubectl keeps documents by their hash, so a change of what they contain changes the number."""

_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC: Final = "application/strategic-merge-patch+json"

_cache: LRUCache[str, Json] = LRUCache(maxsize=128)


def index(resources: Iterable[Resource]) -> Json:
    """The body of ``/openapi/v3``: the location of each group version's document."""
    paths: Json = {}
    for (group, version), members in sorted(_by_version(resources).items()):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_fingerprint(members)}"}
    return {"paths": paths}


def document(group: str, version: str, resources: Iterable[Resource]) -> Json | None:
    """The document of one group version; None if it is not served."""
    members = _by_version(resources).get((group, version))
    if not members:
        return None
    key = _fingerprint(members)
    cached = _cache.get(key)
    if cached is None:
        cached = _cache[key] = _build(members)
    return cached


def _by_version(resources: Iterable[Resource]) -> dict[tuple[str, str], list[Resource]]:
    versions: dict[tuple[str, str], list[Resource]] = {}
    for resource in resources:
        versions.setdefault((resource.group, resource.version), []).append(resource)
    return versions


def _fingerprint(members: list[Resource]) -> str:
    """The identity of a set of resources; built-in kinds count by name."""
    digest = hashlib.sha512()
    for resource in sorted(members, key=lambda member: member.plural):
        schema = resource.schema if resource.custom else None
        selectable = list(resource.field_selectors) if resource.custom else None
        says = (
            _FORM,
            resource.api_version,
            resource.plural,
            resource.kind,
            resource.namespaced,
            resource.verbs,
            resource.status,
            resource.scale is not None,
            schema,
            selectable,
            resource.extra.get("listKind"),
        )
        digest.update(json.dumps(says).encode())
    return digest.hexdigest().upper()


def _build(members: list[Resource]) -> Json:
    components = Components()
    paths: Json = {}
    for resource in sorted(members, key=lambda member: member.plural):
        paths.update(_paths(resource, components))
    return {
        "openapi": "3.0.0",
        "info": _INFO_OF_CUSTOM if all(resource.custom for resource in members) else _INFO,
        "paths": paths,
        "components": {"schemas": dict(sorted(components.schemas.items()))},
    }


# Paths


def _parameter(name: str, description: str, type_: str = "string") -> Json:
    return {"name": name, "in": "query", "description": description, "schema": {"type": type_, "uniqueItems": True}}


def _path_parameter(name: str, description: str) -> Json:
    schema = {"type": "string", "uniqueItems": True}
    return {"name": name, "in": "path", "description": description, "required": True, "schema": schema}


_PRETTY: Final = _parameter("pretty", "If 'true', then the output is indented.")
_DRY_RUN: Final = _parameter("dryRun", "'All' goes through everything but storing the change.")
_FIELD_MANAGER: Final = _parameter("fieldManager", "The name of the actor that makes the change.")
_FIELD_VALIDATION: Final = _parameter("fieldValidation", "What to do about unknown fields: Ignore, Warn or Strict.")
_FORCE: Final = _parameter("force", "Take fields from other managers (apply patches only).", "boolean")
_WRITE: Final = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)
_DELETE: Final = (
    _DRY_RUN,
    _parameter("gracePeriodSeconds", "How long to wait before the object is deleted.", "integer"),
    _parameter("orphanDependents", "Deprecated: use propagationPolicy.", "boolean"),
    _parameter("propagationPolicy", "Whether and how dependents are deleted: Orphan, Background or Foreground."),
)
_LIST: Final = (
    _parameter("allowWatchBookmarks", "Send bookmarks in a watch.", "boolean"),
    _parameter("continue", "Where a list goes on."),
    _parameter("fieldSelector", "Which objects, by fields."),
    _parameter("labelSelector", "Which objects, by labels."),
    _parameter("limit", "How many objects at most.", "integer"),
    _parameter("resourceVersion", "Which version the list is of, or the watch goes on from."),
    _parameter("resourceVersionMatch", "How resourceVersion is meant."),
    _parameter("sendInitialEvents", "Begin a watch with what is there.", "boolean"),
    _parameter("timeoutSeconds", "When the request ends.", "integer"),
    _parameter("watch", "Tell of changes as they come.", "boolean"),
)


def _paths(resource: Resource, components: Components) -> Json:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scoped = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    collection = f"{scoped}/{resource.plural}"
    item = f"{collection}/{{name}}"
    namespace = [_path_parameter("namespace", "The namespace of the objects.")] if resource.namespaced else []
    named = [_path_parameter("name", f"The name of the {resource.kind}."), *namespace]
    build = _Operations(resource, components)
    paths: Json = {collection: build.collection([*namespace, _PRETTY]), item: build.item([*named, _PRETTY])}
    if resource.namespaced and "list" in resource.verbs:
        paths[f"{root}/{resource.plural}"] = {"get": build.list(), "parameters": [*_LIST, _PRETTY]}
    kind = components.kind(resource)
    if resource.status:
        paths[f"{item}/status"] = build.subresource(kind, gvk_of(resource), [*named, _PRETTY])
    if resource.scale is not None:
        group, version, scale = _SCALE
        gvk = {"group": group, "version": version, "kind": scale}
        paths[f"{item}/scale"] = build.subresource(components.built_in(_SCALE), gvk, [*named, _PRETTY])
    return {path: operations for path, operations in paths.items() if len(operations) > 1}


class _Operations:
    """The operations of one resource."""

    def __init__(self, resource: Resource, components: Components) -> None:
        self._resource = resource
        self._components = components
        self._kind = components.kind(resource)
        self._gvk = gvk_of(resource)

    def collection(self, parameters: list[Json]) -> Json:
        path: Json = {"parameters": parameters}
        verbs = self._resource.verbs
        if "list" in verbs:
            path["get"] = self.list(parameters=_LIST)
        if "create" in verbs:
            path["post"] = self._operation("post", self._kind, body=self._kind, parameters=_WRITE)
        if "deletecollection" in verbs:
            status = self._components.built_in(_STATUS)
            path["delete"] = self._operation(
                "deletecollection", status, body=self._options(), parameters=(*_DELETE, *_LIST)
            )
        return path

    def item(self, parameters: list[Json]) -> Json:
        path: Json = {"parameters": parameters}
        verbs, kind = self._resource.verbs, self._kind
        if "get" in verbs:
            path["get"] = self._operation("get", kind)
        if "update" in verbs:
            path["put"] = self._operation("put", kind, body=kind, parameters=_WRITE)
        if "patch" in verbs:
            path["patch"] = self._patch(kind, self._gvk)
        if "delete" in verbs:
            status = self._components.built_in(_STATUS)
            path["delete"] = self._operation("delete", status, body=self._options(), parameters=_DELETE)
        return path

    def subresource(self, kind: str, gvk: Json, parameters: list[Json]) -> Json:
        return {
            "parameters": parameters,
            "get": self._operation("get", kind, gvk=gvk),
            "put": self._operation("put", kind, body=kind, gvk=gvk, parameters=_WRITE),
            "patch": self._patch(kind, gvk),
        }

    def list(self, parameters: tuple[Json, ...] = ()) -> Json:
        return self._operation("list", self._components.list(self._resource), parameters=parameters)

    def _options(self) -> str:
        return self._components.built_in(_DELETE_OPTIONS)

    def _patch(self, kind: str, gvk: Json) -> Json:
        types = _PATCH_TYPES if self._resource.custom else (*_PATCH_TYPES, _STRATEGIC)
        schema = self._components.add(f"{META}Patch")
        operation = self._operation("patch", kind, gvk=gvk, parameters=(*_WRITE, _FORCE))
        operation["requestBody"] = {"required": True, "content": {type_: {"schema": schema} for type_ in types}}
        return operation

    def _operation(
        self, action: str, answer: str, *, body: str = "", gvk: Json | None = None, parameters: tuple[Json, ...] = ()
    ) -> Json:
        content = {"application/json": {"schema": {"$ref": f"{SCHEMAS}{answer}"}}}
        operation: Json = {
            "tags": [f"{self._resource.group or 'core'}_{self._resource.version}"],
            "description": f"{action} {self._resource.kind}",
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk or self._gvk,
        }
        if parameters:
            operation["parameters"] = list(parameters)
        if body:
            operation["requestBody"] = {"content": {"*/*": {"schema": {"$ref": f"{SCHEMAS}{body}"}}}}
            if not action.startswith("delete"):
                operation["requestBody"]["required"] = True
        return operation
