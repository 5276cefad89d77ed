"""Warnings about valid objects."""

from collections.abc import Iterator, Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.quantity import NANO, nano
from uniteddeployment.embedded.apimachinery.resources import Obj

_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_CLASS_ANNOTATION = (
    "volume.beta.kubernetes.io/storage-class",
    'deprecated since v1.8; use "storageClassName" attribute instead',
)
_MOUNT_ANNOTATION = (
    "volume.beta.kubernetes.io/mount-options",
    'deprecated since v1.31; use "mountOptions" attribute instead',
)
_NAME_TEXT = "which can result in surprising behavior; a DNS label is recommended"


def of_pod(new: Obj, old: Obj | None) -> list[str]:
    """Warnings for a new pod. Updates are frequent and have none."""
    if old is not None:
        return []
    return [*_name(new, "the Pod's hostname"), *_pod_spec(new.get("spec") or {}, "spec")]


def of_named_template(new: Obj, old: Obj | None) -> list[str]:
    """Warnings for a workload whose pods have names derived from its own."""
    texts = [] if old is not None else _name(new, "Pod names and hostnames")
    return [*texts, *of_template(new, old)]


def _name(obj: Obj, use: str) -> list[str]:
    errors = names.label(obj["metadata"].get("name", ""))
    return [f"metadata.name: this is used in {use}, {_NAME_TEXT}: [{' '.join(errors)}]"] if errors else []


def of_template(new: Obj, old: Obj | None) -> list[str]:
    """Warnings for a workload, on creation and when its spec changes."""
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    template = (new.get("spec") or {}).get("template") or {}
    return list(_pod_spec(template.get("spec") or {}, "spec.template.spec"))


def of_cron_job(new: Obj, old: Obj | None) -> list[str]:
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    job = ((new.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return list(_pod_spec((job.get("template") or {}).get("spec") or {}, "spec.jobTemplate.spec.template.spec"))


def of_service(new: Obj, _old: Obj | None) -> list[str]:
    return list(_service(new.get("spec") or {}, new["metadata"].get("annotations") or {}))


def _service(spec: Obj, annotations: Obj) -> Iterator[str]:
    if "service.kubernetes.io/topology-aware-hints" in annotations:
        yield (
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
            "service.kubernetes.io/topology-mode instead"
        )
    kind, external = spec.get("type", "ClusterIP"), bool(spec.get("externalIPs"))
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity", "None") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if external and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def of_volume(new: Obj, _old: Obj | None) -> list[str]:
    texts = [*_annotated(new, _CLASS_ANNOTATION), *_annotated(new, _MOUNT_ANNOTATION)]
    if (new.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Recycle":
        texts.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    return texts


def of_claim(new: Obj, _old: Obj | None) -> list[str]:
    resources = (new.get("spec") or {}).get("resources") or {}
    return [*_annotated(new, _CLASS_ANNOTATION), *_fractions(resources, "spec.resources", ("storage",))]


def _annotated(obj: Obj, deprecated: tuple[str, str]) -> Iterator[str]:
    annotation, text = deprecated
    if annotation in (obj["metadata"].get("annotations") or {}):
        yield f"metadata.annotations[{annotation}]: {text}"


def of_ingress(new: Obj, old: Obj | None) -> list[str]:
    annotation = "kubernetes.io/ingress.class"
    if old is not None or annotation not in (new["metadata"].get("annotations") or {}):
        return []
    return [f"annotation \"{annotation}\" is deprecated, please use 'spec.ingressClassName' instead"]


def _pod_spec(spec: Obj, path: str) -> Iterator[str]:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if constraint.get("labelSelector") is None:
            yield f"{path}.topologySpreadConstraints[{index}].labelSelector: {_NULL_SELECTOR}"
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"
    affinity = spec.get("affinity")
    if affinity:
        for key in ("podAffinity", "podAntiAffinity"):
            yield from _terms(affinity.get(key) or {}, f"{path}.affinity.{key}")
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            yield from _container(container, f"{path}.{key}[{index}]")


def _terms(affinity: Obj, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            yield f"{path}.{_REQUIRED}[{index}].labelSelector: {_NULL_SELECTOR}"
    for index, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        if (preferred.get("podAffinityTerm") or {}).get("labelSelector") is None:
            yield f"{path}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NULL_SELECTOR}"


def _container(container: Obj, path: str) -> Iterator[str]:
    if "env" in container:
        yield from _hidden(container["env"], f"{path}.env")
    if len(container.get("ports") or ()) > 1:
        yield from _same_ports(container["ports"], f"{path}.ports")
    yield from _fractions(container.get("resources") or {}, f"{path}.resources", ("memory", "ephemeral-storage"))


def _fractions(resources: Obj, path: str, counted: Sequence[str]) -> Iterator[str]:
    """Amounts of bytes that are not whole."""
    for kind in ("requests", "limits"):
        for resource, amount in (resources.get(kind) or {}).items():
            if resource in counted and nano(amount) % NANO:
                text = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{path}.{kind}[{resource}]: {text}"


def _hidden(env: Sequence[Obj], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(env):
        name = variable.get("name", "")
        if name in seen:
            yield f'{path}[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _same_ports(ports: Sequence[Obj], path: str) -> Iterator[str]:
    seen: dict[tuple[str, int], int] = {}
    for index, port in enumerate(ports):
        key = (port.get("protocol", "TCP"), port.get("containerPort", 0))
        if key in seen:
            yield f"{path}[{index}]: duplicate port definition with {path}[{seen[key]}]"
        seen.setdefault(key, index)
