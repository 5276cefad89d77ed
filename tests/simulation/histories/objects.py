"""Pods and workloads as the rules see them: the few properties that count."""

from dataclasses import dataclass
from typing import Any

from uniteddeployment_api import names

Place = tuple[str, str]
"""(member, subset)"""


@dataclass(frozen=True)
class Pod:
    """A pod. ``living`` pods are not being deleted and have not ended."""

    place: Place
    name: str
    image: str
    living: bool
    ready: bool


@dataclass(frozen=True)
class Workload:
    """A workload, of the application or of somebody else. ``owner`` is the uid that its annotation names."""

    place: Place
    resource: str
    name: str
    uid: str
    owner: str
    image: str
    replicas: int
    first: int
    """The lowest ordinal of its pods, if they have ordinals."""
    held: int
    """Its partition in pods."""
    deleting: bool
    orphaning: bool

    @property
    def updatable(self) -> int:
        """How many pods of its own version it asks for."""
        return max(0, self.replicas - self.held)

    def is_beyond(self, pod: Pod) -> bool:
        """Whether a pod of it has an ordinal beyond its replicas."""
        name, _, ordinal = pod.name.rpartition("-")
        ordered = self.resource.startswith("statefulsets.") and name == self.name
        return ordered and int(ordinal) - self.first >= self.replicas


@dataclass(frozen=True)
class Health:
    """The phase of a member, and since when."""

    phase: str
    since: str


def read_pod(member: str, obj: Any) -> Pod:
    meta, status = obj["metadata"], obj.get("status") or {}
    living = "deletionTimestamp" not in meta and status.get("phase") not in ("Failed", "Succeeded")
    conditions = status.get("conditions") or ()
    ready = living and any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)
    place = member, (meta.get("labels") or {}).get(names.LABEL_SUBSET, "")
    return Pod(place, meta["name"], obj["spec"]["containers"][0]["image"], living, ready)


def read_workload(member: str, resource: str, obj: Any) -> Workload:
    meta, spec = obj["metadata"], obj["spec"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return Workload(
        place=(member, labels.get(names.LABEL_SUBSET, "")),
        resource=resource,
        name=meta["name"],
        uid=meta["uid"],
        owner=annotations.get(names.ANNOTATION_OWNER_UID, ""),
        image=spec["template"]["spec"]["containers"][0]["image"],
        replicas=spec.get("replicas", 1),
        first=(spec.get("ordinals") or {}).get("start", 0),
        held=_held(spec),
        deleting="deletionTimestamp" in meta,
        orphaning="orphan" in meta.get("finalizers", ()),
    )


def _held(spec: Any) -> int:
    strategy = spec.get("updateStrategy") or {}
    partition = strategy.get("partition", (strategy.get("rollingUpdate") or {}).get("partition", 0))
    if isinstance(partition, str):
        return int(-(-int(partition.removesuffix("%")) * spec.get("replicas", 1) // 100))
    return partition or 0
