"""What is wrong with an object, with the path of each field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

_KEYED = frozenset({"labels", "annotations", "matchLabels", "partitions"})
"""Fields that are maps: what follows them in a path is a key and not a field."""

_WORDS: Mapping[str, str] = {
    "missing": "required",
    "extra_forbidden": "unknown field",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "tuple_type": "must be a list",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "too_long": "must have at most {max_length} entries",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}",
    "string_pattern_mismatch": "must match {pattern}",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong. ``rule`` names the broken rule; ``feasibility`` says the object can still be served."""

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
    """The same reasons in words and paths that a user of Kubernetes knows. The values themselves are not repeated."""
    return InvalidObject(
        FieldError(_path(entry["loc"]), _message(entry))
        for entry in error.errors(include_url=False, include_input=False)
    )


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


def _message(entry: Mapping[str, Any]) -> str:
    words = _WORDS.get(entry["type"])
    return words.format(**entry.get("ctx", {})) if words else str(entry["msg"])
