"""Validation of the names of objects, label keys and label values. Each function returns error messages."""

import re
from collections.abc import Sequence

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_PART})?"

_label_re = re.compile(_LABEL)
_subdomain_re = re.compile(_SUBDOMAIN)
_part_re = re.compile(_PART)
_value_re = re.compile(_VALUE)

_PART_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_PART}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)


def too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def subdomain(name: str) -> list[str]:
    """Validate a DNS subdomain, the name of most objects."""
    errors = [too_long(253)] if len(name) > 253 else []
    if not _subdomain_re.fullmatch(name):
        errors.append(_SUBDOMAIN_TEXT)
    return errors


def label(name: str) -> list[str]:
    """Validate a DNS label, the name of a namespace or a service."""
    errors = [too_long(63)] if len(name) > 63 else []
    if not _label_re.fullmatch(name):
        errors.append("must not contain dots" if _subdomain_re.fullmatch(name) else _LABEL_TEXT)
    return errors


def path_segment(name: str) -> list[str]:
    """Validate a name that only has to fit into a URL, such as that of a role."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in ("/", "%") if char in name]


def label_key(key: str) -> list[str]:
    """Validate a label key, an annotation key or a finalizer."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_PART_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors: list[str] = []
    if slash:
        errors += [f"prefix part {text}" for text in subdomain(prefix)] if prefix else ["prefix part must be non-empty"]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _part_re.fullmatch(name):
        errors.append(f"name part {_PART_TEXT}")
    return errors


def label_value(value: str) -> list[str]:
    """Validate a label value."""
    errors = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if not _value_re.fullmatch(value):
        errors.append(_VALUE_TEXT)
    return errors


_LABELLED = frozenset({"namespaces", "services"})
_SEGMENTS = frozenset(
    {
        f"{plural}.rbac.authorization.k8s.io"
        for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    }
)


def object_name(key: str, name: str) -> Sequence[str]:
    """Validate the name of an object of the resource ``key``."""
    if key in _LABELLED:
        return label(name)
    if key in _SEGMENTS:
        return path_segment(name)
    return subdomain(name)
