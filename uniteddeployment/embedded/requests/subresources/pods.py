"""Subresources of pods: eviction, within disruption budgets, and binding."""

from collections.abc import Mapping
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import StatusError, bad_request, conflict, not_found
from uniteddeployment.embedded.requests import delete as deletion
from uniteddeployment.embedded.requests import write
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.options import delete_request
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.storage.state import Core

BUDGETS: Final = "poddisruptionbudgets.policy"
NODES: Final = "nodes"
DISRUPTED_LIMIT: Final = 2000
TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
SERVER: Final = "kube-apiserver"

CREATED: Final[Mapping[str, Any]] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
"""The response to an eviction and a binding."""


def evict(core: Core, target: Target, eviction: Obj, call: Call) -> None:
    """Delete a pod if its budget allows it (429 otherwise)."""
    metadata = eviction.get("metadata") or {}
    if metadata.get("name", target.name) != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    request = delete_request(eviction.get("deleteOptions"), {}, ())
    call.dry_run = call.dry_run or request.dry_run
    pod = write.live(core, Target(target.resource, target.namespace, target.name))
    if pod is None:
        raise target.missing()
    if not _expendable(pod):
        _spend(core, pod, call)
    deletion.delete(core, Target(target.resource, target.namespace, target.name), request.options, call)


def _expendable(pod: Obj) -> bool:
    """Whether a pod needs no budget: it is finished, unassigned or terminating."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _spend(core: Core, pod: Obj, call: Call) -> None:
    """Take one disruption from the budget of a pod, if it has one."""
    budgets = [budget for budget in _budgets(core, pod["metadata"]["namespace"]) if _covers(budget, pod)]
    if len(budgets) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, "", text)
    if not budgets:
        return
    budget = budgets[0]
    if not _ready(pod) and _spares_unready(budget):
        return
    status = budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(
            f"The disruption budget {budget['metadata']['name']} is still being processed by the server.", 10
        )
    if status.get("disruptionsAllowed", 0) <= 0:
        raise _too_many(
            f"The disruption budget {budget['metadata']['name']} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
    if call.dry_run:
        return
    new = clone(budget)
    new["status"]["disruptionsAllowed"] -= 1
    noted = new["status"].setdefault("disruptedPods", {})
    noted[pod["metadata"]["name"]] = meta.timestamp(core.clock.now())
    resource = core.registry.main(BUDGETS)
    where = Target(resource, budget["metadata"]["namespace"], budget["metadata"]["name"], "status")
    write.update(core, where, lambda _: new, Call(SERVER))


def _too_many(why: str, retry_after: int | None = None) -> StatusError:
    return StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [{"reason": "DisruptionBudget", "message": why}]},
        retry_after=retry_after,
    )


def _budgets(core: Core, namespace: str) -> list[Obj]:
    if not core.registry.serves(BUDGETS):
        return []
    table = core.registry.table(core.registry.main(BUDGETS))
    return core.store.objects(table, table.select(namespace))


def _covers(budget: Obj, pod: Obj) -> bool:
    selector = budget.get("spec", {}).get("selector")
    if selector is None:
        return False
    labels = pod["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_matches(expression, labels) for expression in selector.get("matchExpressions") or ())


def _matches(expression: Obj, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _spares_unready(budget: Obj) -> bool:
    """Whether unready pods may be evicted although the budget allows no disruption."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def bind(core: Core, target: Target, binding: Obj, call: Call) -> None:
    """Assign a node to a pod: spec.nodeName, the PodScheduled condition and the node's topology labels."""
    node = (binding.get("target") or {}).get("name") or ""
    if not node:
        raise StatusError(500, "", "target.name: Required value")
    plain = Target(target.resource, target.namespace, target.name, "binding")
    pod = write.live(core, plain)
    if pod is None:
        raise not_found(target.resource.plural, target.resource.group, target.name)
    bound = pod.get("spec", {}).get("nodeName")
    if "deletionTimestamp" in pod["metadata"]:
        raise conflict(
            "pods/binding", "", target.name, f"pod {target.name} is being deleted, cannot be assigned to a host"
        )
    if bound:
        raise conflict("pods/binding", "", target.name, f'pod {target.name} is already assigned to node "{bound}"')
    if pod["spec"].get("schedulingGates"):
        why = f"pod {target.name} has non-empty .spec.schedulingGates"
        raise conflict("pods/binding", "", target.name, why)
    new = clone(pod)
    new["spec"]["nodeName"] = node
    new["metadata"].setdefault("labels", {}).update(_topology(core, node))
    conditions = new.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [condition for condition in conditions if condition["type"] != "PodScheduled"]
    now = meta.timestamp(core.clock.now())
    conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
    write.update(core, plain, lambda _: new, call)


def _topology(core: Core, name: str) -> dict[str, str]:
    node = write.live(core, Target(core.registry.main(NODES), "", name))
    labels = (node or {}).get("metadata", {}).get("labels") or {}
    return {key: labels[key] for key in TOPOLOGY_LABELS if key in labels}
