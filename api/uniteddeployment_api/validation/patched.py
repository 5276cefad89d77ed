"""Checks of patches and overrides, which apply them to the template in the same way as the planner."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from uniteddeployment_api import patches
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.placement import placed
from uniteddeployment_api.pods import labels_of, pod_template_errors
from uniteddeployment_api.strategic import PatchError
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES, STATEFUL_SET_TEMPLATE
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset, UnitedDeployment
from uniteddeployment_api.validation.candidate import SUBSETS, Candidate, Check, single_template, spec_path, violation
from uniteddeployment_api.validation.template import selector_errors

_MUTABLE: Final = frozenset(
    {
        "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit",
        "selector", "template", "updateStrategy",
    }
)  # fmt: skip
"""Fields of a StatefulSet that API servers allow to change, and ``selector``, which a template may set without
effect."""
_IMMUTABLE: Final = frozenset({"podManagementPolicy", "serviceName", "volumeClaimTemplates"})
"""Fields of an Advanced StatefulSet that must not change. Its other fields may."""
_DEFAULTS: Final[Mapping[str, Any]] = {"podManagementPolicy": "OrderedReady"}


def _patches(candidate: Candidate) -> Iterator[FieldError]:
    base = _workload(candidate.ud)
    if base is None:
        return
    for index, subset in enumerate(candidate.subsets):
        where = f"{SUBSETS}[{index}]"
        for place, operation in enumerate(subset.overrides):
            path = f"{where}.overrides[{place}]"
            if (operation.from_ is not None) != (operation.op in {"move", "copy"}):
                yield violation("override-from", f"{path}.from")
            if ("value" in operation.model_fields_set) != (operation.op in {"add", "replace", "test"}):
                yield violation("override-value", f"{path}.value")
        if subset.patch is not None or subset.overrides:
            yield from _check_changed(candidate, subset, where, base)


def _check_changed(candidate: Candidate, subset: Subset, where: str, base: Mapping[str, Any]) -> Iterator[FieldError]:
    try:
        workload = _changed(base, subset)
    except _NotApplied as error:
        yield error.field_error(where)
        return
    template = workload["spec"].get("template")
    problems = [f"template{path}" for path in pod_template_errors(template)]
    labels = labels_of(template)
    if labels is not None:
        labels_path = "template.metadata.labels"
        problems += [str(violation(name, labels_path, detail)) for name, detail in _new_mismatches(candidate, labels)]
    if problems and not any(pod_template_errors(base["spec"].get("template"))):
        yield violation("patched-template", where, ", ".join(problems))


def _new_mismatches(candidate: Candidate, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield selector rules that patched labels violate, unless the labels of the template violate one already."""
    base = _workload(candidate.ud)
    before = labels_of(base["spec"].get("template")) if base else None
    if before is not None and not any(selector_errors(candidate.ud.spec.selector, before)):
        yield from selector_errors(candidate.ud.spec.selector, labels)


def _unchanged(candidate: Candidate) -> Iterator[FieldError]:
    """Yield changes of immutable fields of StatefulSets (the rule workload-immutable)."""
    if candidate.old is None or candidate.ud.recreates:
        return
    new, old = single_template(candidate.ud), single_template(candidate.old)
    if new is None or old is None or new[0] != old[0] or new[0] not in ORDINAL_TEMPLATES:
        return
    field = new[0]
    differing = _differing(field, old[1], new[1])
    for name in differing:
        yield violation("workload-immutable", f"{spec_path(field)}.{name}")
    before = {subset.name: subset for subset in candidate.old.spec.topology.subsets}
    for index, subset in enumerate(candidate.subsets):
        known = before.get(subset.name)
        if known is None or known.target_cluster != subset.target_cluster:
            continue  # a new workload has no immutable fields yet
        for name in _differing(field, _spec(candidate.old, known), _spec(candidate.ud, subset)):
            if name not in differing:
                yield violation("workload-immutable", _changed_by(subset, f"{SUBSETS}[{index}]", name))


def _differing(field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the immutable fields that differ between two specs, in a fixed order."""
    fields = (old.keys() | new.keys()) - _MUTABLE if field == STATEFUL_SET_TEMPLATE else _IMMUTABLE
    return sorted(name for name in fields if _value(old, name) != _value(new, name))


def _value(spec: Mapping[str, Any], name: str) -> Any:
    return spec.get(name) or _DEFAULTS.get(name)


def _spec(ud: UnitedDeployment, subset: Subset) -> Mapping[str, Any]:
    base = _workload(ud)
    if base is None:
        return {}
    try:
        workload = _changed(base, subset)
    except _NotApplied:
        return {}  # _patches reports it
    spec: Mapping[str, Any] = workload["spec"]
    return spec


def _changed_by(subset: Subset, where: str, name: str) -> str:
    """Return the path of the patch or override that sets a field; otherwise, the path of the subset."""
    spec = (subset.patch or {}).get("spec")
    if isinstance(spec, Mapping) and name in spec:
        return f"{where}.patch.spec.{name}"
    for place, operation in enumerate(subset.overrides):
        if operation.path == f"/spec/{name}" or operation.path.startswith(f"/spec/{name}/"):
            return f"{where}.overrides[{place}].path"
    return where


class _NotApplied(ValueError):  # noqa: N818  never leaves this module: it becomes a FieldError
    """A patch or an override that cannot be applied."""

    def __init__(self, field: str, error: PatchError) -> None:
        super().__init__(str(error))
        self._field = field
        self._error = error

    def field_error(self, where: str) -> FieldError:
        """Return the error for the subset at the path ``where``."""
        path, reason = self._error.path, self._error.reason
        dot = "." if path and not path.startswith("[") else ""
        name = "applies"
        if reason == patches.PROTECTED_MESSAGE:
            name = "protected"
        elif reason == patches.ANYTHING_ELSE_MESSAGE and self._field == "override":
            name = "within"
        full = f"{where}.{'patch' if self._field == 'patch' else 'overrides'}{dot}{path}"
        return violation(f"{self._field}-{name}", full, reason if name == "applies" else "")


def _workload(ud: UnitedDeployment) -> dict[str, Any] | None:
    """Return the workload that patches apply to, with placeholders in the fields that they must not set."""
    template = single_template(ud)
    if template is None:
        return None
    metadata = next(iter(ud.spec.template.given.values())).metadata
    return {
        "metadata": {"labels": dict(metadata.labels), "annotations": dict(metadata.annotations)},
        "spec": {**template[1], "replicas": 1, "selector": {}},
    }


def _changed(base: Mapping[str, Any], subset: Subset) -> Mapping[str, Any]:
    """Return the workload with the placement, patch and overrides of a subset applied. Raises _NotApplied."""
    template = base["spec"].get("template")
    if isinstance(template, Mapping):
        base = {**base, "spec": {**base["spec"], "template": placed(template, subset)}}
    try:
        if subset.patch:
            base = patches.with_patch(base, subset.patch)
    except PatchError as error:
        raise _NotApplied("patch", error) from None
    try:
        changed = patches.with_overrides(base, [operation.operation() for operation in subset.overrides])
        if subset.patch or subset.overrides:
            patches.check_size(changed)
    except PatchError as error:
        raise _NotApplied("override" if subset.overrides else "patch", error) from None
    return changed


PATCH_CHECKS: Final[tuple[Check, ...]] = (_patches, _unchanged)
