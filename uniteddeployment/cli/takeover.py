"""The UnitedDeployment that takes over an existing workload, and why some workloads cannot be taken over. Pure.

Everything of the workload's spec is taken as it is, what its API server filled in included: what is applied later is
then what is there already, and no pod restarts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.changes.adoption import differing_paths
from uniteddeployment_api import names

TEMPLATES: Mapping[str, str] = {"StatefulSet": "statefulSetTemplate", "Deployment": "deploymentTemplate"}
"""Kind -> field of spec.template, for the kinds that can be taken over."""
_NOT_TEMPLATE = frozenset({"replicas", "selector"})
_OF_OTHERS = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "meta.helm.sh/", f"{names.GROUP}/")
"""Prefixes of labels and annotations that say something about this one object, and not about what it is for."""


def refusal(workload: Mapping[str, Any]) -> str:
    """Why it cannot be taken over; nothing if it can."""
    metadata, kind = workload["metadata"], workload["kind"]
    if metadata.get("deletionTimestamp"):
        return "it is being deleted"
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"it is controlled by {owner.get('kind')} {owner.get('name')}"
    annotations = metadata.get("annotations") or {}
    if names.ANNOTATION_OWNER_UID in annotations:
        return f"it belongs to the UnitedDeployment {annotations.get(names.ANNOTATION_OWNER, 'of another host')}"
    ours = [key for key in _selected(workload) if key.startswith(f"{names.GROUP}/")]
    if ours:
        return f"its selector has {ours[0]}, a label of a UnitedDeployment, and selectors cannot be changed"
    if kind == "Deployment" and workload["spec"].get("paused"):
        return f"it is paused: first do kubectl rollout resume deployment/{metadata['name']}"
    return _rollout(workload)


def _selected(workload: Mapping[str, Any]) -> list[str]:
    selector = workload["spec"].get("selector") or {}
    return [*(selector.get("matchLabels") or {}), *(one["key"] for one in selector.get("matchExpressions") or ())]


def _rollout(workload: Mapping[str, Any]) -> str:
    """The template of the pods that are not updated yet is not in the workload, so it would be lost."""
    status = workload.get("status") or {}
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
        return "its controller has not seen its last change yet: wait for it and try again"
    old = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    if workload["kind"] == "StatefulSet":
        finished = status.get("currentRevision", "") == status.get("updateRevision", "")
    else:
        finished = old <= 0
    if finished:
        return ""
    return f"it is in the middle of a rollout ({max(old, 0)} pods still run another template): finish it first"


def remarks(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """What somebody should know who takes it over."""
    manager = (workload["metadata"].get("labels") or {}).get(names.LABEL_MANAGED_BY)
    if manager and manager != names.MANAGER:
        return (f"{names.LABEL_MANAGED_BY} says {manager}: it must stop writing the workload, and must not delete it",)
    return ()


@dataclass(frozen=True, slots=True)
class Found:
    """A workload, and the subset that is to take it over."""

    workload: Mapping[str, Any]
    subset: str
    target: Mapping[str, str] | None = None
    """The subset's targetCluster; None for the host itself."""

    @property
    def replicas(self) -> int:
        return int(self.workload["spec"].get("replicas", 1))


def misfit(first: Found, other: Found) -> str:
    """Why two workloads cannot be of one application: what differs between them; nothing if they can."""
    one, two = (
        {**_template(found.workload)["spec"], "selector": found.workload["spec"]["selector"]}
        for found in (first, other)
    )
    difference = next(differing_paths(one, two, "spec"), "")
    return f"{difference} is not what it is in {first.subset}" if difference else ""


def manifest(name: str, found: Sequence[Found]) -> dict[str, Any]:
    """The UnitedDeployment that takes them over. Each subset is to have as many pods as its workload has now."""
    first = found[0].workload
    template = _template(first)
    notes = {
        key: _common([_lasting(one.workload["metadata"].get(key)) for one in found])
        for key in ("labels", "annotations")
    }
    metadata = {key: value for key, value in notes.items() if value}
    total = sum(one.replicas for one in found)
    spec: dict[str, Any] = {
        "replicas": total,
        "selector": first["spec"]["selector"],
        "template": {TEMPLATES[first["kind"]]: ({"metadata": metadata} if metadata else {}) | template},
        "topology": {"subsets": [_subset(one, weighted=len(found) > 1 and total > 0) for one in found]},
    }
    partitions = {one.subset: partition for one in found if (partition := _partition(one.workload))}
    if partitions:
        spec["updateStrategy"] = {"manualUpdate": {"partitions": partitions}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": {"name": name, "namespace": first["metadata"]["namespace"]},
        "spec": spec,
    }


def _subset(found: Found, *, weighted: bool) -> dict[str, Any]:
    """Weights in proportion to what runs now: each gets just that, and the total can still be scaled."""
    made: dict[str, Any] = {"name": found.subset}
    if found.target is not None:
        made["targetCluster"] = dict(found.target)
    if weighted:
        made["weight"] = found.replicas
    return made | {"adopt": {"name": found.workload["metadata"]["name"]}}


def _template(workload: Mapping[str, Any]) -> dict[str, Any]:
    """What goes into spec.template: the spec without what is written elsewhere."""
    kept = {key: value for key, value in workload["spec"].items() if key not in _NOT_TEMPLATE}
    if "updateStrategy" in kept:
        kept["updateStrategy"] = _strategy(kept["updateStrategy"])
    if "volumeClaimTemplates" in kept:
        kept["volumeClaimTemplates"] = [_without(claim, "status") for claim in kept["volumeClaimTemplates"]]
    return {"spec": _without_nulls(kept)}


def _strategy(strategy: Mapping[str, Any]) -> dict[str, Any]:
    """A StatefulSet's strategy without its partition."""
    rolling = _without(strategy.get("rollingUpdate") or {}, "partition")
    return _without(strategy, "rollingUpdate") | ({"rollingUpdate": rolling} if rolling else {})


def _partition(workload: Mapping[str, Any]) -> int:
    rolling = (workload["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def _common(notes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What all of them say."""
    return {key: value for key, value in notes[0].items() if all(one.get(key) == value for one in notes)}


def _lasting(notes: Mapping[str, str] | None) -> dict[str, str]:
    dropped = {names.LABEL_MANAGED_BY, names.ANNOTATION_CHANGE_CAUSE}
    return {key: value for key, value in (notes or {}).items() if key not in dropped and not key.startswith(_OF_OTHERS)}


def _without(mapping: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != field}


def _without_nulls(value: Any) -> Any:
    """Servers write ``creationTimestamp: null`` into templates; to them it is the same as nothing."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
