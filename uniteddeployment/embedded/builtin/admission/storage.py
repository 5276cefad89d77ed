"""Storage classes of claims: a claim without a class gets the default class."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def classify(claim: Obj, classes: Sequence[Obj]) -> None:
    """Set the default class of a new claim, the youngest one if there are several. An empty name is an explicit
    choice.
    """
    metadata, spec = claim["metadata"], claim.setdefault("spec", {})
    if spec.get("storageClassName") is not None or _OLD_CLASS in (metadata.get("annotations") or {}):
        return
    marked = [
        candidate["metadata"]
        for candidate in classes
        if (candidate["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    if marked:
        youngest = max(candidate.get("creationTimestamp", "") for candidate in marked)
        chosen = sorted(candidate["name"] for candidate in marked if candidate.get("creationTimestamp", "") == youngest)
        spec["storageClassName"] = chosen[0]
