"""The strategy of custom resources, and the resources of a definition."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.golang import go_plain, go_type
from uniteddeployment.embedded.apimachinery.json_document import Document, distinct, duplicates
from uniteddeployment.embedded.apimachinery.names import label_key
from uniteddeployment.embedded.apimachinery.resources import Obj, RawSchema, Resource, ScalePaths
from uniteddeployment.embedded.builtin.decoding import DecodeError, conform
from uniteddeployment.embedded.builtin.shapes import shape_of
from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.columns import columns_of
from uniteddeployment.embedded.crd.definition.conditions import ESTABLISHED, TERMINATING, is_true
from uniteddeployment.embedded.crd.jsonpath import simple_path
from uniteddeployment.embedded.crd.schema import CompiledSchema, compiled
from uniteddeployment.embedded.crd.validate import type_name
from uniteddeployment.embedded.errors import Cause, StatusError
from uniteddeployment.embedded.schema.object_meta import with_meta

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")

OBJECT_META_DEFINITION: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_GO_TYPES: Final = {"integer": "number", "boolean": "bool"}
_MAX_INT32: Final = 2**31 - 1


def resources_of(crd: Obj) -> list[Resource]:
    """The resources of an established definition, one for each served version; none if it is not established."""
    if not is_true(crd, ESTABLISHED):
        return []
    return [_resource(crd, version) for version in crd["spec"]["versions"] if version.get("served")]


def _resource(crd: Obj, version: Mapping[str, Any]) -> Resource:
    spec = crd["spec"]
    names = crd["status"]["acceptedNames"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True}
    subresources = version.get("subresources") or {}
    scale = _scale(subresources.get("scale"))
    strategy = CustomStrategy(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        schema=compiled(schema),
        status="status" in subresources,
        scale=scale,
        terminating=is_true(crd, TERMINATING),
    )
    extra: dict[str, Any] = {"listKind": names.get("listKind") or f"{names['kind']}List"}
    if version.get("deprecated"):
        default_text = f"{spec['group']}/{version['name']} {names['kind']} is deprecated"
        extra["deprecation"] = version.get("deprecationWarning") or default_text
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        strategy=strategy,
        schema=with_meta(schema),
        resolve=_no_references,
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        status="status" in subresources,
        scale=scale,
        columns=columns_of(version),
        field_selectors={
            field["jsonPath"].removeprefix("."): _selectable(field["jsonPath"])
            for field in version.get("selectableFields") or ()
        },
        custom=True,
        extra=extra,
    )


def _scale(paths: Mapping[str, str] | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        replicas=paths["specReplicasPath"],
        status_replicas=paths["statusReplicasPath"],
        selector=paths.get("labelSelectorPath"),
    )


def _selectable(path: str) -> Any:
    get = simple_path(path)

    def text(obj: Obj) -> str:
        value = get(obj)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return text


def _no_references(reference: str) -> RawSchema:
    raise KeyError(reference)


class CustomStrategy:
    """The strategy of one version of a custom resource."""

    def __init__(
        self,
        *,
        group: str,
        version: str,
        kind: str,
        plural: str,
        schema: CompiledSchema,
        status: bool,
        scale: ScalePaths | None,
        terminating: bool = False,
    ) -> None:
        self._group = group
        self._version = version
        self._kind = kind
        self._plural = plural
        self._schema = schema
        self._status = status
        self._scale = scale
        self._terminating = terminating

    def conform(self, obj: Obj) -> Sequence[str]:
        """Decode the metadata and prune the rest; return the errors of strict decoding."""
        unknown = self._decode_metadata(obj)
        unknown += [f'unknown field "{path}"' for path in self._schema.prune(obj)]
        return unknown

    def _decode_metadata(self, obj: Obj) -> list[str]:
        """Metadata is decoded as that of built-in kinds, whatever the schema contains."""
        metadata = obj.get("metadata")
        if metadata is None:
            obj["metadata"] = {}
            return []
        if not isinstance(metadata, dict):
            go_type = _GO_TYPES.get(type_name(metadata), type_name(metadata))
            text = f"json: cannot unmarshal {go_type} into Go value of type v1.ObjectMeta"
            raise DecodeError(self._kind, self._version, text)
        unknown = conform(metadata, shape_of(OBJECT_META_DEFINITION), self._kind, self._version)
        return [text.replace('"', '"metadata.', 1) for text in unknown]

    def complaints(self, document: Document, unknown: Sequence[str]) -> Sequence[str]:
        """Duplicate fields first, then unknown ones."""
        return [*distinct(duplicates(document)), *unknown]

    def default(self, obj: Obj) -> None:
        """Set the defaults of the schema."""
        self._schema.default(obj)

    def prepare_create(self, obj: Obj) -> None:
        """Set generation 1, and drop the status if it is a subresource."""
        metadata = obj["metadata"]
        if self._terminating:
            raise self._refused(metadata.get("name", ""))
        if self._status:
            obj.pop("status", None)
        metadata["generation"] = 1

    def _refused(self, name: str) -> StatusError:
        why = "create not allowed while custom resource definition is terminating"
        details = {"name": name, "group": self._group, "kind": self._plural}
        text = f'{self._plural}.{self._group} "{name}" is forbidden: {why}'
        return StatusError(403, "Forbidden", text, details=details)

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        """Let the status subresource change only the status, and count generations for other changes."""
        if subresource == "status":
            self._only_status(new, old)
            return
        if self._status:
            _take(new, old, "status")
        generation = old["metadata"].get("generation", 1)
        new["metadata"]["generation"] = generation + (_content(new) != _content(old))

    def _only_status(self, new: Obj, old: Obj) -> None:
        kept = {key: value for key, value in old.items() if key not in {"apiVersion", "kind", "metadata", "status"}}
        metadata = dict(old["metadata"])
        for key in ("managedFields", "resourceVersion"):
            if key in new["metadata"]:
                metadata[key] = new["metadata"][key]
        for key in [key for key in new if key not in {"apiVersion", "kind", "metadata", "status"}]:
            del new[key]
        new.update(kept)
        new["metadata"] = metadata

    def validate_create(self, obj: Obj) -> Sequence[Cause]:
        """Schema, scale, duplicates and rules."""
        return self._type_errors(obj) or self._schema.errors(obj, scale=self._scale_errors)

    def validate_update(self, new: Obj, old: Obj, subresource: str) -> Sequence[Cause]:
        """The same for an update; errors of unchanged values are ignored."""
        return self._type_errors(new) or self._schema.errors(
            new, old, subresource=subresource, scale=self._scale_errors
        )

    def _type_errors(self, obj: Obj) -> list[Cause]:
        """The object must have the kind and version of the path."""
        wanted = {"kind": self._kind, "apiVersion": f"{self._group}/{self._version}"}
        return [
            fe.invalid((None, field), obj[field], f"must be {value}")
            for field, value in wanted.items()
            if obj.get(field, value) != value
        ]

    def _scale_errors(self, obj: Obj) -> list[Cause]:
        """Replicas must be in the range of the scale subresource."""
        if self._scale is None:
            return []
        errors: list[Cause] = []
        for dotted in (self._scale.replicas, self._scale.status_replicas):
            value, problem = _accessed(obj, dotted, int)
            if problem:
                errors.append(_at(dotted, 0, problem))
            elif value is not None and value < 0:
                errors.append(_at(dotted, value, "should be a non-negative integer"))
            elif value is not None and value > _MAX_INT32:
                errors.append(_at(dotted, value, f"should be less than or equal to {_MAX_INT32}"))
        if self._scale.selector:
            _, problem = _accessed(obj, self._scale.selector, str)
            errors += [_at(self._scale.selector, "", problem)] if problem else []
        return errors

    def warnings(self, new: Obj, old: Obj | None) -> Sequence[str]:
        """Warn of new finalizers without a domain."""
        present = () if old is None else old["metadata"].get("finalizers") or ()
        added = sorted(set(new["metadata"].get("finalizers") or ()).difference(present))
        return [text for name in added for text in _finalizer_warnings(name)]


def _at(path: str, value: object, text: str) -> Cause:
    """A field of the scale subresource, which the real server names with a leading dot."""
    return Cause("FieldValueInvalid", f"Invalid value: {json.dumps(value)}: {text}", path)


def _accessed(obj: Obj, dotted: str, wanted: type) -> tuple[Any, str]:
    """The value at a path (None if there is none), and the error if its type is wrong."""
    value: Any = obj
    names = dotted.strip(".").split(".")
    for index, name in enumerate(names):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            at = "." + ".".join(names[: index + 1])
            return None, _mistyped(at, value, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    if not isinstance(value, wanted) or isinstance(value, bool):
        return None, _mistyped("." + ".".join(names), value, {int: "int64", str: "string"}[wanted])
    return value, ""


def _mistyped(path: str, value: object, wanted: str) -> str:
    return f"{path} accessor error: {go_plain(value)} is of the type {go_type(value)}, expected {wanted}"


def _finalizer_warnings(name: str) -> list[str]:
    prefix = f'metadata.finalizers: "{name}": '
    warnings = [f"{prefix}{text}" for text in label_key(name)]
    if "/" not in name and name not in meta.STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        warnings.append(
            f"{prefix}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other "
            "finalizer writers"
        )
    return warnings


def _take(new: Obj, old: Obj, key: str) -> None:
    """Set ``key`` of ``new`` to its value in ``old``."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def _content(obj: Obj) -> dict[str, Any]:
    """The part of an object that counts for the generation."""
    return {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
