"""The status of a UnitedDeployment as its object stores it, and as a plan gives it to be stored.

Anybody with the right to write the status can write anything into it. So every piece that does not have the form in
which the controller writes it is treated as absent, and the rest counts.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from uniteddeployment.planning.observed.values import Count

Sum = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A generation, or the sum of several."""
S = TypeVar("S", bound=Struct)


class StoredCondition(Struct, rename="camel", frozen=True):
    """One condition, with the time of its last transition."""

    type: str
    status: str
    observed_generation: Sum | None = None
    """The generation of the UnitedDeployment that it describes. Conditions of subsets have none."""
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class StoredDrift(Struct, rename="camel", frozen=True):
    """Changes of others to a workload that were reverted."""

    time: str
    message: str = ""


class RevisionCount(Struct, rename="camel", frozen=True):
    """The pods of a subset at one revision."""

    revision: str
    replicas: Count = 0
    ready_replicas: Count = 0
    restarts: Count = 0
    """Restarts of the containers of these pods."""


class StoredWorkload(Struct, rename="camel", frozen=True):
    """The entry of a workload: that of a subset, or one that is left over."""

    cluster: str = ""
    workload: str = ""
    """``Kind/name``; empty if there is none."""
    observed_replicas: Count = 0
    ready_replicas: Count = 0
    reason: str = ""
    last_observed_time: str | None = None
    """When its cluster was last seen; only set while it cannot be."""

    @property
    def kind(self) -> str:
        """The kind of the workload; empty if there is none."""
        return self.workload.partition("/")[0]

    @property
    def workload_name(self) -> str:
        """The name of the workload; empty if there is none."""
        return self.workload.partition("/")[2]


class StoredSubset(StoredWorkload, rename="camel", frozen=True, kw_only=True):
    """The entry of one subset."""

    name: str
    state: str = ""
    replicas: Count = 0
    """Number of pods that it was last assigned."""
    desired_replicas: Count | None = None
    """Number of pods that it will have when those that leave it are replaced; None if none leave it."""
    moved_replicas: Count = 0
    possibly_running: Count = 0
    updated_replicas: Count = 0
    updated_ready_replicas: Count = 0
    partition: Count = 0
    revision: str = ""
    """The target revision: that of the updated pods."""
    stable_revision: str = ""
    """The stable revision, if it is another one."""
    observed_generation: Sum = 0
    """The generation that our last write gave its workload; the sum if there are several."""
    ordinals_start: Count | None = None
    reserved_replicas: Count = 0
    conditions: tuple[StoredCondition, ...] = ()
    revisions: tuple[RevisionCount, ...] = ()
    last_drift: StoredDrift | None = None

    @property
    def desired(self) -> int:
        """Number of pods that it will have when nothing moves any more."""
        return self.replicas if self.desired_replicas is None else self.desired_replicas

    def condition(self, type_: str) -> StoredCondition | None:
        """The condition of a type, if there is one."""
        return next((condition for condition in self.conditions if condition.type == type_), None)


class StoredLeftover(StoredWorkload, rename="camel", frozen=True, kw_only=True):
    """The entry of a workload that the topology no longer includes."""

    subset: str


class StoredStatus(Struct, rename="camel", frozen=True, kw_only=True, dict=True):
    """The whole status. A field that is None is not in it."""

    observed_generation: Sum | None = None
    replicas: Count | None = None
    ready_replicas: Count | None = None
    updated_replicas: Count | None = None
    updated_ready_replicas: Count | None = None
    unplaced_replicas: Count | None = None
    possibly_running_replicas: Count | None = None
    last_move_time: str | None = None
    current_revision: str | None = None
    """The ControllerRevision that was last rolled out completely; empty before the first."""
    updated_revision: str | None = None
    label_selector: str | None = None
    conditions: tuple[StoredCondition, ...] | None = None
    subset_statuses: tuple[StoredSubset, ...] | None = None
    leftovers: tuple[StoredLeftover, ...] | None = None

    @cached_property
    def subsets(self) -> Mapping[str, StoredSubset]:
        """The subsets by name."""
        return {subset.name: subset for subset in self.subset_statuses or ()}

    def subset(self, name: str) -> StoredSubset:
        """One subset; all its fields are empty if the status does not know it."""
        return self.subsets.get(name, NO_SUBSET)

    @property
    def workloads(self) -> tuple[StoredWorkload, ...]:
        """Every entry that may name a workload."""
        return (*(self.subset_statuses or ()), *(self.leftovers or ()))

    def condition(self, type_: str) -> StoredCondition | None:
        """The condition of a type, if there is one."""
        return next((condition for condition in self.conditions or () if condition.type == type_), None)


NO_STATUS = StoredStatus()
NO_SUBSET = StoredSubset(name="")
"""Stands for a subset that the status does not know."""


def read_status(document: object) -> StoredStatus:
    """Decode a status. Every piece of it that cannot be decoded is left out.

    >>> status = read_status({"replicas": "many", "subsetStatuses": [{"name": "a", "replicas": 3, "partition": -1}, 7]})
    >>> status.replicas, [(subset.name, subset.replicas, subset.partition) for subset in status.subset_statuses]
    (None, [('a', 3, 0)])
    """
    return _salvage(document, StoredStatus) or NO_STATUS


def to_document(status: StoredStatus) -> dict[str, Any]:
    """The status as JSON, which is merged into what is stored. Fields that are None are left as they are stored."""
    encoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(status))
    document = {field: value for field, value in encoded.items() if value is not None}
    for field in ("conditions", "subsetStatuses", "leftovers"):
        if field in document:
            document[field] = [_pruned(entry) for entry in document[field]]
    return document


def differs(status: StoredStatus, document: Mapping[str, Any]) -> bool:
    """Return True if merging this status into the stored document would change it."""
    wanted = to_document(status)
    return any(field not in document or document[field] != value for field, value in wanted.items())


_OMITTED_IF_EMPTY = frozenset(
    {
        "reservedReplicas",
        "movedReplicas",
        "possiblyRunning",
        "conditions",
        "revisions",
        "stableRevision",
        "restarts",
    }
)
"""Fields of an entry that are left out not only if they are None, but also if they are zero or empty."""


def _pruned(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry without the fields that say nothing."""
    kept = {
        field: value
        for field, value in entry.items()
        if value is not None and (value or field not in _OMITTED_IF_EMPTY)
    }
    for field in ("conditions", "revisions"):
        if field in kept:
            kept[field] = [_pruned(item) for item in kept[field]]
    return kept


def _salvage(document: object, type_: type[S]) -> S | None:
    """Everything of a document that can be decoded; None if what cannot be is required."""
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError:
        if not isinstance(document, Mapping):
            return None
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(type_):
        if field.encode_name in document:
            value = _salvaged_value(document[field.encode_name], field.type)
            if value is not msgspec.UNSET:
                values[field.name] = value
        if field.required and field.name not in values:
            return None
    return type_(**values)


def _salvaged_value(value: object, type_: Any) -> object:
    """A value of a field, without the items of a list that cannot be decoded; UNSET if it has the wrong type."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        item = _item_type(type_)
        if item is None or not isinstance(value, list):
            return msgspec.UNSET
    salvaged = (_salvage(entry, item) for entry in value)
    return tuple(entry for entry in salvaged if entry is not None)


def _item_type(type_: Any) -> type[Struct] | None:
    """The type of the items, if the type is a list of structs or allows one."""
    if get_origin(type_) is tuple:
        struct: type[Struct] = get_args(type_)[0]
        return struct
    options = (_item_type(option) for option in get_args(type_))
    return next((option for option in options if option is not None), None)
