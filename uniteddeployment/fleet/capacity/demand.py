"""The resources that a pod requests, as its scheduler counts them.

The rules are those of the Kubernetes scheduler and of the defaults of the API server:

* Containers and sidecars (init containers that always restart) run at the same time, so their requests add up. An init
  container runs alone with the sidecars before it. The larger of the two counts.
* A container without a request for a resource requests its limit.
* Requests of the whole pod (``spec.resources``) replace the sums for cpu, memory and huge pages. Without such a
  request, the sum of the containers counts or, if there is none, the limit of the whole pod.
* The overhead of the runtime class comes on top.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from uniteddeployment.fleet.capacity.quantity import CPU, QuantityError, Written, parse
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.text import shortened

MEMORY: Final = "memory"
PODS: Final = "pods"
_STORAGE: Final = "ephemeral-storage"
_HUGE_PAGES: Final = "hugepages-"
MOST_NAMES = 64
"""How many resources a pod or a node may name."""
_LONGEST_NAME = 317
_MOST_INTERNED = 8192

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Resource and amount, sorted by resource; without amounts of zero."""
Quantities: TypeAlias = dict[str, Written]


class Resources(Struct, gc=False):
    """``resources`` of a container or of a pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


_NULL = b"null"


class Container(Struct, gc=False, rename="camel"):
    """The parts of a container that are read."""

    resources: Raw = Raw(_NULL)
    """:class:`Resources` in JSON, since most containers have those of another one."""
    restart_policy: str | None = None


class Demand(Struct, frozen=True, gc=False, rename="camel"):
    """The parts of the spec of a pod, or of a pod template, that its requests follow from."""

    containers: tuple[Container, ...] | None = ()
    init_containers: tuple[Container, ...] | None = ()
    resources: Resources | None = None
    overhead: Quantities | None = None


_known: dict[Amounts, Amounts] = {}
"""Equal amounts are kept once: most pods of a cluster request one of a few sets of amounts."""
_by_text: dict[bytes, Amounts] = {}
"""The resources of all containers in JSON -> what the pod requests. Few texts are different, so most are found here."""
_LONGEST_TEXT, _MOST_TEXTS = 4096, 2048


def interned(amounts: Amounts) -> Amounts:
    """Return the kept copy of equal amounts."""
    if len(_known) > _MOST_INTERNED:
        _known.clear()
    return _known.setdefault(amounts, amounts)


def of_template(spec: Mapping[str, Any]) -> Amounts | None:
    """Return what each pod of a template requests; None if it cannot be read."""
    try:
        return requested(decode(msgspec.json.encode(spec), Demand))
    except (DecodingError, QuantityError):
        return None


def requested(pod: Demand) -> Amounts:
    """Return what a pod requests. Raises QuantityError, which names the resource."""
    containers = pod.containers or ()
    if pod.init_containers or pod.resources is not None or pod.overhead:
        return _requested(pod)
    key = b"\n".join([container.resources for container in containers])
    known = _by_text.get(key)
    if known is None:
        known = _requested(pod)
        if len(key) <= _LONGEST_TEXT:
            if len(_by_text) >= _MOST_TEXTS:
                _by_text.clear()
            _by_text[key] = known
    return known


def _requested(pod: Demand) -> Amounts:
    total = _sum(_own(container) for container in pod.containers or ())
    if pod.init_containers:
        total = _with_init_containers(total, pod.init_containers)
    if pod.resources is not None:
        total |= _of_the_whole_pod(pod.resources, total)
    if pod.overhead:
        total = _sum((total, amounts(pod.overhead)))
    return _sealed(total)


def _with_init_containers(total: dict[str, int], first: Iterable[Container]) -> dict[str, int]:
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in first:
        own = _own(container)
        if container.restart_policy == "Always":
            total = _sum((total, own))
            sidecars = _sum((sidecars, own))
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _sum((sidecars, own)))
    return _larger(total, peak)


def _of_the_whole_pod(resources: Resources, containers: Mapping[str, int]) -> dict[str, int]:
    """The requests of the whole pod, and its limits for resources that nothing requests."""
    limits = amounts(resources.limits) if resources.limits else {}
    requests = amounts(resources.requests) if resources.requests else {}
    whole = {name: amount for name, amount in limits.items() if name not in containers} | requests
    return {name: amount for name, amount in whole.items() if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)}


def _own(container: Container) -> dict[str, int]:
    """The requests of a container."""
    if bytes(container.resources) == _NULL:
        return {}
    try:
        resources = decode(container.resources, Resources)
    except DecodingError:
        raise QuantityError("the resources of a container cannot be read") from None
    requests = amounts(resources.requests) if resources.requests else {}
    if not resources.limits or resources.limits.keys() <= requests.keys():
        return requests
    return amounts(resources.limits) | requests


def amounts(quantities: Mapping[str, Written]) -> dict[str, int]:
    """Return the amounts of the resources that the scheduler counts per node. Raises QuantityError."""
    if len(quantities) > MOST_NAMES:
        raise QuantityError(f"names more than {MOST_NAMES} resources")
    read = {}
    for name, written in quantities.items():
        if counted(name):
            try:
                read[name] = parse(name, written)
            except QuantityError as error:
                raise QuantityError(f"the amount of {shortened(name)} {error}") from None
    return read


def counted(name: str) -> bool:
    """Return whether pods request a resource of this name from a node: not, for example, numbers of volumes."""
    return name in (CPU, MEMORY, _STORAGE) or (
        ("/" in name or name.startswith(_HUGE_PAGES)) and len(name) <= _LONGEST_NAME
    )


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _larger(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in first.keys() | second.keys()}


def _sealed(total: Mapping[str, int]) -> Amounts:
    return interned(tuple(sorted((name, amount) for name, amount in total.items() if amount)))
