"""The strategy of built-in kinds: decoding, defaults, preparation, validation.

Contract: :class:`BuiltinStrategy` serves all kinds. Behavior of a single kind is a :class:`Rules` value, composed of
optional functions of the packages ``prepare`` and ``validation``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from uniteddeployment.embedded.apimachinery.json_document import Document
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.decoding import complaints, conform
from uniteddeployment.embedded.builtin.defaults import filler_of
from uniteddeployment.embedded.errors import Cause

Prepare = Callable[[Obj], None]
PrepareUpdate = Callable[[Obj, Obj, str], None]
Validate = Callable[[Obj], list[Cause]]
ValidateUpdate = Callable[[Obj, Obj, str], list[Cause]]
Warn = Callable[[Obj, Obj | None], list[str]]

_OWN_METADATA = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behavior of one kind. ``validate`` also runs on updates unless ``validate_update`` replaces it."""

    prepare_create: Prepare | None = None
    prepare_update: PrepareUpdate | None = None
    validate: Validate | None = None
    validate_update: ValidateUpdate | None = None
    warn: Warn | None = None
    keeps_status: bool = False
    """Whether a client may set the status on creation."""
    labels_with_status: bool = True
    """Whether a write of the status may also change labels."""


class BuiltinStrategy:
    """The :class:`~uniteddeployment.embedded.apimachinery.resources.Strategy` of a built-in kind."""

    __slots__ = (
        "_definition",
        "_filler",
        "_generation",
        "_kind",
        "_nullable",
        "_rules",
        "_shape",
        "_status",
        "_version",
    )

    def __init__(
        self, definition: str, *, kind: str, version: str, status: bool, generation: Sequence[str], rules: Rules
    ) -> None:
        self._definition = definition
        self._kind = kind
        self._version = version
        self._status = status
        self._generation = tuple(path.split(".") for path in generation)
        self._rules = rules
        self._shape = shapes.shape_of(definition)
        self._filler = filler_of(definition)
        self._nullable = tuple(key for key, zero in self._shape.always if zero is None)

    def conform(self, obj: Obj) -> Sequence[str]:
        """Decode in place; see :func:`~uniteddeployment.embedded.builtin.decoding.conform`."""
        return conform(obj, self._shape, self._kind, self._version)

    def complaints(self, document: Document, unknown: Sequence[str]) -> Sequence[str]:  # noqa: ARG002  # see the protocol
        return complaints(document, shapes.Field(shapes.STRUCT, self._kind, shape=self._shape))

    def default(self, obj: Obj) -> None:
        self._filler.fill(obj)

    def prepare_create(self, obj: Obj) -> None:
        self._forget_empty(obj)
        if self._status and not self._rules.keeps_status:
            self._reset_status(obj)
        metadata = obj["metadata"]
        if self._generation:
            metadata["generation"] = 1
        if self._rules.prepare_create is not None:
            self._rules.prepare_create(obj)

    def _forget_empty(self, obj: Obj) -> None:
        """Store null for an empty list: storage does not tell them apart, field ownership does."""
        for key in self._nullable:
            if obj.get(key) == []:
                obj[key] = None

    def _reset_status(self, obj: Obj) -> None:
        obj.pop("status", None)
        for key, zero in self._shape.always:
            if key == "status":
                obj["status"] = {
                    name: value.copy() if isinstance(value, dict) else value for name, value in zero.items()
                }
        self._filler.fill(obj)

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        self._forget_empty(new)
        if subresource == "binding":
            # The binding sets spec and status at once, and does not raise the generation.
            return
        if subresource == "status":
            self._keep_all_but_status(new, old)
        elif self._status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        if self._rules.prepare_update is not None:
            self._rules.prepare_update(new, old, subresource)
        if self._generation:
            generation = old["metadata"].get("generation", 0)
            changed = subresource != "status" and self._counts(new, old)
            new["metadata"]["generation"] = generation + 1 if changed else generation

    def _keep_all_but_status(self, new: Obj, old: Obj) -> None:
        for key in [key for key in new if key != "status" and key not in _OWN_METADATA and key not in old]:
            del new[key]
        for key, value in old.items():
            if key != "status" and key not in _OWN_METADATA:
                new[key] = value
        if not self._rules.labels_with_status:
            if "labels" in old["metadata"]:
                new["metadata"]["labels"] = old["metadata"]["labels"]
            else:
                new["metadata"].pop("labels", None)

    def _counts(self, new: Obj, old: Obj) -> bool:
        """Whether a change raises the generation."""
        for path in self._generation:
            after, before = new, old
            for step in path[:-1]:
                after, before = after.get(step) or {}, before.get(step) or {}
            if after.get(path[-1]) != before.get(path[-1]):
                return True
        return False

    def validate_create(self, obj: Obj) -> Sequence[Cause]:
        return self._rules.validate(obj) if self._rules.validate is not None else ()

    def validate_update(self, new: Obj, old: Obj, subresource: str) -> Sequence[Cause]:
        if self._rules.validate_update is not None:
            return self._rules.validate_update(new, old, subresource)
        return self._rules.validate(new) if self._rules.validate is not None and subresource != "status" else ()

    def warnings(self, new: Obj, old: Obj | None) -> Sequence[str]:
        return self._rules.warn(new, old) if self._rules.warn is not None else ()
