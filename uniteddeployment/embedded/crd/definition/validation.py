"""Validation of CustomResourceDefinitions, with the real server's messages."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.definition import go_form
from uniteddeployment.embedded.crd.definition.conditions import ESTABLISHED, is_true
from uniteddeployment.embedded.crd.definition.schema_validation import check_schema
from uniteddeployment.embedded.crd.field_errors import Path, child
from uniteddeployment.embedded.errors import Cause

_SPEC: Final = child(None, "spec")
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_MIXED_CASE: Final = "may have mixed case, but should otherwise match: "
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_APPROVAL: Final = "api-approved.kubernetes.io"


def check_names(crd: Obj) -> list[Cause]:
    """The name follows from plural and group; groups of Kubernetes itself need an approval."""
    spec, metadata = crd["spec"], crd["metadata"]
    group = spec.get("group", "")
    errors: list[Cause] = []
    name = metadata.get("name", "")
    if name and name != f"{spec['names'].get('plural', '')}.{group}":
        errors.append(fe.invalid(child(None, "metadata.name"), name, 'must be spec.names.plural+"."+spec.group'))
    protected = any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED)
    if protected and not (metadata.get("annotations") or {}).get(_APPROVAL):
        text = (
            f'protected groups must have approval annotation "{_APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        errors.append(fe.required(child(None, f"metadata.annotations[{_APPROVAL}]"), text))
    return errors


def check_definition(crd: Obj) -> list[Cause]:
    """Validate the spec."""
    spec = crd["spec"]
    errors = _group(spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        errors.append(fe.required(child(_SPEC, "scope")))
    elif scope not in {"Cluster", "Namespaced"}:
        errors.append(fe.not_supported(child(_SPEC, "scope"), scope, ("Cluster", "Namespaced")))
    versions = spec.get("versions") or []
    errors += _versions(spec.get("versions"))
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            at = child(_SPEC, f"versions[{index}].schema.openAPIV3Schema")
            errors.append(fe.required(at))
    errors += _names(spec["names"])
    errors += _conversion(spec.get("conversion") or {})
    for key, field, check in (
        ("schema", "validation", _schema),
        ("subresources", "subresources", _subresources),
        ("additionalPrinterColumns", "additionalPrinterColumns", _columns),
        ("selectableFields", "selectableFields", _selectable),
    ):
        if versions and all(version.get(key) == versions[0].get(key) for version in versions):
            # Fields that all versions have in common are reported as fields of the spec.
            errors += check(versions[0], child(_SPEC, field))
        else:
            for index, version in enumerate(versions):
                errors += check(version, child(_SPEC, f"versions[{index}].{key}"))
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(fe.invalid(child(_SPEC, "preserveUnknownFields"), value=True, detail=text))
    return errors


def check_update(new: Obj, old: Obj) -> list[Cause]:
    """Immutable fields: group and plural always, scope and kind once established, versions in storage."""
    fixed = ["scope", "names.kind"] if is_true(old, ESTABLISHED) else []
    errors = [
        fe.invalid(child(_SPEC, dotted), _get(new["spec"], dotted), "field is immutable")
        for dotted in (*fixed, "group", "names.plural")
        if _get(new["spec"], dotted) != _get(old["spec"], dotted)
    ]
    return [*errors, *check_stored(new)]


def _get(spec: Mapping[str, Any], dotted: str) -> Any:
    value: Any = spec
    for name in dotted.split("."):
        value = (value or {}).get(name)
    return value


def _group(group: str) -> list[Cause]:
    path = child(_SPEC, "group")
    if not group:
        return [fe.required(path)]
    problems = names.subdomain(group)
    if problems:
        return [fe.invalid(path, group, ",".join(problems))]
    return [] if "." in group else [fe.invalid(path, group, "should be a domain with at least one dot")]


def label(text: str) -> str:
    """Validate a label that must begin with a letter; empty if it is valid."""
    problems = [names.too_long(63)] if len(text) > 63 else []
    if not _LABEL.fullmatch(text):
        problems.append(_LABEL_TEXT)
    return ",".join(problems)


def _versions(given: list[Any] | None) -> list[Cause]:
    path, versions = child(_SPEC, "versions"), given or []
    errors: list[Cause] = []
    if versions and versions[0]["name"] and (problems := label(versions[0]["name"])):
        # The name of the first version must equal the version of the older single-version form.
        errors.append(fe.invalid(child(_SPEC, "version"), versions[0]["name"], problems))
    for index, version in enumerate(versions):
        problems = label(version["name"])
        if problems:
            errors.append(fe.invalid((path, f"[{index}].name"), version["name"], problems))
        at: Path = (path, f"[{index}].deprecationWarning")
        errors += [fe.invalid(at, version["deprecationWarning"], text) for text in _deprecation(version)]
    shown = None if given is None else go_form.versions(versions)
    if len({version["name"] for version in versions}) != len(versions):
        errors.append(fe.invalid(path, shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.append(fe.invalid(path, shown, "must have exactly one version marked as storage version"))
    return errors


def _deprecation(version: Mapping[str, Any]) -> list[str]:
    """Validate the deprecation warning of a version."""
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    problems = ["must be <= 256 characters long"] if len(text.encode()) > 256 else []
    if not text:
        problems.append("must not be an empty string")
    hidden = next((index for index, char in enumerate(text) if not char.isprintable()), None)
    if hidden is not None:
        index = len(text[:hidden].encode())
        problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {index}")
    return problems


def check_stored(crd: Obj) -> list[Cause]:
    """Validate the versions in storage: one storage version, and no removed ones."""
    path = child(None, "status.storedVersions")
    stored = (crd.get("status") or {}).get("storedVersions")
    if not stored:
        return [fe.invalid(path, stored, "must have at least one stored version")]
    versions = crd["spec"].get("versions") or ()
    known = {version["name"] for version in versions}
    errors = [
        fe.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version["name"] not in stored
    ]
    for index, name in enumerate(stored):
        if name not in known:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(fe.invalid((path, f"[{index}]"), name, text))
    return errors


def _names(wanted: Mapping[str, Any]) -> list[Cause]:
    path = child(_SPEC, "names")
    errors = [
        fe.required(child(path, field)) for field in ("plural", "singular", "kind", "listKind") if not wanted.get(field)
    ]
    for field in ("plural", "singular"):
        name = wanted.get(field)
        if name and (problems := label(name)):
            errors.append(fe.invalid(child(path, field), name, problems))
    for field in ("kind", "listKind"):
        name = wanted.get(field)
        if name and (problems := label(name.lower())):
            errors.append(fe.invalid(child(path, field), name, _MIXED_CASE + problems))
    if wanted.get("kind") and wanted["kind"] == wanted.get("listKind"):
        errors.append(fe.invalid(child(path, "listKind"), wanted["kind"], "kind and listKind may not be the same"))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(wanted.get(field) or ()):
            if problems := label(name):
                errors.append(fe.invalid(child(path, f"{field}[{index}]"), name, problems))
    return errors


def _conversion(conversion: Mapping[str, Any]) -> list[Cause]:
    strategy, path = conversion.get("strategy", ""), child(_SPEC, "conversion")
    if not strategy:
        return [fe.required(child(path, "strategy"))]
    if strategy not in {"None", "Webhook"}:
        return [fe.not_supported(child(path, "strategy"), strategy, ("None", "Webhook"))]
    if strategy == "Webhook":
        return _webhook(conversion, path) or [
            fe.forbidden(child(path, "strategy"), "this cluster converts nothing: use None")
        ]
    return []


def _webhook(conversion: Mapping[str, Any], path: Path) -> list[Cause]:
    """Missing fields of a conversion webhook."""
    webhook = conversion.get("webhook") or {}
    errors: list[Cause] = []
    if webhook.get("clientConfig") is None:
        errors.append(fe.required(child(path, "webhookClientConfig"), "required when strategy is set to Webhook"))
    if not webhook.get("conversionReviewVersions"):
        errors.append(fe.required(child(path, "conversionReviewVersions")))
    return errors


def _schema(version: Mapping[str, Any], path: Path) -> list[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    return [] if schema is None else list(_checked(json.dumps(schema), child(path, "openAPIV3Schema")))


@lru_cache(maxsize=64)
def _checked(schema: str, path: Path) -> tuple[Cause, ...]:
    """Validate a schema once per process: clusters of a fleet have the same schemas, and checking rules is slow."""
    return tuple(check_schema(json.loads(schema), path))


def _subresources(version: Mapping[str, Any], path: Path) -> list[Cause]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return []
    errors: list[Cause] = []
    for field, root in (("specReplicasPath", "spec"), ("statusReplicasPath", "status"), ("labelSelectorPath", "")):
        text = scale.get(field) or ""
        at = child(path, f"scale.{field}")
        if not text:
            errors += [fe.required(at)] if root else []
        elif problems := _simple_path(text, at):
            errors += problems
        elif not text.startswith((f".{root}.",) if root else (".status.", ".spec.")):
            under = f".{root}" if root else "either .spec or .status"
            errors.append(fe.invalid(at, text, f"should be a json path under {under}"))
    return errors


def _simple_path(text: str, path: Path) -> list[Cause]:
    if not text.startswith("."):
        return [fe.invalid(path, text, "must be a simple json path starting with .")]
    return []


def _columns(version: Mapping[str, Any], path: Path) -> list[Cause]:
    errors: list[Cause] = []
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        at: Path = (path, f"[{index}]")
        if not column.get("name"):
            errors.append(fe.required(child(at, "name")))
        types = ",".join(_COLUMN_TYPES)
        if not column.get("type"):
            errors.append(fe.required(child(at, "type"), f"must be one of {types}"))
        elif column["type"] not in _COLUMN_TYPES:
            errors.append(fe.invalid(child(at, "type"), column["type"], f"must be one of {types}"))
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            formats = ",".join(_COLUMN_FORMATS)
            errors.append(fe.invalid(child(at, "format"), column["format"], f"must be one of {formats}"))
        if not column.get("jsonPath"):
            errors.append(fe.required(child(at, "JSONPath")))
        else:
            errors += _simple_path(column["jsonPath"], child(at, "JSONPath"))
    return errors


def _selectable(version: Mapping[str, Any], path: Path) -> list[Cause]:
    errors: list[Cause] = []
    seen: set[str] = set()
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    for index, field in enumerate(version.get("selectableFields") or ()):
        text = field.get("jsonPath") or ""
        at = child((path, f"[{index}]"), "jsonPath")
        if not text:
            errors.append(fe.required(at))
            continue
        type_ = _type_at(schema, text)
        if type_ is None:
            errors.append(fe.invalid(at, text, "is an invalid path: does not refer to a valid field"))
        elif type_ not in {"string", "integer", "boolean"}:
            errors.append(fe.invalid(at, text, _SELECTABLE))
        elif text in seen:
            errors.append(fe.duplicate(at, text))
        seen.add(text)
    return errors


def _type_at(schema: Mapping[str, Any], dotted: str) -> str | None:
    """The type of the field at a path, or None."""
    node: Any = schema
    for name in dotted.removeprefix(".").split("."):
        node = (node.get("properties") or {}).get(name)
        if node is None:
            return None
    type_: str = node.get("type", "")
    return type_
