"""Warnings about valid objects."""

from collections.abc import Iterator, Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.quantity import NANO, nano
from uniteddeployment.embedded.apimachinery.resources import Obj

_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


_NAME_TEXT = "which can result in surprising behavior; a DNS label is recommended"


def of_pod(new: Obj, old: Obj | None) -> list[str]:
    texts = [] if old is not None else _name(new, "the Pod's hostname")
    return [*texts, *_pod_spec(new.get("spec") or {}, "spec")]


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
    for kind in ("requests", "limits"):
        for resource, amount in ((container.get("resources") or {}).get(kind) or {}).items():
            if resource in ("memory", "ephemeral-storage") and nano(amount) % NANO:
                text = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{path}.resources.{kind}[{resource}]: {text}"


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
