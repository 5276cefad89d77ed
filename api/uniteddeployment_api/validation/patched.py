"""Checks of patches and overrides, by applying them to the template as the planner does."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from uniteddeployment_api import patches
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.placement import placed
from uniteddeployment_api.pods import labels_of, pod_template_errors
from uniteddeployment_api.strategic import PatchError
from uniteddeployment_api.v1alpha1.template import ORDINAL_TEMPLATES, STATEFUL_SET_TEMPLATE
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset, UnitedDeployment
from uniteddeployment_api.validation.seen import SUBSETS, Check, Seen, broken, chosen, spec_path
from uniteddeployment_api.validation.template import selector_errors

_MUTABLE: Final = frozenset(
    {
        "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit",
        "selector", "template", "updateStrategy",
    }
)  # fmt: skip
"""What an API server lets change in a StatefulSet. A selector in a template means nothing: spec.selector does."""
_FIXED: Final = frozenset({"podManagementPolicy", "serviceName", "volumeClaimTemplates"})
"""What it does not, among the fields that there are now; OpenKruise's StatefulSet has others that it does."""
_DEFAULTS: Final[Mapping[str, Any]] = {"podManagementPolicy": "OrderedReady"}


def _patches(seen: Seen) -> Iterator[FieldError]:
    base = _workload(seen.ud)
    if base is None:
        return
    for index, subset in enumerate(seen.subsets):
        where = f"{SUBSETS}[{index}]"
        for place, operation in enumerate(subset.overrides):
            path = f"{where}.overrides[{place}]"
            if (operation.from_ is not None) != (operation.op in {"move", "copy"}):
                yield broken("override-from", f"{path}.from")
            if ("value" in operation.model_fields_set) != (operation.op in {"add", "replace", "test"}):
                yield broken("override-value", f"{path}.value")
        if subset.patch is not None or subset.overrides:
            yield from _tried(seen, subset, where, base)


def _tried(seen: Seen, subset: Subset, where: str, base: Mapping[str, Any]) -> Iterator[FieldError]:
    try:
        workload = _changed(base, subset)
    except _NotApplied as error:
        yield error.told(where)
        return
    template = workload["spec"].get("template")
    wrong = [f"template{path}" for path in pod_template_errors(template)]
    labels = labels_of(template)
    if labels is not None:
        wrong += [f"template.metadata.labels: {detail or name}" for name, detail in _selected(seen, labels)]
    if wrong and not any(pod_template_errors(base["spec"].get("template"))):
        yield broken("patched-template", where, ", ".join(wrong))


def _selected(seen: Seen, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What the selector misses in patched labels and did not miss before."""
    base = _workload(seen.ud)
    before = labels_of(base["spec"].get("template")) if base else None
    if before is not None and not any(selector_errors(seen.ud.spec.selector, before)):
        yield from selector_errors(seen.ud.spec.selector, labels)


def _unchanged(seen: Seen) -> Iterator[FieldError]:
    """What an API server refuses to change in a StatefulSet (the rule workload-immutable)."""
    if seen.old is None or seen.ud.recreates:
        return
    new, old = chosen(seen.ud), chosen(seen.old)
    if new is None or old is None or new[0] != old[0] or new[0] not in ORDINAL_TEMPLATES:
        return
    field = new[0]
    differing = _differing(field, old[1], new[1])
    for name in differing:
        yield broken("workload-immutable", f"{spec_path(field)}.{name}")
    before = {subset.name: subset for subset in seen.old.spec.topology.subsets}
    for index, subset in enumerate(seen.subsets):
        known = before.get(subset.name)
        if known is None or known.target_cluster != subset.target_cluster:
            continue  # a new workload, wherever it is
        for name in _differing(field, _spec(seen.old, known), _spec(seen.ud, subset)):
            if name not in differing:
                yield broken("workload-immutable", _changed_by(subset, f"{SUBSETS}[{index}]", name))


def _differing(field: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The fields of two specs that differ and may not, in a fixed order."""
    fields = (old.keys() | new.keys()) - _MUTABLE if field == STATEFUL_SET_TEMPLATE else _FIXED
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
        return {}  # another check tells of it
    spec: Mapping[str, Any] = workload["spec"]
    return spec


def _changed_by(subset: Subset, where: str, name: str) -> str:
    """The patch or the overrides that set a field, or else the subset."""
    spec = (subset.patch or {}).get("spec")
    if isinstance(spec, Mapping) and name in spec:
        return f"{where}.patch.spec.{name}"
    for place, operation in enumerate(subset.overrides):
        if operation.path == f"/spec/{name}" or operation.path.startswith(f"/spec/{name}/"):
            return f"{where}.overrides[{place}].path"
    return where


class _NotApplied(ValueError):  # noqa: N818  not a failure of ours: it becomes an error of a field
    """A patch or an override that cannot be applied."""

    def __init__(self, field: str, error: PatchError) -> None:
        super().__init__(str(error))
        self._field = field
        self._error = error

    def told(self, where: str) -> FieldError:
        path, reason = self._error.path, self._error.reason
        dot = "." if path and not path.startswith("[") else ""
        name = "applies"
        if reason == patches.PROTECTED_MESSAGE:
            name = "protected"
        elif reason == patches.ANYTHING_ELSE_MESSAGE and self._field == "override":
            name = "within"
        full = f"{where}.{'patch' if self._field == 'patch' else 'overrides'}{dot}{path}"
        return broken(f"{self._field}-{name}", full, reason if name == "applies" else "")


def _workload(ud: UnitedDeployment) -> dict[str, Any] | None:
    """A workload as patches find it, with something in each place that is not theirs."""
    template = chosen(ud)
    if template is None:
        return None
    metadata = next(iter(ud.spec.template.given.values())).metadata
    return {
        "metadata": {"labels": dict(metadata.labels), "annotations": dict(metadata.annotations)},
        "spec": {**template[1], "replicas": 1, "selector": {}},
    }


def _changed(base: Mapping[str, Any], subset: Subset) -> Mapping[str, Any]:
    """The workload of a subset. Raises _NotApplied."""
    template = base["spec"].get("template")
    if isinstance(template, Mapping):
        base = {**base, "spec": {**base["spec"], "template": placed(template, subset)}}
    try:
        if subset.patch:
            base = patches.with_patch(base, subset.patch)
    except PatchError as error:
        raise _NotApplied("patch", error) from None
    try:
        made = patches.with_overrides(base, [operation.operation() for operation in subset.overrides])
        if subset.patch or subset.overrides:
            patches.check_size(made)
    except PatchError as error:
        raise _NotApplied("override" if subset.overrides else "patch", error) from None
    return made


PATCH_CHECKS: Final[tuple[Check, ...]] = (_patches, _unchanged)
