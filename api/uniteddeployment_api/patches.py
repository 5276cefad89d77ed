"""Customization of the workload of a subset: its ``patch``, then its ``overrides``.

The planner builds workloads with these functions, and validation applies them on trial, so both agree. In this module,
a workload is a mapping ``{metadata, spec}``. The controller sets replicas, selector and partition; any patch that
changes one of them is rejected.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from uniteddeployment_api import jsonpatch, limits, strategic
from uniteddeployment_api.strategic import PatchError

WORKLOAD_FIELDS: Final = frozenset(
    {
        "lifecycle", "minReadySeconds", "ordinals", "paused", "persistentVolumeClaimRetentionPolicy",
        "podManagementPolicy", "progressDeadlineSeconds", "replicas", "reserveOrdinals", "revisionHistoryLimit",
        "scaleStrategy", "selector", "serviceName", "strategy", "template", "updateStrategy", "volumeClaimTemplates",
        "volumeClaimUpdateStrategy",
    }
)  # fmt: skip
"""Fields of workload specs. Pod specs have no fields with these names."""

PROTECTED: Final = (
    ("spec", "replicas"),
    ("spec", "selector"),
    ("spec", "updateStrategy", "rollingUpdate", "partition"),
    ("spec", "updateStrategy", "partition"),
)
"""Fields that patch and overrides must not set."""
PROTECTED_MESSAGE: Final = (
    "must not be set here; the controller sets replicas, selector and partition from spec.topology, spec.selector "
    "and spec.updateStrategy.manualUpdate"
)
ANYTHING_ELSE_MESSAGE: Final = "only metadata.labels, metadata.annotations and fields of spec can be changed"
MIXED_MESSAGE: Final = (
    "fields of a pod spec and fields of a workload spec cannot be mixed; move fields of the pod to spec.template.spec"
)
_DIRECTIVES: Final = frozenset({"$patch", "$retainKeys"})


def is_for_workload(patch: Mapping[str, Any]) -> bool:
    """Return whether a patch applies to the workload; otherwise it applies to the pod template.

    Raises PatchError if its spec mixes fields of both.
    """
    spec = patch.get("spec")
    fields = [field for field in spec if not field.startswith("$")] if isinstance(spec, Mapping) else []
    of_workload = [field for field in fields if field in WORKLOAD_FIELDS]
    if of_workload and len(of_workload) < len(fields):
        mixed = next(field for field in fields if field not in WORKLOAD_FIELDS)
        raise PatchError(f"spec.{mixed}", MIXED_MESSAGE)
    return bool(of_workload)


def with_patch(workload: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the workload with a subset's patch applied. Raises PatchError with the path inside the patch."""
    for field in patch:
        if field not in {"metadata", "spec"} and field not in _DIRECTIVES:
            raise PatchError(field, ANYTHING_ELSE_MESSAGE)
    if is_for_workload(patch):
        _refuse_protected(patch)
        return _checked(workload, strategic.merge(workload, patch), "")
    spec = {**workload["spec"], "template": strategic.merge(workload["spec"].get("template"), patch)}
    return {**workload, "spec": spec}


def with_overrides(workload: Mapping[str, Any], operations: Sequence[jsonpatch.Operation]) -> dict[str, Any]:
    """Return the workload with a subset's overrides applied.

    Raises PatchError with the location in the list, such as ``[1].path``.
    """
    result = dict(workload)
    budget = jsonpatch.CopyBudget()
    for index, operation in enumerate(operations):
        where = f"[{index}]"
        for field in ("path", "from"):
            if field in operation:
                _refuse_pointer(operation[field], f"{where}.{field}")
        try:
            changed = jsonpatch.apply(result, (operation,), budget)
        except PatchError as error:
            raise PatchError(f"{where}{error.path.removeprefix('[0]')}", error.reason) from None
        result = _checked(result, changed, f"{where}.path")
    return result


def check_size(workload: Mapping[str, Any]) -> None:
    """Raises PatchError if the workload is larger than :data:`limits.MAX_WORKLOAD_BYTES`."""
    if limits.size(workload) > limits.MAX_WORKLOAD_BYTES:
        raise PatchError("", f"the resulting workload must not exceed {limits.mebibytes(limits.MAX_WORKLOAD_BYTES)}")


def is_protected(path: Sequence[str]) -> bool:
    """Return whether a path, given as its steps, is a protected field or inside one."""
    return any(tuple(path[: len(known)]) == known for known in PROTECTED)


def _refuse_pointer(pointer: str, where: str) -> None:
    if not pointer.startswith("/"):
        raise PatchError(where, ANYTHING_ELSE_MESSAGE)
    try:
        steps = jsonpatch.tokens(pointer)
    except ValueError as error:
        raise PatchError(where, str(error)) from None
    if not (len(steps) > 1 and steps[0] == "spec") and steps[:2] not in {
        ("metadata", "labels"),
        ("metadata", "annotations"),
    }:
        raise PatchError(where, ANYTHING_ELSE_MESSAGE)
    if is_protected(steps):
        raise PatchError(where, PROTECTED_MESSAGE)


def _refuse_protected(patch: Mapping[str, Any]) -> None:
    for path in PROTECTED:
        if _get(patch, path) is not None:
            raise PatchError(".".join(path), PROTECTED_MESSAGE)
    for field in patch.get("metadata") or ():
        if field not in {"labels", "annotations"}:
            raise PatchError(f"metadata.{field}", ANYTHING_ELSE_MESSAGE)


def _checked(before: Mapping[str, Any], after: Any, where: str) -> dict[str, Any]:
    """Return the changed workload. Raises PatchError if it is not a workload any more or a protected field differs."""
    if not isinstance(after, Mapping) or not isinstance(after.get("spec"), Mapping):
        raise PatchError(where, ANYTHING_ELSE_MESSAGE)
    for path in PROTECTED:
        now = _get(after, path)
        # A patch may remove a partition with the strategy around it: the controller writes the partition anyway.
        if now != _get(before, path) and not (now is None and len(path) > 2):
            raise PatchError(where or ".".join(path), PROTECTED_MESSAGE)
    return dict(after)


def _get(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document
