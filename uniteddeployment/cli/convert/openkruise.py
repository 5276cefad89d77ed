"""Converts a UnitedDeployment of OpenKruise: the manifest, and notes about differences. Pure.

Field names are the same, so most of a manifest stays as it is. Fields that OpenKruise accepts but ignores are removed,
so that the result means the same as the original. There is a note for each removed field, and for each difference in
behaviour that can affect this manifest.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from uniteddeployment_api import (
    FieldError,
    InvalidObject,
    UnitedDeployment,
    names,
    parse_united_deployment,
    validate_united_deployment,
)
from uniteddeployment_api.patches import WORKLOAD_FIELDS
from uniteddeployment_api.v1alpha1.template import DEPLOYMENT_TEMPLATE, TEMPLATES

GROUP = "apps.kruise.io"
VERSIONS = (f"{GROUP}/v1alpha1", f"{GROUP}/v1beta1")
_METADATA = ("name", "generateName", "namespace", "labels", "annotations")
_SERVER_OWNED = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DELETE_PROTECTION = "policy.kruise.io/delete-protection"
_SET_BY_CONTROLLER = "the controller sets it"


@dataclass(slots=True)
class Converted:
    """The converted manifest, and notes about it, one line each."""

    document: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def note(self, path: str, message: str) -> None:
        self.notes.append(f"{path}: {message}" if path else message)


def is_openkruise(document: Mapping[str, Any]) -> bool:
    """Return True if this is a UnitedDeployment of a supported version of OpenKruise."""
    return document.get("kind") == names.UNITED_DEPLOYMENT_KIND and document.get("apiVersion") in VERSIONS


def convert(document: Mapping[str, Any]) -> Converted:
    """Convert a manifest. Raises InvalidObject if the result is not valid."""
    source = copy.deepcopy(dict(document))
    spec = source.get("spec")
    if not isinstance(spec, dict):
        raise InvalidObject([FieldError("spec", "must be an object")])
    result = Converted({"apiVersion": names.API_VERSION, "kind": names.UNITED_DEPLOYMENT_KIND})
    result.document["metadata"] = _metadata(_object(source, "metadata"), result)
    patches = [subset.pop("patch", None) for subset in _subsets(spec)]
    result.document["spec"] = spec = _without_nulls(spec)
    for subset, patch in zip(_subsets(spec), patches, strict=True):
        if patch is not None:  # a null inside a patch deletes a field, so nulls are kept
            subset["patch"] = patch
    _total(spec, str(document["apiVersion"]), result)
    _template(spec, result)
    _workload_labels(spec, result)
    _early_node_selectors(spec, result)
    _patches(spec, result)
    _strategy(spec, result)
    _remove_unknown(result)
    model = parse_united_deployment(result.document)
    errors = validate_united_deployment(model)
    if errors:
        raise InvalidObject(errors)
    for path, message in _behaviours(model):
        result.note(path, message)
    return result


def _object(holder: Mapping[str, Any], *steps: str) -> dict[str, Any]:
    """The object at a path, to be changed in place; a new empty object if there is none."""
    value: Any = holder
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, dict) else {}


def _drop_empty(holder: dict[str, Any], *steps: str) -> None:
    """Remove the objects of a path that are empty, from its end to its start."""
    for end in range(len(steps), 0, -1):
        above = _object(holder, *steps[: end - 1])
        if above.get(steps[end - 1]) == {}:
            del above[steps[end - 1]]


def _subsets(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    subsets = _object(spec, "topology").get("subsets")
    return [subset for subset in subsets if isinstance(subset, dict)] if isinstance(subsets, list) else []


def _metadata(metadata: Mapping[str, Any], result: Converted) -> dict[str, Any]:
    kept = {key: metadata[key] for key in _METADATA if metadata.get(key)}
    for key in metadata:
        if key not in _METADATA and key not in _SERVER_OWNED:
            result.note(f"metadata.{key}", "removed: it concerns the object of OpenKruise")
    _object(kept, "annotations").pop(_LAST_APPLIED, None)
    if _DELETE_PROTECTION in _object(kept, "labels"):
        result.note(f"metadata.labels[{_DELETE_PROTECTION}]", "has no effect here: use RBAC or an admission policy")
    return {key: value for key, value in kept.items() if value}


def _total(spec: dict[str, Any], version: str, result: Converted) -> None:
    whole = all(isinstance(subset.get("replicas"), int) for subset in _subsets(spec))
    if "replicas" not in spec and version == VERSIONS[1] and not (whole and _subsets(spec)):
        spec["replicas"] = 1
        result.note("spec.replicas", "set to 1, which is the default of OpenKruise")


def _template(spec: Mapping[str, Any], result: Converted) -> None:
    for name in TEMPLATES:
        path = f"spec.template.{name}"
        metadata = _object(spec, "template", name, "metadata")
        for key in [key for key in metadata if key not in ("labels", "annotations")]:
            del metadata[key]
            result.note(f"{path}.metadata.{key}", f"removed: {_SET_BY_CONTROLLER}")
        workload = _object(spec, "template", name, "spec")
        for key in ("replicas", "selector"):
            if key in workload:
                del workload[key]
                result.note(f"{path}.spec.{key}", f"removed: {_SET_BY_CONTROLLER}")
        for steps in (("updateStrategy", "rollingUpdate"), ("updateStrategy",)):
            holder = _object(workload, *steps)
            if "partition" in holder:
                del holder["partition"]
                result.note(
                    f"{path}.spec.{'.'.join(steps)}.partition",
                    "removed: partitions are in spec.updateStrategy.manualUpdate.partitions",
                )
                _drop_empty(workload, *steps)


def _workload_labels(spec: dict[str, Any], result: Converted) -> None:
    """Remove labels of the workload that the selector selects.

    OpenKruise adopts every workload without an owner whose labels match its selector.
    """
    selected = _object(spec, "selector", "matchLabels")
    for name in TEMPLATES:
        labels = _object(spec, "template", name, "metadata", "labels")
        selecting = [key for key in labels if key in selected]
        for key in selecting:
            del labels[key]
        if selecting:
            result.note(
                f"spec.template.{name}.metadata.labels",
                f"removed {', '.join(selecting)}: an OpenKruise in that cluster would adopt the workloads",
            )
            _drop_empty(spec, "template", name, "metadata", "labels")


def _early_node_selectors(spec: Mapping[str, Any], result: Converted) -> None:
    """Rename a field that had another name in early versions of OpenKruise."""
    for index, subset in enumerate(_subsets(spec)):
        terms = _object(subset, "nodeSelector").get("nodeSelectorTerms")
        if isinstance(terms, list) and len(terms) == 1 and "nodeSelectorTerm" not in subset:
            subset["nodeSelectorTerm"] = terms[0]
            del subset["nodeSelector"]
            result.note(
                f"spec.topology.subsets[{index}].nodeSelectorTerm",
                "renamed from nodeSelector, which current versions of OpenKruise ignore",
            )


def _patches(spec: Mapping[str, Any], result: Converted) -> None:
    """Remove the parts of patches that OpenKruise ignores and that would have an effect here."""
    for index, subset in enumerate(_subsets(spec)):
        patch = subset.get("patch")
        if not isinstance(patch, dict):
            continue
        path = f"spec.topology.subsets[{index}].patch"
        ignored = [(patch, key, f"{path}.{key}") for key in patch if key not in ("metadata", "spec") and key[:1] != "$"]
        inner = patch.get("spec")
        if isinstance(inner, dict):
            ignored += [(inner, key, f"{path}.spec.{key}") for key in inner if key in WORKLOAD_FIELDS]
        for holder, key, place in ignored:
            del holder[key]
            result.note(place, "removed: OpenKruise ignores it, because it is not part of a pod template")
        if not any(patch.values()) and not inner:
            del subset["patch"]


def _strategy(spec: dict[str, Any], result: Converted) -> None:
    limit = spec.get("revisionHistoryLimit")
    if isinstance(limit, int) and limit < 0:
        del spec["revisionHistoryLimit"]
        result.note("spec.revisionHistoryLimit", "removed, so it is 10: it cannot be negative")
    strategy = _object(spec, "updateStrategy")
    if strategy.get("type", "") not in ("", "Manual"):
        result.note("spec.updateStrategy.type", f"changed from {strategy['type']} to Manual, the only type")
        strategy["type"] = "Manual"
    partitions = _object(strategy, "manualUpdate", "partitions")
    known = [subset.get("name") for subset in _subsets(spec)]
    for name, partition in list(partitions.items()):
        path = f"spec.updateStrategy.manualUpdate.partitions[{name}]"
        if name not in known:
            del partitions[name]
            result.note(path, "removed: there is no such subset")
        elif isinstance(partition, int) and partition < 0:
            partitions[name] = 0
            result.note(path, "changed to 0: it cannot be negative")


def _remove_unknown(result: Converted) -> None:
    """Remove fields that the kind does not have. An API server would drop them without an error."""
    try:
        UnitedDeployment.model_validate(result.document)
    except ValidationError as error:
        unknown = [entry["loc"] for entry in error.errors(include_input=False) if entry["type"] == "extra_forbidden"]
    else:
        return
    for loc in unknown:
        holder: Any = result.document
        path = ""
        for step in loc[:-1]:
            holder = holder[step]
            path += f"[{step}]" if isinstance(step, int) else f".{step}"
        del holder[loc[-1]]
        result.note(f"{path}.{loc[-1]}".lstrip("."), "removed: there is no such field")


def _behaviours(ud: UnitedDeployment) -> Iterator[tuple[str, str]]:
    """The differences in behaviour that can affect this object, with their fields."""
    topology, template = ud.spec.topology, ud.spec.template
    yield (
        "",
        "workloads have other names and labels than those of OpenKruise: new pods are created, none are taken over",
    )
    yield "spec.selector", "is immutable here"
    yield "spec.template", "only changes of the pod template create a revision and restart pods"
    manual = ud.spec.update_strategy.manual_update
    if DEPLOYMENT_TEMPLATE in template.given and any(manual.partitions.values()):
        yield "spec.updateStrategy.manualUpdate.partitions", "also hold the pods of Deployments"
    free = [subset for subset in topology.subsets if subset.replicas is None]
    bounded = any(subset.min_replicas is not None or subset.max_replicas is not None for subset in topology.subsets)
    if len(free) > 1 and not bounded:
        ties = "a remainder goes to the subsets with the most pods, then to the first in the list"
        yield "spec.topology.subsets", f"{ties} (in OpenKruise to the last by name)"
    if ud.spec.replicas is not None and len(free) < len(topology.subsets):
        yield (
            "spec.topology.subsets[].replicas",
            "if they do not add up to spec.replicas, pods are divided as closely as possible",
        )
    if topology.schedule_strategy.type == "Adaptive":
        yield "spec.topology.scheduleStrategy", "does not move pods that start slowly or are being updated"
    for index, subset in enumerate(topology.subsets):
        path = f"spec.topology.subsets[{index}]"
        if subset.node_selector_term is not None and subset.node_selector_term.match_fields:
            yield f"{path}.nodeSelectorTerm.matchFields", "takes effect (OpenKruise ignores it)"
        if subset.patch:
            yield (
                f"{path}.patch",
                "a change creates a revision of the subset, which partitions hold and ud undo can revert",
            )


def _without_nulls(value: Any) -> Any:
    """Remove fields that are null. Outside of patches, null means that a field is not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
