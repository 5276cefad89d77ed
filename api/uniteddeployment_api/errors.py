"""What is wrong with an object, with the path of each field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

_KEYED = frozenset({"labels", "annotations", "matchLabels", "partitions"})
"""Fields that are maps: what follows them in a path is a key and not a field."""

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
"""What pydantic finds -> the name of the form that is not kept, and how it is told."""

MOST_ERRORS: Final = 256
"""How many reasons are told of one object."""

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    form: tuple(dict.fromkeys(words for name, words in _WORDS.values() if name == form))
    for form in dict.fromkeys(name for name, _ in _WORDS.values())
}
"""The forms of single fields, which the schema of the CRD has too -> how they are told."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong. ``rule`` names the broken rule or form; ``feasibility`` says it can still be served."""

    path: str
    message: str
    rule: str = ""
    feasibility: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidObject(ValueError):  # noqa: N818  Kubernetes says that an object is Invalid
    """An object that is not what its kind says; ``errors`` has every reason that was found."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        super().__init__("; ".join(str(error) for error in self.errors))


def from_pydantic(error: ValidationError) -> InvalidObject:
    """The same reasons in words and paths that a user of Kubernetes knows. The values themselves are not repeated.

    Of very many only the first are told: a megabyte of wrong fields would take seconds.
    """
    entries = error.errors(include_url=False, include_input=False)
    told = [_told(entry) for entry in entries[:MOST_ERRORS]]
    if len(entries) > len(told):
        told.append(FieldError("", f"and {len(entries) - len(told)} more errors"))
    return InvalidObject(told)


def _told(entry: Any) -> FieldError:
    form, words = _WORDS.get(entry["type"], ("", str(entry["msg"])))
    return FieldError(_path(entry["loc"]), words.format(**entry.get("ctx", {})) if form else words, form)


def _path(loc: Sequence[int | str]) -> str:
    """``("spec", "subsets", 1, "name")`` as ``spec.subsets[1].name``."""
    text = ""
    previous: int | str = ""
    for step in loc:
        if step == "[key]":
            continue  # the key itself is wrong, and it is in the path already
        if isinstance(step, int) or previous in _KEYED:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
        previous = step
    return text
