"""Validation of pods and pod templates."""

from collections.abc import Collection

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import duplicate, forbidden, invalid, invalids
from uniteddeployment.embedded.builtin.validation.containers import containers, ephemeral_containers, identities
from uniteddeployment.embedded.builtin.validation.fields import one_of, template_metadata
from uniteddeployment.embedded.builtin.validation.scheduling import affinity, spread, tolerations
from uniteddeployment.embedded.builtin.validation.volumes import volumes
from uniteddeployment.embedded.errors import Cause

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
MAX_DEADLINE = 2**31 - 1
DEADLINE_TEXT = f"must be between 1 and {MAX_DEADLINE}, inclusive"


def template(given: Obj, path: str, claimed: Collection[str] = ()) -> list[Cause]:
    """A pod template. ``claimed`` are additional volumes that its pods get."""
    spec = given.get("spec") or {}
    causes = template_metadata(given, path) + pod_spec(spec, f"{path}.spec", claimed)
    if spec.get("ephemeralContainers"):
        causes.append(forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return causes


def pod(given: Obj) -> list[Cause]:
    """A new pod."""
    spec = given.get("spec") or {}
    causes = pod_spec(spec, "spec")
    if spec.get("ephemeralContainers"):
        causes.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        causes.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return causes


def pod_spec(spec: Obj, path: str, claimed: Collection[str] = ()) -> list[Cause]:
    given = spec.get("volumes") or ()
    causes = volumes(given, f"{path}.volumes") if given else []
    mountable = {*claimed, *(volume.get("name", "") for volume in given)}
    causes += containers(spec, path, mountable)
    if spec.get("ephemeralContainers"):
        causes += ephemeral_containers(spec, path, mountable)
    causes += one_of(spec, "restartPolicy", path, _RESTART_POLICIES)
    causes += one_of(spec, "dnsPolicy", path, _DNS_POLICIES)
    if spec.get("securityContext"):
        causes += identities(spec["securityContext"], f"{path}.securityContext")
    if "affinity" in spec:
        causes += affinity(spec["affinity"], f"{path}.affinity")
    if "tolerations" in spec:
        causes += tolerations(spec["tolerations"], f"{path}.tolerations")
    if "topologySpreadConstraints" in spec:
        causes += spread(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    for key, value in (spec.get("nodeSelector") or {}).items():
        causes += invalids(f"{path}.nodeSelector", key, names.label_key(key))
        causes += invalids(f"{path}.nodeSelector", value, names.label_value(value))
    for key in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if spec.get(key):
            causes += invalids(f"{path}.{key}", spec[key], names.subdomain(spec[key]))
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            causes += invalids(f"{path}.{key}", spec[key], names.label(spec[key]))
    causes += _gates(spec, path)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_DEADLINE:
        causes.append(invalid(f"{path}.activeDeadlineSeconds", deadline, DEADLINE_TEXT))
    return causes


def _gates(spec: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = f"{path}.schedulingGates[{index}]", gate.get("name", "")
        causes += invalids(at, name, names.label_key(name))
        if name in taken:
            causes.append(duplicate(at, name))
        taken.add(name)
    return causes
