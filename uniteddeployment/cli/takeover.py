"""The UnitedDeployment that takes over an existing workload, and why some workloads cannot be taken over. Pure.

Everything of the workload's spec is taken as it is, what its API server filled in included: what is applied later is
then what is there already, and no pod restarts.
"""

from collections.abc import Mapping
from typing import Any

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


def manifest(
    workload: Mapping[str, Any], *, name: str, subset: str, target: Mapping[str, str] | None
) -> dict[str, Any]:
    """The UnitedDeployment of one subset that takes the workload over. ``target`` is its targetCluster."""
    metadata, spec = workload["metadata"], workload["spec"]
    strategy, partition = _strategy(spec.get("updateStrategy"))
    kept = {key: value for key, value in spec.items() if key not in _NOT_TEMPLATE}
    if "updateStrategy" in kept:
        kept["updateStrategy"] = strategy
    if "volumeClaimTemplates" in kept:
        kept["volumeClaimTemplates"] = [_without(claim, "status") for claim in kept["volumeClaimTemplates"]]
    notes = {key: _lasting(metadata.get(key)) for key in ("labels", "annotations")}
    template = {"metadata": {key: value for key, value in notes.items() if value}, "spec": _without_nulls(kept)}
    subset_entry: dict[str, Any] = {"name": subset}
    if target is not None:
        subset_entry["targetCluster"] = dict(target)
    subset_entry["adopt"] = {"name": metadata["name"]}
    made: dict[str, Any] = {
        "replicas": spec.get("replicas", 1),
        "selector": spec["selector"],
        "template": {TEMPLATES[workload["kind"]]: template if template["metadata"] else _without(template, "metadata")},
        "topology": {"subsets": [subset_entry]},
    }
    if partition:
        made["updateStrategy"] = {"manualUpdate": {"partitions": {subset: partition}}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "spec": made,
    }


def _strategy(strategy: Mapping[str, Any] | None) -> tuple[dict[str, Any], int]:
    """A StatefulSet's strategy without its partition, and the partition, which is written elsewhere."""
    rolling = dict((strategy or {}).get("rollingUpdate") or {})
    partition = rolling.pop("partition", 0)
    rest = _without(strategy or {}, "rollingUpdate")
    return rest | ({"rollingUpdate": rolling} if rolling else {}), partition


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
