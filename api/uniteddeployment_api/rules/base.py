"""What a rule is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. ``at`` is the schema node that ``self`` is, as a dotted path with ``[]`` for the items of a list."""

    name: str
    kind: str = "UnitedDeployment"
    at: str
    message: str
    cel: str = ""
    field_path: str = ""
    """Where the error is reported, relative to ``at``."""
    optional_old_self: bool = False
    """The expression is also evaluated at creation, with ``oldSelf`` an optional value."""
    schema: bool = False
    """The schema of the CRD says it (also) without an expression."""
    change: bool = False
    """It is about a change, and can be checked only where the object as it was is known."""
    feasibility: bool = False
    """Broken, the object can still be served as closely as possible: a condition says so and nothing else stops."""
