"""The pods and claims of a StatefulSet: names, contents and owners by ordinal."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.label_index import labels_of
from uniteddeployment.embedded.controllers.workloads.ownership import controller_reference
from uniteddeployment.embedded.controllers.workloads.pods import pod_from_template
from uniteddeployment.embedded.controllers.workloads.revisions import template_of

POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
REVISION_LABEL: Final = "controller-revision-hash"


def start_of(stateful_set: Obj) -> int:
    """The first ordinal."""
    start: int = (stateful_set["spec"].get("ordinals") or {}).get("start", 0)
    return start


def pod_name(stateful_set: Obj, ordinal: int) -> str:
    """``web-3``."""
    return f"{stateful_set['metadata']['name']}-{ordinal}"


def ordinal_of(stateful_set: Obj, pod: Obj) -> int | None:
    """The ordinal in the pod's name; None if the name is not one of this set."""
    prefix, _, number = pod["metadata"]["name"].rpartition("-")
    if prefix != stateful_set["metadata"]["name"] or not number.isascii() or not number.isdecimal():
        return None
    return int(number)


def revision_of(pod: Obj) -> str:
    """The name of the pod's ControllerRevision."""
    return labels_of(pod).get(REVISION_LABEL, "")


def new_pod(stateful_set: Obj, revision: Obj, ordinal: int) -> Obj:
    """The pod of ``ordinal`` at ``revision``."""
    pod = pod_from_template(
        template_of(revision),
        stateful_set,
        name=pod_name(stateful_set, ordinal),
        prefix=f"{stateful_set['metadata']['name']}-",
    )
    labels = pod["metadata"].setdefault("labels", {})
    labels |= identity_labels(stateful_set, ordinal)
    labels[REVISION_LABEL] = revision["metadata"]["name"]
    spec = pod["spec"]
    spec["hostname"] = pod["metadata"]["name"]
    if stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = stateful_set["spec"]["serviceName"]
    volumes = claim_volumes(stateful_set, ordinal)
    if volumes:
        named = {volume["name"] for volume in volumes}
        spec["volumes"] = [*volumes, *(v for v in spec.get("volumes") or () if v["name"] not in named)]
    return pod


def identity_labels(stateful_set: Obj, ordinal: int) -> dict[str, str]:
    """The labels that identify a pod of the set."""
    return {POD_NAME_LABEL: pod_name(stateful_set, ordinal), POD_INDEX_LABEL: str(ordinal)}


def claim_names(stateful_set: Obj, ordinal: int) -> dict[str, str]:
    """Volume name -> claim name."""
    pod = pod_name(stateful_set, ordinal)
    templates = stateful_set["spec"].get("volumeClaimTemplates") or ()
    return {t["metadata"]["name"]: f"{t['metadata']['name']}-{pod}" for t in templates}


def claim_volumes(stateful_set: Obj, ordinal: int) -> list[Obj]:
    """The volumes of the claims of ``ordinal``."""
    names = claim_names(stateful_set, ordinal)
    return [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in names.items()]


def new_claims(stateful_set: Obj, ordinal: int) -> list[Obj]:
    """New claims for ``ordinal``. Their labels are those of the template and the selector."""
    names = claim_names(stateful_set, ordinal)
    selector = stateful_set["spec"]["selector"].get("matchLabels") or {}
    claims = []
    for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
        given = template["metadata"]
        metadata: Obj = {
            "name": names[given["name"]],
            "namespace": stateful_set["metadata"]["namespace"],
            "labels": {**(given.get("labels") or {}), **selector},
        }
        if given.get("annotations"):
            metadata["annotations"] = dict(given["annotations"])
        claims.append(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
        )
    return claims


def claim_owners(stateful_set: Obj, claim: Obj, pod: Obj, *, condemned: bool) -> Sequence[Obj] | None:
    """The owner references that the retention policy requires on ``claim``; None if it has them.

    The set owns a claim that is deleted with the set. The pod owns a claim that is deleted on scale-down, from the time
    the pod is condemned. References of others stay.
    """
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    wanted: list[Obj] = []
    if condemned and policy.get("whenScaled") == "Delete":
        wanted.append(controller_reference(pod))
    elif policy.get("whenDeleted") == "Delete":
        wanted.append(controller_reference(stateful_set))
    present = claim["metadata"].get("ownerReferences") or []
    if any(r.get("controller") and not _is_ours(r, stateful_set, pod) for r in present):
        return None
    owners = [*(r for r in present if not _is_ours(r, stateful_set, pod)), *wanted]
    return None if _uids(owners) == _uids(present) else owners


def _is_ours(reference: Obj, stateful_set: Obj, pod: Obj) -> bool:
    """References to the set and to the pod of this name, including earlier pods with other uids."""
    names = {("StatefulSet", stateful_set["metadata"]["name"]), ("Pod", pod["metadata"]["name"])}
    return (reference["kind"], reference["name"]) in names


def _uids(references: Iterable[Obj]) -> set[Any]:
    return {reference["uid"] for reference in references}
