"""Storage classes of claims: one that names no class gets the one that is marked as everybody's."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def classify(claim: Obj, classes: Sequence[Obj]) -> None:
    """Give a new claim the default class, the youngest if several are marked. An empty name is a choice, too."""
    metadata, spec = claim["metadata"], claim.setdefault("spec", {})
    if spec.get("storageClassName") is not None or _OLD_CLASS in (metadata.get("annotations") or {}):
        return
    marked = [
        one["metadata"] for one in classes if (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if marked:
        youngest = max(one.get("creationTimestamp", "") for one in marked)
        chosen = sorted(one["name"] for one in marked if one.get("creationTimestamp", "") == youngest)
        spec["storageClassName"] = chosen[0]
