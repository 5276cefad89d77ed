"""Validation errors, with the path of each field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

_KEYED = frozenset({"labels", "annotations", "matchLabels", "partitions", "maxUpdated"})
"""Fields whose values are maps: the next step of a path is a key, not a field."""

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("form-required", "required"),
    "extra_forbidden": ("form-known", "unknown field"),
    "string_type": ("form-type", "must be a string"),
    "int_type": ("form-type", "must be a whole number"),
    "bool_type": ("form-type", "must be true or false"),
    "dict_type": ("form-type", "must be an object"),
    "model_type": ("form-type", "must be an object"),
    "model_attributes_type": ("form-type", "must be an object"),
    "tuple_type": ("form-type", "must be a list"),
    "greater_than_equal": ("form-range", "must be {ge} or more"),
    "less_than_equal": ("form-range", "must be {le} or less"),
    "too_long": ("form-size", "must have at most {max_length} entries"),
    "string_too_long": ("form-size", "must have at most {max_length} characters"),
    "string_too_short": ("form-size", "must not be empty"),
    "literal_error": ("form-choice", "must be {expected}"),
    "string_pattern_mismatch": ("form-pattern", "must match {pattern}"),
    "int_or_percent": (
        "form-share",
        "must be a whole number from 0 to 1000000, or a percentage from 0% to 100%, such as 25%",
    ),
}
"""pydantic error type -> (name of the violated form, message template)."""

MAX_ERRORS: Final = 256
"""Maximum number of errors that are reported for one object."""

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    form: tuple(dict.fromkeys(words for name, words in _WORDS.values() if name == form))
    for form in dict.fromkeys(name for name, _ in _WORDS.values())
}
"""Form -> message templates. Forms are constraints on single fields that the CRD schema enforces too."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error. ``rule`` is the name of the violated rule or form; ``feasibility`` is that of :class:`Rule`."""

    path: str
    message: str
    rule: str = ""
    feasibility: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidObject(ValueError):  # noqa: N818  Kubernetes calls this reason Invalid
    """An object that does not have the form of its kind. ``errors`` has all errors that were found."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        super().__init__("; ".join(str(error) for error in self.errors))


def from_pydantic(error: ValidationError) -> InvalidObject:
    """Translate errors of pydantic into field paths and messages in the style of Kubernetes, without the invalid
    values.

    At most :data:`MAX_ERRORS` are translated, because a megabyte of unknown fields would take seconds.
    """
    entries = error.errors(include_url=False, include_input=False)
    errors = [_field_error(entry) for entry in entries[:MAX_ERRORS]]
    if len(entries) > MAX_ERRORS:
        errors.append(FieldError("", f"and {len(entries) - MAX_ERRORS} more errors"))
    return InvalidObject(errors)


def _field_error(entry: Any) -> FieldError:
    form, words = _WORDS.get(entry["type"], ("", str(entry["msg"])))
    return FieldError(_path(entry["loc"]), words.format(**entry.get("ctx", {})) if form else words, form)


def _path(loc: Sequence[int | str]) -> str:
    """Format a location of pydantic, such as ``("spec", "subsets", 1, "name")``, as ``spec.subsets[1].name``."""
    text = ""
    previous: int | str = ""
    for step in loc:
        if step == "[key]":
            continue  # marks an invalid key, which is part of the path already
        if isinstance(step, int) or previous in _KEYED:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
        previous = step
    return text
