"""Checks that several kinds share: numbers, percentages, selectors, names, ports, quantities."""

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Any

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    IMMUTABLE,
    NON_NEGATIVE,
    invalid,
    invalids,
    not_supported,
    required,
)
from uniteddeployment.embedded.errors import Cause

_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_PORT_NAME = re.compile(r"[-a-z0-9]+")
PORT_TEXT = "must be between 1 and 65535, inclusive"
MISMATCH = "`selector` does not match template `labels`"


def non_negative(obj: Mapping[str, Any], key: str, path: str) -> list[Cause]:
    """A number that may not be negative; ``path`` is that of ``obj``."""
    value = obj.get(key)
    return [] if value is None or value >= 0 else [invalid(f"{path}.{key}", value, NON_NEGATIVE)]


def one_of(obj: Mapping[str, Any], key: str, path: str, allowed: Collection[str]) -> list[Cause]:
    """An optional value of an enumeration; the message lists ``allowed`` in its order."""
    value = obj.get(key)
    return [] if value is None or value in allowed else [not_supported(f"{path}.{key}", value, list(allowed))]


def immutable(new: Mapping[str, Any], old: Mapping[str, Any], key: str, path: str) -> list[Cause]:
    """An immutable field; ``path`` is that of the field."""
    return [] if new.get(key) == old.get(key) else [invalid(path, new.get(key), IMMUTABLE)]


def int_or_percent(value: Any, path: str) -> list[Cause]:
    """A number or a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(path, value, _PERCENT_TEXT)]
    return [] if value >= 0 else [invalid(path, value, NON_NEGATIVE)]


def at_most_all(value: Any, path: str) -> list[Cause]:
    """A percentage of at most 100%."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def is_zero(value: Any) -> bool:
    """Whether a number or a percentage is zero."""
    if isinstance(value, str):
        return bool(_PERCENT.fullmatch(value)) and int(value[:-1]) == 0
    return bool(value == 0)


def ordered_selector(selector: Obj | None) -> Obj | None:
    """A selector in the field order of messages."""
    if selector is None:
        return None
    labels = selector.get("matchLabels")
    ordered: Obj = {"matchLabels": dict(sorted(labels.items()))} if labels else {}
    if selector.get("matchExpressions"):
        ordered["matchExpressions"] = [
            {key: requirement[key] for key in ("key", "operator", "values") if key in requirement}
            for requirement in selector["matchExpressions"]
        ]
    return ordered


def label_selector(selector: Obj | None, path: str) -> list[Cause]:
    """Validate a label selector, if there is one."""
    if not selector:
        return []
    causes: list[Cause] = []
    for key, value in (selector.get("matchLabels") or {}).items():
        causes += invalids(f"{path}.matchLabels", key, names.label_key(key))
        causes += invalids(f"{path}.matchLabels", value, names.label_value(value))
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        causes += _requirement(term, f"{path}.matchExpressions[{index}]")
    return causes


def _requirement(term: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    operator, values = term.get("operator", ""), term.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            causes.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(Cause("FieldValueForbidden", text, f"{path}.values"))
    else:
        causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    causes += invalids(f"{path}.key", term.get("key", ""), names.label_key(term.get("key", "")))
    for index, value in enumerate(values):
        causes += invalids(f"{path}.values[{index}]", value, names.label_value(value))
    return causes


def selects_all(selector: Obj | None) -> bool:
    """Whether a selector exists and is empty."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def mismatched(selector: Obj | None, labels: Mapping[str, str]) -> bool:
    """Whether a valid selector does not match these labels. An absent selector matches nothing."""
    return not label_selector(selector, "") and not matches_labels(selector, labels)


def labels_of(obj: Obj) -> dict[str, str] | None:
    """The labels of an object or a template."""
    labels: dict[str, str] | None = (obj.get("metadata") or {}).get("labels")
    return dict(sorted(labels.items())) if labels else None


def template_metadata(template: Obj, path: str) -> list[Cause]:
    """Validate labels, annotations and finalizers of a pod template."""
    metadata = template.get("metadata") or {}
    causes: list[Cause] = []
    for key, value in (metadata.get("labels") or {}).items():
        causes += invalids(f"{path}.labels", key, names.label_key(key))
        causes += invalids(f"{path}.labels", value, names.label_value(value))
    for key in metadata.get("annotations") or ():
        causes += invalids(f"{path}.annotations", key, names.label_key(key.lower()))
    for key in metadata.get("finalizers") or ():
        causes += invalids(f"{path}.finalizers", key, names.label_key(key))
    return causes


def dns_label(value: str, path: str) -> list[Cause]:
    """A name that is a DNS label: of a container, a volume, a host."""
    return [required(path)] if not value else invalids(path, value, names.label(value))


def port_number(value: int, path: str) -> list[Cause]:
    return [] if 1 <= value <= 65535 else [invalid(path, value, PORT_TEXT)]


def port_name(value: str) -> list[str]:
    """Validate the name of a port."""
    errors: list[str] = []
    if len(value) > 15:
        errors.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value[:1] == "-" or value[-1:] == "-":
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number_or_name(value: Any, path: str) -> list[Cause]:
    return port_number(value, path) if isinstance(value, int) else invalids(path, value, port_name(value))


def ip_address(value: str, path: str) -> list[Cause]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return []
