"""OpenKruise in embedded clusters: the definitions of its kinds and the simulation of its controllers."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.cluster_images import DEFINITIONS, Documents
from tests.support.stories import some
from tests.support.world import World, running_world
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.defaults import default_controllers
from uniteddeployment.embedded.openkruise import kruise_controllers

KRUISE_KINDS = ("cloneSetTemplate", "advancedStatefulSetTemplate")
NATIVE_KINDS = ("statefulSetTemplate", "deploymentTemplate")
"""One workload for each subset, and one for each revision. Enough for what does not depend on the details of a kind."""
ALL_KINDS = (*NATIVE_KINDS, *KRUISE_KINDS)
RESOURCES = {
    "statefulSetTemplate": "statefulsets.apps",
    "deploymentTemplate": "deployments.apps",
    "cloneSetTemplate": "clonesets.apps.kruise.io",
    "advancedStatefulSetTemplate": "statefulsets.apps.kruise.io",
}
"""Template -> the resource of its workloads, as a cluster's own access knows it."""
PATHS = {
    "statefulSetTemplate": "/apis/apps/v1/namespaces/default/statefulsets",
    "deploymentTemplate": "/apis/apps/v1/namespaces/default/deployments",
    "cloneSetTemplate": "/apis/apps.kruise.io/v1alpha1/namespaces/default/clonesets",
    "advancedStatefulSetTemplate": "/apis/apps.kruise.io/v1beta1/namespaces/default/statefulsets",
}
"""Template -> where an API server has its workloads."""
_DATA = Path(__file__).with_name("openkruise.yaml")


def kinds(*chosen: str) -> Sequence[str]:
    """The kinds that ``make test`` plays a story with; ``make stories`` plays it with all."""
    return some(ALL_KINDS, chosen)


@cache
def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of CloneSets and Advanced StatefulSets."""
    return list(yaml.safe_load_all(_DATA.read_text()))


def definition_documents() -> Documents:
    """The same for a cluster that has them from the beginning."""
    return [(DEFINITIONS, definition) for definition in definitions()]


def install(made: World, cluster: Cluster) -> None:
    """Install OpenKruise's definitions in a cluster that runs :func:`kruise_controllers`."""
    for definition in definitions():
        made.request(cluster, "POST", DEFINITIONS, definition)


@asynccontextmanager
async def kruise_world(
    seed: int = 1, members: int = 3, *, without: Collection[str] = (), controller: bool = True, **cluster: Any
) -> AsyncIterator[World]:
    """A world whose members have OpenKruise, but those that are named ``without``."""
    options = {"controllers": (*default_controllers(), *kruise_controllers()), **cluster}
    served = {name for name in (f"member-{i + 1}" for i in range(members)) if name not in without}
    installed = dict.fromkeys(served, definition_documents)
    async with running_world(seed, members, controller=controller, installed=installed, **options) as made:
        yield made


def world_for(kind: str, seed: int = 1, members: int = 3, **options: Any) -> AbstractAsyncContextManager[World]:
    """A world in which the members serve a kind."""
    return (kruise_world if kind in KRUISE_KINDS else running_world)(seed, members, **options)
