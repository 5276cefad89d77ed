"""What others do to workloads and revisions in a cluster."""

from typing import Any

from tests.simulation.histories.objects import Place
from tests.support.kruise import RESOURCES
from tests.support.watchdog import workloads
from tests.support.world import World
from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment_api import names

MANAGER = "somebody"
FOREIGN_IMAGE = "other:1"
REVISIONS = "controllerrevisions.apps"


def tamper(world: World, kind: str, member: str, index: int, what: str) -> Place | None:
    """Edit or delete one of the application's workloads. Return its place if it was edited."""
    access = world.members[member].access
    found = sorted(access.list(RESOURCES[kind], "default"), key=lambda workload: workload["metadata"]["name"])
    ours = [workload for workload in found if workload["metadata"]["name"] in workloads(world, member)]
    if not ours or (what == "orphan" and kind == "deploymentTemplate"):
        return None  # an orphaned ReplicaSet, and its pods, would be somebody else's from then on
    chosen = ours[index % len(ours)]
    name = chosen["metadata"]["name"]
    if what in ("delete", "orphan"):
        access.delete(RESOURCES[kind], "default", name, propagation="Orphan" if what == "orphan" else "Background")
        return None
    access.update(RESOURCES[kind], _edited(clone(chosen), what), manager=MANAGER)
    return member, chosen["metadata"]["labels"].get(names.LABEL_SUBSET, "")


def _edited(workload: dict[str, Any], what: str) -> dict[str, Any]:
    spec = workload["spec"]
    match what:
        case "replicas":
            spec["replicas"] = (spec.get("replicas", 1) + 2) % 5
        case "image":
            spec["template"]["spec"]["containers"][0]["image"] = FOREIGN_IMAGE
        case "partition":
            strategy = spec.get("updateStrategy") or {}
            if "rollingUpdate" in strategy:
                strategy["rollingUpdate"]["partition"] = 0
            elif "partition" in strategy:
                strategy["partition"] = 0
        case "revision label":
            workload["metadata"]["labels"][names.LABEL_REVISION] = "changed"
        case "name label":
            workload["metadata"]["labels"].pop(names.LABEL_NAME, None)
        case _:
            raise ValueError(what)
    return workload


def lose_revisions(world: World, member: str | None) -> None:
    """Delete every ControllerRevision of a member, or of the host."""
    access = (world.host if member is None else world.members[member]).access
    for revision in access.list(REVISIONS, "default"):
        access.delete(REVISIONS, "default", revision["metadata"]["name"])


def limit(world: World, member: str, pods: int | None) -> None:
    """Set a quota of pods, or remove it."""
    access = world.members[member].access
    if access.get("resourcequotas", "default", "limit") is not None:
        access.delete("resourcequotas", "default", "limit")
    if pods is not None:
        quota = {"metadata": {"name": "limit", "namespace": "default"}, "spec": {"hard": {"pods": str(pods)}}}
        access.create("resourcequotas", quota, manager=MANAGER)


def change_cluster(world: World, member: str, **spec: Any) -> None:
    """Change the spec of a Cluster, as an administrator does."""
    path = f"{names.API_PATH}/namespaces/default/clusters/{member}"
    cluster = world.request(world.host, "GET", path)
    world.request(world.host, "PUT", path, {**cluster, "spec": {**cluster["spec"], **spec}})
