"""LimitRanges: default requests and limits of containers, and their bounds."""

from collections.abc import Callable, Iterator, Mapping

from uniteddeployment.embedded.apimachinery.quantity import Quantity, nano, parse
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission.denial import forbidden

LIMITED = frozenset({"pods", "persistentvolumeclaims"})
_ANNOTATION = "kubernetes.io/limit-ranger"

Amounts = Mapping[str, str]


def enforce(key: str, obj: Obj, limit_range: Obj) -> None:
    """Set the defaults of a LimitRange, and refuse values beyond its bounds."""
    items = (limit_range.get("spec") or {}).get("limits") or ()
    if key == "pods":
        for item in items:
            if item.get("type") == "Container":
                _fill(obj, item)
    breaches = [text for item in items for text in _breaches(key, obj, item)]
    if breaches:
        raise forbidden(key, obj, breaches[0] if len(breaches) == 1 else f"[{', '.join(breaches)}]")


def _containers(pod: Obj) -> Iterator[tuple[str, Obj]]:
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or ():
        yield "container", container
    for container in spec.get("initContainers") or ():
        yield "init container", container


def _fill(pod: Obj, item: Obj) -> None:
    notes: list[str] = []
    for kind, container in _containers(pod):
        resources = container.setdefault("resources", {})
        for key, default, noun in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
            given = resources.get(key) or {}
            missing = sorted(set(item.get(default) or {}) - set(given))
            if missing:
                resources[key] = {**given, **{name: item[default][name] for name in missing}}
                notes.append(f"{', '.join(missing)} {noun} for {kind} {container.get('name', '')}")
    if notes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _breaches(key: str, obj: Obj, item: Obj) -> Iterator[str]:
    kind = item.get("type", "")
    if key == "persistentvolumeclaims":
        if kind == "PersistentVolumeClaim":
            requests = ((obj.get("spec") or {}).get("resources") or {}).get("requests") or {}
            yield from _bounds(item, kind, requests, requests)
        return
    if kind == "Container":
        for _, container in _containers(obj):
            resources = container.get("resources") or {}
            yield from _bounds(item, kind, resources.get("requests") or {}, resources.get("limits") or {})
    elif kind == "Pod":
        yield from _bounds(item, kind, pod_total(obj, "requests"), pod_total(obj, "limits"))


def pod_total(pod: Obj, key: str) -> dict[str, str]:
    """The resources of a pod: the sum of its containers, or the maximum of an init container."""
    spec = pod.get("spec") or {}
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for name, amount in ((container.get("resources") or {}).get(key) or {}).items():
            total[name] = total[name] + parse(amount) if name in total else parse(amount)
    for container in spec.get("initContainers") or ():
        for name, amount in ((container.get("resources") or {}).get(key) or {}).items():
            if name not in total or total[name] < parse(amount):
                total[name] = parse(amount)
    return {name: str(amount) for name, amount in total.items()}


def _bounds(item: Obj, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, bound in sorted((item.get("min") or {}).items()):
        text = f"minimum {name} usage per {kind} is {bound}"
        yield from _bound(text, "request", first=requests.get(name), second=limits.get(name), breaks=_below(bound))
    for name, bound in sorted((item.get("max") or {}).items()):
        text = f"maximum {name} usage per {kind} is {bound}"
        yield from _bound(text, "limit", first=limits.get(name), second=requests.get(name), breaks=_above(bound))
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        request, limit = nano(requests.get(name, "0")), nano(limits.get(name, "0"))
        text = f"{name} max limit to request ratio per {kind} is {bound}"
        if not request or not limit:
            missing = "request" if not request else "limit"
            yield f"{text}, but no {missing} is specified or {missing} is 0"
        elif limit * 10**9 > nano(bound) * request:
            yield f"{text}, but provided ratio is {limit / request:f}"


def _below(bound: str) -> Callable[[str], bool]:
    return lambda amount: nano(amount) < nano(bound)


def _above(bound: str) -> Callable[[str], bool]:
    return lambda amount: nano(amount) > nano(bound)


def _bound(
    text: str, must: str, *, first: str | None, second: str | None, breaks: Callable[[str], bool]
) -> Iterator[str]:
    """Check a bound: ``first`` (the field that ``must`` names) is required, ``second`` is optional."""
    other = "limit" if must == "request" else "request"
    if first is None:
        yield f"{text}. No {must} is specified"
    elif breaks(first):
        yield f"{text}, but {must} is {first}"
    elif second is not None and breaks(second):
        yield f"{text}, but {other} is {second}"
