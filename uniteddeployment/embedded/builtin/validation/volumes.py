"""Validation of volume sources: exactly one per volume, with its required fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment.embedded.apimachinery.quantity import nano
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import duplicate, forbidden, invalid, required
from uniteddeployment.embedded.builtin.validation.containers import sub_path
from uniteddeployment.embedded.builtin.validation.fields import dns_label
from uniteddeployment.embedded.errors import Cause

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "local": ("path",),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "vsphereVolume": ("volumePath",),
}
"""Required fields of a source."""

_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
_PROJECTED = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def volumes(given: Sequence[Obj], path: str) -> list[Cause]:
    """The volumes of a pod."""
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, volume in enumerate(given):
        at = f"{path}[{index}]"
        name = volume.get("name", "")
        causes += source([key for key in volume if key != "name"], volume, at, "must specify a volume type")
        causes += dns_label(name, f"{at}.name")
        if name and name in taken:
            causes.append(duplicate(f"{at}.name", name))
        taken.add(name)
    return causes


def source(keys: Sequence[str], holder: Obj, path: str, missing: str) -> list[Cause]:
    """The single source among the fields ``keys`` of ``holder``."""
    if not keys:
        return [required(path, missing)]
    causes = [forbidden(f"{path}.{key}", "may not specify more than 1 volume type") for key in keys[1:]]
    key = keys[0]
    given: Any = holder[key]
    causes += [required(f"{path}.{key}.{field}") for field in _NEEDS.get(key, ()) if not given.get(field)]
    if key == "emptyDir" and nano(given.get("sizeLimit", "0")) < 0:
        causes.append(forbidden(f"{path}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    if key == "hostPath" and ".." in given.get("path", "").split("/"):
        causes.append(invalid(f"{path}.hostPath.path", given["path"], "must not contain '..'"))
    if key == "projected":
        causes += _projected(given, f"{path}.projected")
    causes += _files(given, f"{path}.{key}")
    return causes


def _projected(given: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, projection in enumerate(given.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        kinds = [key for key in _PROJECTED if key in projection]
        if not kinds:
            causes.append(required(at, "must specify at least one source"))
        causes += [forbidden(at, "may not specify more than 1 volume type per source") for _ in kinds[1:]]
        for key in kinds[:1]:
            if key in ("secret", "configMap") and not projection[key].get("name"):
                causes.append(required(f"{at}.{key}.name"))
            causes += _files(projection[key], f"{at}.{key}")
    return causes


def _files(given: Obj, path: str) -> list[Cause]:
    causes = _mode(given.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(given.get("items") or ()):
        at = f"{path}.items[{index}]"
        if "fieldRef" not in item and "resourceFieldRef" not in item and not item.get("key"):
            causes.append(required(f"{at}.key"))
        if not item.get("path"):
            causes.append(required(f"{at}.path"))
        causes += sub_path(item.get("path", ""), f"{at}.path")
        causes += _mode(item.get("mode"), f"{at}.mode")
    return causes


def _mode(mode: int | None, path: str) -> list[Cause]:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(path, mode, _MODE_TEXT)]
