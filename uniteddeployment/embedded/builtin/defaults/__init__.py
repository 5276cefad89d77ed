"""Defaults of built-in kinds.

Contract: defaults belong to definitions, not to kinds, so the pod templates of a Deployment and of a Job get the same
defaults. Constant defaults are data (``defaults.json``). Defaults that depend on other fields are functions in these
modules, registered for their definition. As in the real server, a definition gets its defaults before the definitions
inside it. The operation is idempotent.
"""

import copy
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.defaults import autoscaling, cluster, pods, services, workloads

Compute = Callable[[Obj], None]

_COMPUTED: dict[str, Compute] = {
    **autoscaling.COMPUTED,
    **cluster.COMPUTED,
    **pods.COMPUTED,
    **services.COMPUTED,
    **workloads.COMPUTED,
}


class Filler:
    """Sets the defaults of one definition and of the definitions inside it."""

    __slots__ = ("_children", "_compute", "_values")

    def __init__(self, values: dict[str, Any], compute: Compute | None) -> None:
        self._values = tuple((key, value, isinstance(value, dict | list)) for key, value in values.items())
        self._compute = compute
        self._children: list[tuple[str, int, Filler]] = []

    def add(self, key: str, tag: int, filler: "Filler") -> None:
        """Also set the defaults of ``key``: an object, a list or a map of objects."""
        self._children.append((key, tag, filler))

    @property
    def idle(self) -> bool:
        return not (self._values or self._compute or self._children)

    def fill(self, obj: Obj) -> None:
        """Set defaults in ``obj`` in place."""
        for key, value, mutable in self._values:
            if obj.get(key) is None:
                obj[key] = copy.deepcopy(value) if mutable else value
        if self._compute is not None:
            self._compute(obj)
        for key, tag, filler in self._children:
            inner = obj.get(key)
            if not inner and inner.__class__ is not dict:
                continue
            if tag == shapes.STRUCT:
                filler.fill(inner)
            else:
                for element in inner if tag == shapes.LIST else inner.values():
                    filler.fill(element)


@lru_cache(maxsize=1)
def _constants() -> dict[str, dict[str, Any]]:
    raw = resources.files("uniteddeployment.embedded.builtin").joinpath("defaults.json").read_bytes()
    decoded: dict[str, dict[str, Any]] = msgspec.json.decode(raw)
    return decoded


_fillers: dict[str, Filler] = {}


def filler_of(definition: str) -> Filler:
    """The defaults of a definition."""
    filler = _fillers.get(definition)
    if filler is None:
        short = ".".join(definition.split(".")[-3:])
        filler = _fillers[definition] = Filler(_constants().get(short, {}), _COMPUTED.get(short))
        for key, schema in shapes.resolve(definition).get("properties", {}).items():
            nested = _nested(schema)
            if nested is not None:
                child = filler_of(nested[1])
                if not child.idle:
                    filler.add(key, nested[0], child)
    return filler


def _nested(schema: Any) -> tuple[int, str] | None:
    """Whether a field holds objects of a definition, and which definition."""
    for tag, inner in (
        (shapes.STRUCT, schema),
        (shapes.LIST, schema.get("items") or {}),
        (shapes.MAP, schema.get("additionalProperties") or {}),
    ):
        if "$ref" in inner:
            return tag, inner["$ref"]
    return None
