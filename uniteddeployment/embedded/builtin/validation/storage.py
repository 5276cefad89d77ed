"""Validation of volumes, claims and storage classes."""

from uniteddeployment.embedded.apimachinery.quantity import nano
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, not_supported, required
from uniteddeployment.embedded.builtin.validation.fields import immutable, label_selector, one_of
from uniteddeployment.embedded.builtin.validation.scheduling import node_selector
from uniteddeployment.embedded.builtin.validation.volumes import source
from uniteddeployment.embedded.errors import Cause

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_RECLAIM = ("Delete", "Recycle", "Retain")
_NOT_A_SOURCE = frozenset({
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
})  # fmt: skip
_CLAIM_TEXT = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def claim(obj: Obj) -> list[Cause]:
    return claim_spec(obj["spec"], "spec")


def claim_spec(spec: Obj, path: str) -> list[Cause]:
    """The spec of a claim or of a claim template."""
    causes = _access_modes(spec, path)
    causes += label_selector(spec.get("selector"), f"{path}.selector")
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        causes.append(required(f"{path}.resources[storage]"))
    elif nano(wanted) <= 0:
        causes.append(invalid(f"{path}.resources[storage]", wanted, "must be greater than zero"))
    return causes + one_of(spec, "volumeMode", path, _VOLUME_MODES)


def _access_modes(spec: Obj, path: str) -> list[Cause]:
    modes, at = spec.get("accessModes") or (), f"{path}.accessModes"
    if not modes:
        return [required(at, "at least 1 access mode is required")]
    causes = [not_supported(at, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        causes.append(forbidden(at, "may not use ReadWriteOncePod with other access modes"))
    return causes


def claim_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    """An update of a claim: its size may grow, and its volume may be set once."""
    if subresource == "status":
        return []
    spec, before = new["spec"], old["spec"]
    causes = claim(new)
    if _fixed(spec, before) != _fixed(before, before):
        causes.append(forbidden("spec", _CLAIM_TEXT))
        return causes
    size, was = (((state.get("resources") or {}).get("requests") or {}).get("storage", "0") for state in (spec, before))
    if nano(size) < nano(was):
        text = "field can not be less than status.capacity"
        causes.append(forbidden("spec.resources.requests.storage", text))
    elif nano(size) > nano(was) and (old.get("status") or {}).get("phase") != "Bound":
        causes.append(forbidden("spec", _CLAIM_TEXT))
    return causes


def _fixed(spec: Obj, before: Obj) -> Obj:
    """A claim without its mutable fields."""
    fixed = {key: value for key, value in spec.items() if key not in ("resources", "volumeAttributesClassName")}
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    if before.get("storageClassName") is None:
        fixed.pop("storageClassName", None)
    return fixed


def volume(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes = _access_modes(spec, "spec")
    capacity = spec.get("capacity") or {}
    if not capacity:
        causes.append(required("spec.capacity"))
    elif "storage" not in capacity or len(capacity) > 1:
        causes.append(not_supported("spec.capacity", dict(capacity), ("storage",)))
    causes += [
        invalid(f"spec.capacity[{name}]", amount, "must be greater than zero")
        for name, amount in capacity.items()
        if nano(amount) <= 0
    ]
    causes += one_of(spec, "persistentVolumeReclaimPolicy", "spec", _RECLAIM)
    required_terms = (spec.get("nodeAffinity") or {}).get("required")
    if required_terms is not None:
        causes += node_selector(required_terms, "spec.nodeAffinity.required")
    keys = [key for key in spec if key not in _NOT_A_SOURCE]
    causes += source(keys, spec, "spec", "must specify a volume type")
    if "local" in spec and required_terms is None:
        causes.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return causes + one_of(spec, "volumeMode", "spec", _VOLUME_MODES)


def volume_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        return []
    spec, before = new["spec"], old["spec"]
    causes = volume(new)
    if {k: v for k, v in spec.items() if k not in _NOT_A_SOURCE} != {
        k: v for k, v in before.items() if k not in _NOT_A_SOURCE
    }:
        text = "spec.persistentvolumesource is immutable after creation"
        causes.append(forbidden("spec.persistentvolumesource", text))
    return causes + immutable(spec, before, "volumeMode", "spec.volumeMode")


def storage_class(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    if not obj.get("provisioner"):
        causes.append(required("provisioner"))
    causes += (
        []
        if obj.get("reclaimPolicy") in ("Delete", "Retain")
        else [not_supported("reclaimPolicy", obj.get("reclaimPolicy"), ("Delete", "Retain"))]
    )
    mode = obj.get("volumeBindingMode")
    if mode not in ("Immediate", "WaitForFirstConsumer"):
        causes.append(not_supported("volumeBindingMode", mode, ("Immediate", "WaitForFirstConsumer")))
    return causes


def storage_class_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    causes = storage_class(new)
    for key, text in (
        ("parameters", "updates to parameters are forbidden."),
        ("provisioner", "updates to provisioner are forbidden."),
        ("reclaimPolicy", "updates to reclaimPolicy are forbidden."),
    ):
        if new.get(key) != old.get(key):
            causes.append(forbidden(key, text))
    return causes + immutable(new, old, "volumeBindingMode", "volumeBindingMode")
