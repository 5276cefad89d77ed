"""The catalog of built-in kinds: converts ``kinds.json`` to resources.

Contract: a new kind is an entry there and its definition in ``definitions.json``. Behavior that data cannot express
(computed defaults, validation, allocation) is looked up in neighbouring modules by the kind's definition.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import resources as package
from typing import Any

import msgspec

from uniteddeployment.embedded.apimachinery.resources import Column, Obj, Resource, ScalePaths, Strategy
from uniteddeployment.embedded.builtin import conversion, shapes
from uniteddeployment.embedded.builtin.cells import cell
from uniteddeployment.embedded.builtin.cells.pods import row_conditions
from uniteddeployment.embedded.builtin.rules import rules_of
from uniteddeployment.embedded.builtin.strategy import BuiltinStrategy

ColumnData = tuple[str, str, str, int, str, str]
"""Name, type, format, priority, cell, description."""

_ROW_CONDITIONS = {"pod": row_conditions}


class KindData(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One entry of ``kinds.json``.

    ``fields`` are field selectors other than name and namespace, with the value of a missing field. ``generation``
    lists the paths whose changes raise the generation. ``row_hides`` lists annotations that table rows leave out.
    ``error_group`` is the group in validation errors if it differs.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    definition: str
    columns: list[ColumnData]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    status: bool = False
    scale: dict[str, str] | None = None
    generation: tuple[str, ...] = ()
    fields: dict[str, str] = {}
    storage: str = ""
    row_conditions: str = ""
    row_hides: tuple[str, ...] = ()
    error_group: str | None = None


class Catalog(msgspec.Struct):
    """The content of ``kinds.json``; ``descriptions`` are texts that columns refer to by ``@`` and a word."""

    descriptions: dict[str, str]
    kinds: list[KindData]


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    raw = package.files(__package__).joinpath("kinds.json").read_bytes()
    return msgspec.json.decode(raw, type=Catalog)


def resources(overrides: Mapping[str, Strategy] | None = None) -> tuple[Resource, ...]:
    """The built-in kinds, the preferred version of each first.

    ``overrides`` replaces strategies by resource key, e.g. for ``customresourcedefinitions.apiextensions.k8s.io``;
    :func:`strategy` creates the replaced one. Each call creates strategies with allocations of their own.
    """
    replaced = overrides or {}
    return tuple(
        replace(resource, strategy=replaced.get(resource.key) or strategy(data)) for data, resource in _resources()
    )


@lru_cache(maxsize=1)
def _resources() -> tuple[tuple[KindData, Resource], ...]:
    """Each kind with its resource, of which clusters share all but the strategy."""
    return tuple((data, _resource(data)) for data in catalog().kinds)


def strategy(kind: KindData) -> BuiltinStrategy:
    """The default strategy of a kind."""
    return BuiltinStrategy(
        kind.definition,
        kind=kind.kind,
        version=kind.version,
        status=kind.status,
        generation=kind.generation,
        rules=rules_of(kind.definition),
    )


def strategy_for(key: str) -> BuiltinStrategy:
    """The default strategy of the resource ``key``, for wrapping."""
    for kind in catalog().kinds:
        if key == (f"{kind.plural}.{kind.group}" if kind.group else kind.plural):
            return strategy(kind)
    raise KeyError(key)


def _resource(data: KindData) -> Resource:
    converters = conversion.CONVERTERS.get(data.definition, (None, None))
    extra: dict[str, Any] = {}
    if data.row_conditions:
        extra["row_conditions"] = _ROW_CONDITIONS[data.row_conditions]
    if data.row_hides:
        extra["row_hides"] = frozenset(data.row_hides)
    if data.error_group is not None:
        extra["error_group"] = data.error_group
    scale = data.scale
    return Resource(
        group=data.group,
        version=data.version,
        kind=data.kind,
        plural=data.plural,
        singular=data.singular,
        strategy=strategy(data),
        schema=shapes.resolve(data.definition),
        resolve=shapes.resolve,
        namespaced=data.namespaced,
        short_names=data.short_names,
        categories=data.categories,
        verbs=data.verbs,
        status=data.status,
        scale=ScalePaths(scale["replicas"], scale["statusReplicas"], scale.get("selector")) if scale else None,
        storage=data.storage,
        columns=_columns(data.columns),
        field_selectors=_field_selectors(data.fields),
        decode=converters[0],
        encode=converters[1],
        extra=extra,
    )


def _columns(rows: list[ColumnData]) -> tuple[Column, ...]:
    texts = catalog().descriptions
    return tuple(
        Column(
            name=name,
            type=type_,
            cell=cell(named),
            description=texts.get(description, description),
            format=format_,
            priority=priority,
        )
        for name, type_, format_, priority, named, description in rows
    )


def _field_selectors(fields: Mapping[str, str]) -> dict[str, Callable[[Obj], str]]:
    every = {"metadata.name": "", "metadata.namespace": "", **fields}
    return {path: _selected(path, otherwise) for path, otherwise in every.items()}


def _selected(path: str, otherwise: str) -> Callable[[Obj], str]:
    steps = conversion.FIELD_PATHS.get(path, path).split(".")

    def value(obj: Obj) -> str:
        at: Any = obj
        for step in steps:
            at = at.get(step) if isinstance(at, dict) else None
        if at is None:
            return otherwise
        return ("true" if at else "false") if isinstance(at, bool) else str(at)

    return value
