"""Compiled structural schemas: the functions that process custom resources.

Compilation is lazy, so a schema without writes costs only its parsing, and shared: equal schemas of several
definitions, clusters or generations are compiled once.
"""

import json
from collections.abc import Callable
from functools import cached_property, lru_cache

from uniteddeployment.embedded.apimachinery.resources import Obj, RawSchema
from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.cel.rules import Check as RuleCheck
from uniteddeployment.embedded.crd.cel.rules import compile_rules
from uniteddeployment.embedded.crd.defaults import Defaulter, compile_defaulter
from uniteddeployment.embedded.crd.list_types import Check as ListCheck
from uniteddeployment.embedded.crd.list_types import compile_list_types
from uniteddeployment.embedded.crd.prune import compile_pruner
from uniteddeployment.embedded.crd.structural import NOTHING, Node, parse
from uniteddeployment.embedded.crd.validate import Check, compile_validator
from uniteddeployment.embedded.errors import Cause

_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def compiled(schema: RawSchema) -> "CompiledSchema":
    """The compiled form of a schema."""
    return _compiled(json.dumps(schema))


@lru_cache(maxsize=256)
def _compiled(text: str) -> "CompiledSchema":
    return CompiledSchema(parse(json.loads(text)))


class CompiledSchema:
    """The functions of one schema. All are pure, except that ``prune`` and ``default`` change their argument."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @cached_property
    def prune(self) -> Callable[[Obj], list[str]]:
        """Drop unknown fields and return their paths."""
        return compile_pruner(self.node)

    @cached_property
    def default(self) -> Defaulter:
        """Set defaults, and drop nulls that mean absence."""
        return compile_defaulter(self.node)

    @cached_property
    def _validate(self) -> Check:
        return compile_validator(self.node)

    @cached_property
    def _validate_status(self) -> Check | None:
        status = self.node.properties.get("status")
        return compile_validator(status) if status is not None else None

    @cached_property
    def _rules(self) -> RuleCheck | None:
        return compile_rules(self.node, is_root=True)

    @cached_property
    def _list_types(self) -> ListCheck | None:
        return compile_list_types(self.node)

    def errors(
        self,
        new: Obj,
        old: Obj | None = None,
        *,
        subresource: str = "",
        scale: Callable[[Obj], list[Cause]] | None = None,
    ) -> list[Cause]:
        """All errors of a new object or of a change; ``scale`` validates the scale subresource."""
        errors: list[Cause] = []
        if subresource == "status":
            errors += self._status_errors(new, old)
        else:
            self._validate(new, NOTHING if old is None else old, None, errors)
        if scale is not None:
            errors += scale(new)
        errors += self._duplicates(new, old)
        if self._rules is not None:
            blocked = blocking(errors)
            if blocked is not None:
                return [*errors, blocked]
            self._rules(new, NOTHING if old is None else old, False, None, errors)
        return errors

    def _status_errors(self, new: Obj, old: Obj | None) -> list[Cause]:
        """Errors of the status alone; as in the real server, their paths are relative to the status."""
        if self._validate_status is None or "status" not in new:
            return []
        errors: list[Cause] = []
        self._validate_status(new["status"], (old or {}).get("status", NOTHING), None, errors)
        return [Cause(c.reason, c.message, "status" if c.field == "<nil>" else f"status.{c.field}") for c in errors]

    def _duplicates(self, new: Obj, old: Obj | None) -> list[Cause]:
        """Duplicates in sets and maps; an old object with duplicates may keep them."""
        if self._list_types is None:
            return []
        errors: list[Cause] = []
        if old is not None:
            self._list_types(old, None, errors)
            if errors:
                return []
        self._list_types(new, None, errors)
        return errors


def blocking(errors: list[Cause]) -> Cause | None:
    """The error that rules were not evaluated, if ``errors`` contains errors that prevent it."""
    return fe.invalid(None, None, _NOT_CHECKED) if any(cause.reason in _BLOCKING for cause in errors) else None
