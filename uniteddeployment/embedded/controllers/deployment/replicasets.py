"""The ReplicaSets of a Deployment: finding the newest, creating it, and the annotations of all."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.deployment.numbers import (
    DESIRED,
    MAX,
    REVISION,
    REVISION_HISTORY,
    annotated_number,
    by_age,
    max_surge,
    replicas_of,
)
from uniteddeployment.embedded.controllers.workloads.ownership import controller_reference

HASH_LABEL: Final = "pod-template-hash"
LONGEST_HISTORY: Final = 2000
"""Maximum length of the revision history annotation; the oldest numbers are dropped."""

NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED,
        MAX,
        "deprecated.deployment.rollback.to",
    }
)
"""Annotations of the Deployment that ReplicaSets do not get."""


def same_template(template: Obj, other: Obj) -> bool:
    """Whether two pod templates differ only in the hash label."""
    return template.get("spec") == other.get("spec") and _unhashed(template) == _unhashed(other)


def _unhashed(template: Obj) -> dict[str, Any]:
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if value}
    labels = {key: value for key, value in metadata.pop("labels", {}).items() if key != HASH_LABEL}
    return {**metadata, "labels": labels}


def find_new(deployment: Obj, replica_sets: Iterable[Obj]) -> Obj | None:
    """The ReplicaSet of the Deployment's template; the oldest one if there are several."""
    template = deployment["spec"]["template"]
    return next((rs for rs in by_age(replica_sets) if same_template(rs["spec"]["template"], template)), None)


def next_revision(old: Iterable[Obj]) -> int:
    """One more than the highest revision of the old ReplicaSets."""
    return max((annotated_number(replica_set, REVISION) or 0 for replica_set in old), default=0) + 1


def new_replica_set(deployment: Obj, digest: str, replicas: int, revision: int) -> Obj:
    """A new ReplicaSet for the Deployment's template."""
    spec = deployment["spec"]
    template = spec["template"]
    labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: digest}
    selector = dict(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}
    replica_set_spec: Obj = {
        "replicas": replicas,
        "selector": selector,
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        replica_set_spec["minReadySeconds"] = spec["minReadySeconds"]
    annotations = copied_annotations(deployment, {})
    annotations |= {REVISION: str(revision), **size_annotations(deployment)}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{digest}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": dict(labels),
            "annotations": annotations,
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": replica_set_spec,
    }


def copied_annotations(deployment: Obj, present: dict[str, str]) -> dict[str, str]:
    """``present`` updated with the Deployment's annotations; annotations that were removed there stay."""
    given = deployment["metadata"].get("annotations") or {}
    return present | {key: value for key, value in given.items() if key not in NOT_COPIED}


def size_annotations(deployment: Obj) -> dict[str, str]:
    """The Deployment's size, recorded on a ReplicaSet for proportional scaling."""
    wanted = replicas_of(deployment)
    return {DESIRED: str(wanted), MAX: str(wanted + max_surge(deployment))}


def renumbered(deployment: Obj, replica_set: Obj, revision: int) -> Obj:
    """The newest ReplicaSet with annotations copied, the revision raised and the old revision added to its history."""
    annotations = copied_annotations(deployment, replica_set["metadata"].get("annotations") or {})
    number = annotated_number(replica_set, REVISION) or 0
    if number < revision:
        if REVISION in annotations:
            annotations[REVISION_HISTORY] = _extended(annotations.get(REVISION_HISTORY, ""), annotations[REVISION])
        annotations[REVISION] = str(revision)
    spec = dict(replica_set["spec"])
    seconds = deployment["spec"].get("minReadySeconds", 0)
    if seconds != spec.get("minReadySeconds", 0):
        spec["minReadySeconds"] = seconds
    return {**replica_set, "metadata": {**replica_set["metadata"], "annotations": annotations}, "spec": spec}


def _extended(history: str, number: str) -> str:
    numbers: Sequence[str] = [*(n for n in history.split(",") if n), number]
    while len(",".join(numbers)) > LONGEST_HISTORY:
        numbers = numbers[1:]
    return ",".join(numbers)
