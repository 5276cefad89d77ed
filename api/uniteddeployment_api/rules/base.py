"""Definition of a validation rule."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A validation rule.

    ``at`` is the schema node that ``self`` in the CEL expression refers to: a dotted path, with ``[]`` for list items.
    """

    name: str
    kind: str = "UnitedDeployment"
    at: str
    message: str
    cel: str = ""
    field_path: str = ""
    """Field that the error is reported for, relative to ``at``."""
    optional_old_self: bool = False
    """Evaluate the expression on creation too, with ``oldSelf`` as an optional value."""
    schema: bool = False
    """The CRD schema enforces the rule, at least in part, without an expression."""
    change: bool = False
    """The rule compares an object with its previous version, so it is only checked on updates."""
    feasibility: bool = False
    """An application that breaks the rule keeps working as far as possible, with a condition that reports it."""
    retained: bool = False
    """An update may keep values that were valid in the previous version. The controller ignores them."""
    other_object: bool = False
    """The rule compares an object with another one, so only the controller checks it."""
