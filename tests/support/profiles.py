"""ClusterProfiles of SIG Multicluster on the host of a simulated fleet."""

from pathlib import Path
from typing import Any

import yaml

from tests.support import rights
from tests.support.cluster_images import DEFINITIONS
from tests.support.narrowing import present
from tests.support.world import World
from uniteddeployment_api import names

PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles"
CLUSTER_TYPE = {"apiVersion": names.CLUSTER_PROFILE_API_VERSION, "kind": names.CLUSTER_PROFILE_KIND}
MERGE = {"content_type": "application/merge-patch+json"}


async def install(world: World) -> None:
    """Install the CRD of the SIG on the host."""
    crd = yaml.safe_load((Path(__file__).parent / "clusterprofiles.yaml").read_text())
    world.request(world.host, "POST", DEFINITIONS, crd)

    def established() -> bool:
        stored = present(
            world.host.access.get("customresourcedefinitions.apiextensions.k8s.io", "", crd["metadata"]["name"])
        )
        conditions = (stored.get("status") or {}).get("conditions") or ()
        return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

    await world.until(established, 10, what="the CRD")


def create(world: World, name: str) -> None:
    """Create a ClusterProfile for a member, without access providers, and the Secret with the token."""
    body = {
        "apiVersion": names.CLUSTER_PROFILE_API_VERSION,
        "kind": names.CLUSTER_PROFILE_KIND,
        "metadata": {"name": name, "labels": {"region": "eu"}},
        "spec": {"clusterManager": {"name": "test"}},
    }
    world.request(world.host, "POST", PROFILES, body)
    secret = {"metadata": {"name": f"{name}-token"}, "stringData": {"token": rights.TOKEN}}
    world.request(world.host, "POST", "/api/v1/namespaces/default/secrets", secret)


def provide(world: World, name: str, member: str, provider: str = "secretreader") -> None:
    """Let the cluster manager publish an access provider."""
    config = {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": f"{name}-token"}}
    access = {"server": f"https://{member}.test:6443", "extensions": [config]}
    status: dict[str, Any] = {"conditions": [], "accessProviders": [{"name": provider, "cluster": access}]}
    world.request(world.host, "PATCH", f"{PROFILES}/{name}/status", {"status": status}, **MERGE)
