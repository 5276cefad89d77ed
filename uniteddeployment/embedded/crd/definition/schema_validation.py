"""Validation of the schema of a CustomResourceDefinition: whether it is structural and consistent.

A structural schema declares every field exactly once, outside of ``allOf``, ``anyOf``, ``oneOf`` and ``not``; these may
only restrict values. Pruning, defaulting and field ownership rely on it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.cel.compilation import check_rules
from uniteddeployment.embedded.crd.cel.rules import compile_rules
from uniteddeployment.embedded.crd.field_errors import Path, child, render
from uniteddeployment.embedded.crd.prune import compile_pruner
from uniteddeployment.embedded.crd.regex import PatternError, compile_re2
from uniteddeployment.embedded.crd.schema import compiled
from uniteddeployment.embedded.crd.structural import META_FIELDS, NOTHING, parse
from uniteddeployment.embedded.crd.validate import compile_validator
from uniteddeployment.embedded.errors import Cause

Raw = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref", "$schema")
_JUNCTORS: Final = ("anyOf", "allOf", "oneOf")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING_MARK: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})

_NESTED_FORBIDDEN: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_OR_STRING_MARK, "must be false to be structural"),
    (_MAP_KEYS, "must be empty to be structural"),
    (_LIST_TYPE, "must be undefined to be structural"),
    (_MAP_TYPE, "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def check_schema(schema: Raw, path: Path) -> list[Cause]:
    """All errors of a schema; rules are checked if there are no others."""
    errors: list[Cause] = []
    _general(schema, path, errors)
    if schema.get("nullable"):
        errors.append(fe.forbidden(child(path, "nullable"), "nullable cannot be true at the root"))
    structural: list[Cause] = []
    _structure(schema, path, structural, level="root")
    _completeness(schema, schema, path, path, structural)
    errors += sorted(structural, key=lambda cause: (cause.field, cause.message))
    if not errors:
        _defaults(schema, path, errors, is_root=True)
    if not errors:
        errors += check_rules(compiled(schema).node, path)
    if not errors:
        _default_rules(schema, path, errors)
    return errors


def _children(schema: Raw, path: Path) -> Iterator[tuple[Raw, Path, str]]:
    """The schemas of the values inside: (schema, path, level)."""
    for name, sub in (schema.get("properties") or {}).items():
        yield sub, child(path, f"properties[{name}]"), "field"
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield schema["additionalProperties"], child(path, "additionalProperties"), "field"
    if isinstance(schema.get("items"), Mapping):
        yield schema["items"], child(path, "items"), "item"


def _nested(schema: Raw, path: Path) -> Iterator[tuple[Raw, Path]]:
    """The schemas that only restrict values."""
    for junctor in _JUNCTORS:
        for index, sub in enumerate(schema.get(junctor) or ()):
            yield sub, child(path, f"{junctor}[{index}]")
    if isinstance(schema.get("not"), Mapping):
        yield schema["not"], child(path, "not")


def _general(schema: Raw, path: Path, errors: list[Cause]) -> None:
    """Fields that no schema of a definition may have, and the requirements of the extensions."""
    errors += [fe.forbidden(child(path, key), f"{key} is not supported") for key in _UNSUPPORTED if schema.get(key)]
    type_ = schema.get("type", "")
    if type_ == "null":
        errors.append(fe.forbidden(child(path, "type"), "type cannot be set to null, use nullable as an alternative"))
    elif type_ and type_ not in _TYPES:
        errors.append(fe.not_supported(child(path, "type"), type_, _TYPES))
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(fe.forbidden(child(path, "uniqueItems"), text))
    if isinstance(schema.get("items"), list):
        errors.append(fe.forbidden(child(path, "items"), "items must be a schema object and not an array"))
    additional = schema.get("additionalProperties")
    if additional is False:
        text = "additionalProperties cannot be set to false"
        errors.append(fe.forbidden(child(path, "additionalProperties"), text))
    if additional is not None and schema.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(fe.forbidden(child(path, "additionalProperties"), text))
    if schema.get(_PRESERVE) is False:
        errors.append(fe.invalid(child(path, _PRESERVE), value=False, detail="must be true or undefined"))
    _list_extensions(schema, path, errors)
    _map_extensions(schema, path, errors)
    for sub, at, _ in _children(schema, path):
        _general(sub, at, errors)
    for sub, at in _nested(schema, path):
        _general(sub, at, errors)


def _list_extensions(schema: Raw, path: Path, errors: list[Cause]) -> None:
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_MAP_KEYS)
    if list_type is not None:
        if list_type not in {"atomic", "map", "set"}:
            errors.append(fe.not_supported(child(path, _LIST_TYPE), list_type, ("atomic", "set", "map")))
        type_ = schema.get("type", "")
        at = child(path, "type")
        if not type_:
            errors.append(fe.required(at, f"must be array if {_LIST_TYPE} is specified"))
        elif type_ != "array":
            errors.append(fe.invalid(at, type_, f"must be array if {_LIST_TYPE} is specified"))
    if keys and list_type != "map":
        at = child(path, _LIST_TYPE)
        text = f"must be map if {_MAP_KEYS} is non-empty"
        errors.append(fe.required(at, text) if list_type is None else fe.invalid(at, list_type, text))
    if list_type == "map":
        if not keys:
            errors.append(fe.required(child(path, _MAP_KEYS), f"must not be empty if {_LIST_TYPE} is map"))
        _map_keys(schema, list(keys or ()), path, errors)
    elif list_type == "set":
        _set_items(schema, path, errors)


def _set_items(schema: Raw, path: Path, errors: list[Cause]) -> None:
    """Items of a set must compare as whole values."""
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return
    if items.get("nullable"):
        errors.append(fe.forbidden(child(path, "items.nullable"), f"cannot be nullable when {_LIST_TYPE} is set"))
    text = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        errors.append(fe.invalid(child(path, f"items.{_LIST_TYPE}"), items[_LIST_TYPE], text))
    elif items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        errors.append(fe.invalid(child(path, f"items.{_MAP_TYPE}"), items.get(_LIST_TYPE), text))


def _map_keys(schema: Raw, keys: list[str], path: Path, errors: list[Cause]) -> None:
    items = schema.get("items")
    at = child(path, "items")
    if not isinstance(items, Mapping):
        errors.append(fe.required(at, f"must have a schema if {_LIST_TYPE} is map"))
        return
    if items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        errors.append(fe.invalid(child(at, "type"), items.get("type", ""), text))
        return
    if items.get("nullable"):
        errors.append(fe.forbidden(child(at, "nullable"), f"cannot be nullable when {_LIST_TYPE} is map"))
    if len(set(keys)) != len(keys):
        errors.append(fe.invalid(child(path, _MAP_KEYS), keys, "must not contain duplicate entries"))
    properties = items.get("properties") or {}
    for key in keys:
        field = child(at, f"properties[{key}]")
        known = properties.get(key)
        if known is None:
            errors.append(fe.invalid(child(path, _MAP_KEYS), keys, "entries must all be names of item properties"))
            continue
        if known.get("type", "string") not in _SCALARS:
            text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            errors.append(fe.invalid(child(field, "type"), "object", text))
        if known.get("nullable"):
            text = f"this property is in {_MAP_KEYS}, so it cannot be nullable"
            errors.append(fe.forbidden(child(field, "nullable"), text))
        if known.get("default") is None and key not in (items.get("required") or ()):
            text = f"this property is in {_MAP_KEYS}, so it must have a default or be a required property"
            errors.append(fe.required(child(field, "default"), text))


def _map_extensions(schema: Raw, path: Path, errors: list[Cause]) -> None:
    map_type, type_ = schema.get(_MAP_TYPE), schema.get("type", "")
    if map_type is None:
        return
    if map_type not in {"atomic", "granular"}:
        errors.append(fe.not_supported(child(path, _MAP_TYPE), map_type, ("atomic", "granular")))
    at = child(path, "type")
    if not type_:
        errors.append(fe.required(at, f"must be object if {_MAP_TYPE} is specified"))
    elif type_ != "object":
        errors.append(fe.invalid(at, type_, f"must be object if {_MAP_TYPE} is specified"))


def _structure(schema: Raw, path: Path, errors: list[Cause], *, level: str) -> None:
    """The structural requirements of a node and of those below."""
    type_ = schema.get("type", "")
    if type_ == "array" and not isinstance(schema.get("items"), Mapping):
        errors.append(fe.required(child(path, "items"), "must be specified"))
    if level == "root" and schema.get("additionalProperties") is not None:
        errors.append(fe.forbidden(child(path, "additionalProperties"), "must not be used at the root"))
    _type(schema, path, errors, level=level)
    if schema.get(_INT_OR_STRING_MARK):
        errors += [
            fe.invalid(child(path, mark), value=True, detail=f"must be false if {_INT_OR_STRING_MARK} is true")
            for mark in (_PRESERVE, _EMBEDDED)
            if schema.get(mark)
        ]
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not schema.get("properties"):
        text = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        errors.append(fe.required(child(path, "properties"), text))
    _pattern(schema, path, errors)
    _metadata(schema, path, errors, level=level)
    for sub, at, below in _children(schema, path):
        _structure(sub, at, errors, level=below)
    for sub, at in _nested(schema, path):
        if not _is_int_or_string(schema, at, path):
            _narrowing(sub, at, errors)


def _type(schema: Raw, path: Path, errors: list[Cause], *, level: str) -> None:
    type_, at = schema.get("type", ""), child(path, "type")
    if schema.get(_EMBEDDED) and type_ != "object":
        text = f"must be object if {_EMBEDDED} is true"
        errors.append(fe.invalid(at, type_, text) if type_ else fe.required(at, text))
    elif not type_ and not schema.get(_INT_OR_STRING_MARK) and not schema.get(_PRESERVE):
        where = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        errors.append(fe.required(at, f"must not be empty {where[level]}"))
    elif level == "root" and type_ and type_ != "object":
        errors.append(fe.invalid(at, type_, "must be object at the root"))


def _pattern(schema: Raw, path: Path, errors: list[Cause]) -> None:
    pattern = schema.get("pattern")
    if not pattern:
        return
    try:
        compile_re2(pattern)
    except PatternError as error:
        text = f"must be a valid regular expression, but isn't: {error}"
        errors.append(fe.invalid(child(path, "pattern"), pattern, text))


def _metadata(schema: Raw, path: Path, errors: list[Cause], *, level: str) -> None:
    """Of metadata only the name may be restricted; apiVersion and kind are strings."""
    if level != "root" and not schema.get(_EMBEDDED):
        return
    properties = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        type_ = (properties.get(name) or {"type": "string"}).get("type", "")
        if type_ != "string":
            errors.append(fe.invalid(child(path, f"properties[{name}].type"), type_, "must be string"))
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = child(path, "properties[metadata]")
    if metadata.get("type", "") != "object":
        errors.append(fe.invalid(child(at, "type"), metadata.get("type", ""), "must be object"))
    others = set(metadata) - {"type", "properties", "description", "default"}
    fields = set(metadata.get("properties") or ()) - {"name", "generateName"}
    if level == "root" and (others or fields):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(fe.forbidden(at, text))


def _is_int_or_string(schema: Raw, nested: Path, path: Path) -> bool:
    """Whether a nested schema is the one of an int-or-string, where alone types may be repeated."""
    if not schema.get(_INT_OR_STRING_MARK):
        return False
    where = render(nested).removeprefix(render(path))
    if schema.get("anyOf") == _INT_OR_STRING and where.startswith(".anyOf"):
        return True
    all_of = schema.get("allOf") or [{}]
    return bool(where == ".allOf[0]" and all_of[0].get("anyOf") == _INT_OR_STRING)


def _narrowing(schema: Raw, path: Path, errors: list[Cause]) -> None:
    """A nested schema may contain only value validation."""
    errors += [fe.forbidden(child(path, key), text) for key, text in _NESTED_FORBIDDEN if schema.get(key)]
    _pattern(schema, path, errors)
    if "metadata" in (schema.get("properties") or {}):
        errors.append(fe.forbidden(child(path, "properties[metadata]"), "must not be specified in a nested context"))
    for sub, at, _ in _children(schema, path):
        if not render(at).endswith("additionalProperties"):
            _narrowing(sub, at, errors)
    for sub, at in _nested(schema, path):
        _narrowing(sub, at, errors)


def _completeness(spine: Raw | None, schema: Raw, spine_path: Path, path: Path, errors: list[Cause]) -> None:
    """Fields in nested schemas must also be declared outside of them."""
    for nested, at in _nested(schema, path):
        _specified(spine, nested, spine_path, at, errors)
    if spine is schema:
        for sub, at, _ in _children(schema, path):
            _completeness(sub, sub, at, at, errors)


def _specified(spine: Raw | None, nested: Raw, spine_path: Path, path: Path, errors: list[Cause]) -> None:
    known = (spine or {}).get("properties") or {}
    for name, sub in (nested.get("properties") or {}).items():
        at, field = child(path, f"properties[{name}]"), child(spine_path, f"properties[{name}]")
        if name not in known:
            errors.append(fe.required(field, f"because it is defined in {render(at)}"))
        else:
            _specified(known[name], sub, field, at, errors)
    items = nested.get("items")
    if isinstance(items, Mapping):
        at, field = child(path, "items"), child(spine_path, "items")
        if not isinstance((spine or {}).get("items"), Mapping):
            errors.append(fe.required(field, f"because it is defined in {render(at)}"))
        else:
            _specified((spine or {})["items"], items, field, at, errors)
    _completeness(spine, nested, spine_path, path, errors)


def _defaults(schema: Raw, path: Path, errors: list[Cause], *, is_root: bool = False) -> None:
    """A default must be valid under its own schema, without unknown fields."""
    default = schema.get("default")
    at = child(path, "default")
    if default is not None and is_root:
        errors.append(fe.forbidden(at, "must not be set at the root"))
    elif default is not None:
        node = parse(schema)
        if isinstance(default, dict) and not node.embedded:
            meta = META_FIELDS & set(default)
            unknown = [name for name in compile_pruner(node)({**default}) if name not in meta]
            errors += [fe.invalid(at, default, f'must not contain the unknown field "{name}"') for name in unknown]
        compile_validator(node)(default, NOTHING, at, errors)
    for sub, below, _ in _children(schema, path):
        _defaults(sub, below, errors)


def _default_rules(schema: Raw, path: Path, errors: list[Cause]) -> None:
    """A default must satisfy the rules of its own schema, without the defaults of the fields inside it."""
    default = schema.get("default")
    check = compile_rules(parse(schema)) if default is not None else None
    if check is not None:
        at = child(path, "default")
        check(default, NOTHING, False, at, errors)
        # With itself as the old value, only rules on oldSelf are evaluated.
        check(default, default, False, at, errors)
    for sub, below, _ in _children(schema, path):
        _default_rules(sub, below, errors)
