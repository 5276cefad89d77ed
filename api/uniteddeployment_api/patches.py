"""What makes a subset's workload differ from the template: its ``patch``, then its ``overrides``.

The planner builds workloads with these functions and admission tries them out with them, so both mean the same. A
workload is ``{metadata, spec}`` here. Replicas, selector and partition belong to the controller: a change that reaches
them is refused, however it is written.
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
"""Fields of the specs of workloads. No pod spec has a field of one of these names."""

PROTECTED: Final = (
    ("spec", "replicas"),
    ("spec", "selector"),
    ("spec", "updateStrategy", "rollingUpdate", "partition"),
    ("spec", "updateStrategy", "partition"),
)
"""What neither patch nor overrides may set."""
PROTECTED_MESSAGE: Final = (
    "may not be set here: the controller sets replicas, selector and partition from spec.topology, spec.selector "
    "and spec.updateStrategy.manualUpdate"
)
ANYTHING_ELSE_MESSAGE: Final = "only metadata.labels, metadata.annotations and spec can be changed here"
MIXED_MESSAGE: Final = (
    "is a field of a pod spec beside fields of a workload's spec: put what is the pod's under spec.template.spec"
)
_DIRECTIVES: Final = frozenset({"$patch", "$retainKeys"})


def is_for_workload(patch: Mapping[str, Any]) -> bool:
    """Whether the root of a patch is the workload; otherwise it is the pod template. Raises PatchError if mixed."""
    spec = patch.get("spec")
    fields = [field for field in spec if not field.startswith("$")] if isinstance(spec, Mapping) else []
    of_workload = [field for field in fields if field in WORKLOAD_FIELDS]
    if of_workload and len(of_workload) < len(fields):
        mixed = next(field for field in fields if field not in WORKLOAD_FIELDS)
        raise PatchError(f"spec.{mixed}", MIXED_MESSAGE)
    return bool(of_workload)


def with_patch(workload: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The workload with a subset's patch merged into it. Raises PatchError with the path inside the patch."""
    for field in patch:
        if field not in {"metadata", "spec"} and field not in _DIRECTIVES:
            raise PatchError(field, ANYTHING_ELSE_MESSAGE)
    if is_for_workload(patch):
        _refuse_protected(patch)
        return _kept(workload, strategic.merge(workload, patch), "")
    spec = {**workload["spec"], "template": strategic.merge(workload["spec"].get("template"), patch)}
    return {**workload, "spec": spec}


def with_overrides(workload: Mapping[str, Any], operations: Sequence[jsonpatch.Operation]) -> dict[str, Any]:
    """The workload with a subset's overrides. Raises PatchError with the path inside the list (``[1].path``)."""
    result = dict(workload)
    budget = jsonpatch.CopyBudget()
    for index, operation in enumerate(operations):
        where = f"[{index}]"
        for field in ("path", "from"):
            if field in operation:
                _refuse_pointer(operation[field], f"{where}.{field}")
        try:
            made = jsonpatch.apply(result, (operation,), budget)
        except PatchError as error:
            raise PatchError(f"{where}{error.path.removeprefix('[0]')}", error.reason) from None
        result = _kept(result, made, f"{where}.path")
    return result


def check_size(workload: Mapping[str, Any]) -> None:
    """Refuses a workload that is larger than any API server stores. Raises PatchError."""
    if limits.size(workload) > limits.MAX_WORKLOAD_BYTES:
        raise PatchError("", f"makes a workload of more than {limits.mebibytes(limits.MAX_WORKLOAD_BYTES)}")


def is_protected(path: Sequence[str]) -> bool:
    """Whether a path, as its steps, is or is inside something that neither patch nor overrides may set."""
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


def _kept(before: Mapping[str, Any], after: Any, where: str) -> dict[str, Any]:
    """What was made of a workload, if it still is one and nothing protected was reached. Raises PatchError."""
    if not isinstance(after, Mapping) or not isinstance(after.get("spec"), Mapping):
        raise PatchError(where, ANYTHING_ELSE_MESSAGE)
    for path in PROTECTED:
        now = _get(after, path)
        # A partition may go with its strategy: it is the controller's to write.
        if now != _get(before, path) and not (now is None and len(path) > 2):
            raise PatchError(where or ".".join(path), PROTECTED_MESSAGE)
    return dict(after)


def _get(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, Mapping) else None
    return document
