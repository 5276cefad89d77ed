"""Defaults of pods that depend on other fields: pull policies, volumes without a source, requests derived from
limits.
"""

from collections.abc import Callable, Sequence
from typing import Any

from uniteddeployment.embedded.apimachinery.quantity import parse
from uniteddeployment.embedded.apimachinery.resources import Obj


def pull_policy(image: str) -> str:
    """Images with a mutable tag are always pulled."""
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].rpartition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def _container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for name in ("requests", "limits"):
        amounts = container["resources"].get(name) if "resources" in container else None
        if amounts:
            round_amounts(amounts)


def round_amounts(amounts: dict[str, str]) -> None:
    """Round amounts up to thousandths."""
    for resource, amount in amounts.items():
        rounded = str(parse(amount).round_up_milli())
        if rounded != amount:
            amounts[resource] = rounded


def _volume(volume: Obj) -> None:
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}


def _image_volume(source: Obj) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference", ""))


def _pod_spec(spec: Obj) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pod(pod: Obj) -> None:
    spec = pod.get("spec")
    if spec is None:
        return
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        limits = (container.get("resources") or {}).get("limits")
        if limits:
            requests = container["resources"].setdefault("requests", {})
            for resource, amount in limits.items():
                requests.setdefault(resource, amount)
        if spec.get("hostNetwork"):
            _share_ports(container.get("ports") or ())
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True


def _share_ports(ports: Sequence[Obj]) -> None:
    """On the host's network, container ports are host ports."""
    for port in ports:
        if not port.get("hostPort") and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]


def _claim_spec(spec: Obj) -> None:
    amounts: Any = (spec.get("resources") or {}).get("requests")
    if amounts:
        round_amounts(amounts)


def _volume_spec(spec: Obj) -> None:
    if spec.get("capacity"):
        round_amounts(spec["capacity"])


COMPUTED: dict[str, Callable[[Obj], None]] = {
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.ImageVolumeSource": _image_volume,
    "core.v1.PersistentVolumeClaimSpec": _claim_spec,
    "core.v1.PersistentVolumeSpec": _volume_spec,
    "core.v1.Pod": _pod,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.Volume": _volume,
}
