"""The UnitedDeployment that takes over an existing workload, and the reasons why a workload cannot be taken over. Pure.

The spec of the workload is copied as it is, including the defaults of its API server. What is applied later is then
equal to what exists, and no pod restarts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning.changes.adoption import differing_paths
from uniteddeployment_api import names

TEMPLATES: Mapping[str, str] = {"StatefulSet": "statefulSetTemplate", "Deployment": "deploymentTemplate"}
"""Kind -> field of spec.template, for the kinds that can be taken over."""
_NOT_TEMPLATE = frozenset({"replicas", "selector"})
_NOT_COPIED = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "meta.helm.sh/", f"{names.GROUP}/")
"""Prefixes of labels and annotations that concern this object only."""


def refusal(workload: Mapping[str, Any]) -> str:
    """The reason why a workload cannot be taken over; empty if it can."""
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
        return f"it is paused: run kubectl rollout resume deployment/{metadata['name']} first"
    return _rollout(workload)


def _selected(workload: Mapping[str, Any]) -> list[str]:
    selector = workload["spec"].get("selector") or {}
    return [
        *(selector.get("matchLabels") or {}),
        *(expression["key"] for expression in selector.get("matchExpressions") or ()),
    ]


def _rollout(workload: Mapping[str, Any]) -> str:
    """The reason if a rollout is in progress: the template of the old pods is not in the workload and would be lost."""
    status = workload.get("status") or {}
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
        return "its controller has not observed its last change yet: try again in a moment"
    old = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    if workload["kind"] == "StatefulSet":
        finished = status.get("currentRevision", "") == status.get("updateRevision", "")
    else:
        finished = old <= 0
    if finished:
        return ""
    return f"a rollout is in progress ({max(old, 0)} pods still run another template): finish it first"


def remarks(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Warnings for the user who takes a workload over."""
    manager = (workload["metadata"].get("labels") or {}).get(names.LABEL_MANAGED_BY)
    if manager and manager != names.MANAGER:
        return (f"the label {names.LABEL_MANAGED_BY} is {manager}: make sure that {manager} no longer changes it",)
    return ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload, and the subset that takes it over."""

    live: Mapping[str, Any]
    """The workload as its API server shows it."""
    subset: str
    target: Mapping[str, str] | None = None
    """targetCluster of the subset; None for the host."""

    @property
    def replicas(self) -> int:
        return int(self.live["spec"].get("replicas", 1))


def misfit(first: Candidate, other: Candidate) -> str:
    """The reason why two workloads cannot belong to one application; empty if they can."""
    difference = next(differing_paths(_compared(first), _compared(other), "spec"), "")
    return f"{difference} differs from {first.subset}" if difference else ""


def _compared(candidate: Candidate) -> dict[str, Any]:
    """The part of the spec that all workloads of an application have in common."""
    return {**_template(candidate.live)["spec"], "selector": candidate.live["spec"]["selector"]}


def manifest(name: str, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The UnitedDeployment that takes the workloads over. Each subset gets the replicas of its workload."""
    first = candidates[0].live
    template = _template(first)
    notes = {
        key: _common([_lasting(candidate.live["metadata"].get(key)) for candidate in candidates])
        for key in ("labels", "annotations")
    }
    metadata = {key: value for key, value in notes.items() if value}
    total = sum(candidate.replicas for candidate in candidates)
    spec: dict[str, Any] = {
        "replicas": total,
        "selector": first["spec"]["selector"],
        "template": {TEMPLATES[first["kind"]]: ({"metadata": metadata} if metadata else {}) | template},
        "topology": {
            "subsets": [_subset(candidate, weighted=len(candidates) > 1 and total > 0) for candidate in candidates]
        },
    }
    partitions = {candidate.subset: held for candidate in candidates if (held := _partition(candidate.live))}
    if partitions:
        spec["updateStrategy"] = {"manualUpdate": {"partitions": partitions}}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": {"name": name, "namespace": first["metadata"]["namespace"]},
        "spec": spec,
    }


def _subset(candidate: Candidate, *, weighted: bool) -> dict[str, Any]:
    """A subset. With weights equal to the current replicas, each keeps its replicas and the total can be scaled."""
    subset: dict[str, Any] = {"name": candidate.subset}
    if candidate.target is not None:
        subset["targetCluster"] = dict(candidate.target)
    if weighted:
        subset["weight"] = candidate.replicas
    return subset | {"adopt": {"name": candidate.live["metadata"]["name"]}}


def _template(workload: Mapping[str, Any]) -> dict[str, Any]:
    """The value for spec.template: the spec without the fields that are elsewhere in a UnitedDeployment."""
    kept = {key: value for key, value in workload["spec"].items() if key not in _NOT_TEMPLATE}
    if "updateStrategy" in kept:
        kept["updateStrategy"] = _strategy(kept["updateStrategy"])
    if "volumeClaimTemplates" in kept:
        kept["volumeClaimTemplates"] = [_without(claim, "status") for claim in kept["volumeClaimTemplates"]]
    return {"spec": _without_nulls(kept)}


def _strategy(strategy: Mapping[str, Any]) -> dict[str, Any]:
    """The update strategy of a StatefulSet without its partition."""
    rolling = _without(strategy.get("rollingUpdate") or {}, "partition")
    return _without(strategy, "rollingUpdate") | ({"rollingUpdate": rolling} if rolling else {})


def _partition(workload: Mapping[str, Any]) -> int:
    rolling = (workload["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def _common(notes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The entries that all of them have."""
    return {key: value for key, value in notes[0].items() if all(entries.get(key) == value for entries in notes)}


def _lasting(notes: Mapping[str, str] | None) -> dict[str, str]:
    dropped = {names.LABEL_MANAGED_BY, names.ANNOTATION_CHANGE_CAUSE}
    return {
        key: value for key, value in (notes or {}).items() if key not in dropped and not key.startswith(_NOT_COPIED)
    }


def _without(mapping: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != field}


def _without_nulls(value: Any) -> Any:
    """Remove fields that are null. API servers write ``creationTimestamp: null`` into templates."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
