"""Cells of volumes, claims and storage classes."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission.storage import DEFAULT_CLASS

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}


def _modes(modes: Sequence[str] | None) -> str:
    given = modes or ()
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def claim_status(obj: Obj, _now: datetime) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else str(_status(obj).get("phase", ""))


def claim_capacity(obj: Obj, _now: datetime) -> str:
    return str((_status(obj).get("capacity") or {}).get("storage", "0")) if _spec(obj).get("volumeName") else ""


def claim_access_modes(obj: Obj, _now: datetime) -> str:
    return _modes(_status(obj).get("accessModes")) if _spec(obj).get("volumeName") else ""


def storage_class(obj: Obj, _now: datetime) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return str(annotated if annotated is not None else _spec(obj).get("storageClassName") or "")


def volume_attributes_class(obj: Obj, _now: datetime) -> str:
    return str(_spec(obj).get("volumeAttributesClassName") or "<unset>")


def volume_mode(obj: Obj, _now: datetime) -> str:
    return str(_spec(obj).get("volumeMode") or "<unset>")


def volume_capacity(obj: Obj, _now: datetime) -> str:
    return str((_spec(obj).get("capacity") or {}).get("storage", "0"))


def volume_access_modes(obj: Obj, _now: datetime) -> str:
    return _modes(_spec(obj).get("accessModes"))


def volume_status(obj: Obj, now: datetime) -> str:
    return claim_status(obj, now)


def volume_claim(obj: Obj, _now: datetime) -> str:
    claim = _spec(obj).get("claimRef") or {}
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def class_name(obj: Obj, _now: datetime) -> str:
    """The name, marked if it is the default class."""
    name = str(obj["metadata"].get("name", ""))
    marked = (obj["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    return f"{name} (default)" if marked else name


def storage_provisioner(obj: Obj, _now: datetime) -> str:
    return str(obj.get("provisioner", ""))


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function
    for function in (
        claim_status, claim_capacity, claim_access_modes, storage_class, volume_attributes_class, volume_mode,
        volume_capacity, volume_access_modes, volume_status, volume_claim, class_name, storage_provisioner,
    )
}  # fmt: skip
