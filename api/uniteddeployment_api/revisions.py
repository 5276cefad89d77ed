"""The content of a revision: the pod template and what subsets change in it. Pure.

Everything else in a spec (shares, partitions, strategies) belongs to no revision, and stays when an earlier one is
restored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from uniteddeployment_api.patches import is_for_workload
from uniteddeployment_api.v1alpha1.template import TEMPLATES

Operations = tuple[Mapping[str, Any], ...]
_TEMPLATE = "/spec/template"


class RevisionContent(Protocol):
    """A stored revision."""

    @property
    def template(self) -> Mapping[str, Any]:
        """The pod template."""

    @property
    def patches(self) -> Mapping[str, Mapping[str, Any]]:
        """Subset -> strategic merge patch on the pod template."""

    @property
    def overrides(self) -> Mapping[str, Operations]:
        """Subset -> JSON patch operations that reach the pod template."""

    def knows(self, subset: str) -> bool:
        """Whether the subset existed when the revision was stored."""


def restored(spec: Mapping[str, Any], data: RevisionContent) -> dict[str, Any]:
    """The spec with the pod template of a revision, and with the changes that its subsets made to it then."""
    template = spec["template"]
    field = next(one for one in TEMPLATES if template.get(one))
    chosen = template[field]
    workload = {**chosen, "spec": {**chosen["spec"], "template": data.template}}
    topology = spec.get("topology") or {}
    subsets = [_subset(subset, data) for subset in topology.get("subsets") or ()]
    wanted = {**spec, "template": {**template, field: workload}}
    return wanted | ({"topology": {**topology, "subsets": subsets}} if subsets else {})


def template_operations(operations: Sequence[Mapping[str, Any]]) -> Operations:
    """The operations that reach the pod template, without the tests, which change nothing.

    Where one carries a value between the pod template and the rest of the workload they cannot be told apart, and all
    of them count.
    """
    changes = [operation for operation in operations if operation["op"] != "test"]
    reaching = [operation for operation in changes if any(_inside(pointer) for pointer in _pointers(operation))]
    crossing = any(not all(_inside(pointer) for pointer in _pointers(operation)) for operation in reaching)
    return tuple(changes if crossing else reaching)


def _subset(subset: Mapping[str, Any], data: RevisionContent) -> dict[str, Any]:
    """A subset that was added after the revision keeps its changes."""
    name = subset["name"]
    if not data.knows(name):
        return dict(subset)
    made = {key: value for key, value in subset.items() if key not in ("patch", "overrides")}
    patch = _patch(subset.get("patch"), data.patches.get(name))
    operations = _operations(subset.get("overrides") or (), data.overrides.get(name, ()))
    return made | ({"patch": patch} if patch else {}) | ({"overrides": operations} if operations else {})


def _patch(now: Mapping[str, Any] | None, then: Mapping[str, Any] | None) -> dict[str, Any]:
    """The current patch for the rest of the workload, combined with the earlier patch for the pod template."""
    if not now or not is_for_workload(now):
        return dict(then or {})
    spec = {key: value for key, value in now["spec"].items() if key != "template"}
    if then:
        spec["template"] = then
    return {**now, "spec": spec} if spec else {key: value for key, value in now.items() if key != "spec"}


def _operations(now: Sequence[Mapping[str, Any]], then: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same for operations. Tests of the current template are dropped: the earlier one may be different."""
    reaching = template_operations(now)
    if tuple(then) == reaching:
        return list(now)
    kept = [one for one in now if one not in reaching and one not in then and not _tests_template(one)]
    return [*kept, *then]


def _tests_template(operation: Mapping[str, Any]) -> bool:
    return operation["op"] == "test" and f"{operation['path']}/".startswith("/spec/template/")


def merge_diff(old: Any, new: Any) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) that turns ``old`` into ``new``."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := merge_diff(before, value):
                patch[key] = inner
        elif key not in old or value != before:
            patch[key] = value
    return patch


def _pointers(operation: Mapping[str, Any]) -> list[str]:
    return [operation[field] for field in ("path", "from") if field in operation]


def _inside(pointer: str) -> bool:
    return pointer == _TEMPLATE or pointer.startswith(_TEMPLATE + "/")
