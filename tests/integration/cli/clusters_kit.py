"""A host and clusters that are not registered yet, over HTTPS, and ``ud clusters`` as users call it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from typer.testing import Result

from tests.integration.cli.cli_kit import NAMESPACE, Site
from tests.integration.cli.cli_kit import site as registered_site
from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.demo.embedded import Options, Served
from uniteddeployment.cli.demo.fleet import Fleet, controlled
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.kubeconfig import Context
from uniteddeployment_api import names

RBAC = "rbac.authorization.k8s.io"
SYSTEM, ACCOUNT = names.SYSTEM_NAMESPACE, names.MEMBER_ACCOUNT
KINDS = {
    "namespaces": ("namespaces", "", SYSTEM),
    "serviceaccounts": ("serviceaccounts", SYSTEM, ACCOUNT),
    "clusterroles": (f"clusterroles.{RBAC}", "", ACCOUNT),
    "clusterrolebindings": (f"clusterrolebindings.{RBAC}", "", ACCOUNT),
}
"""The objects of a registration in a member: table, namespace and name."""


class Outside:
    """A host, and clusters that can become members."""

    def __init__(self, site: Site, clusters: dict[str, Served], folder: Path) -> None:
        self.site = site
        self.clusters = clusters
        self.folder = folder
        self.host = site.fleet.host.cluster
        self.kubeconfig = folder / "all"
        contexts = [site.fleet.host.context, *(served.context for served in clusters.values())]
        kubeconfig.write(self.kubeconfig, contexts, current="host")

    async def ud(self, *arguments: str) -> Result:
        """``ud clusters ...`` against the host."""
        return await self.site.ud("clusters", *arguments, options=["--kubeconfig", str(self.kubeconfig)])

    async def register(self, name: str, *options: str, context: str | None = None) -> Result:
        """``ud clusters register``, with the kubeconfig of all clusters unless the options name another one."""
        member = [] if "--kubeconfig" in options else ["--kubeconfig", str(self.kubeconfig)]
        member += ["--context", context or name] if context != "" else []
        place = ["--host-kubeconfig", str(self.kubeconfig), *member]
        return await self.site.ud("clusters", "register", name, *options, options=place)

    def user(self, cluster: str, *rules: dict[str, Any]) -> Sequence[str]:
        """The options for a user of a member with these rights."""
        served = self.clusters[cluster]
        role: dict[str, Any] = {"metadata": {"name": "user"}, "rules": list(rules)}
        served.cluster.access.create(f"clusterroles.{RBAC}", role, manager="test")
        binding = {
            "metadata": {"name": "user"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "user"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "user"}],
        }
        served.cluster.access.create(f"clusterrolebindings.{RBAC}", binding, manager="test")
        served.cluster.tokens["user-token"] = Identity("user", ("system:authenticated",))
        file = self.folder / "user"
        kubeconfig.write(file, [Context("user", served.server.url, served.server.ca, token="user-token")])
        return ["--kubeconfig", str(file)]

    def in_member(self, name: str) -> list[str]:
        """The objects of a registration that exist in a member."""
        cluster = self.clusters[name].cluster
        return [kind for kind, place in KINDS.items() if cluster.access.get(*place) is not None]

    def on_host(self, kind: str) -> list[str]:
        """The names of objects on the host."""
        table = {"clusters": f"clusters.{names.GROUP}", "roles": f"roles.{RBAC}"}.get(kind, kind)
        return sorted(found["metadata"]["name"] for found in self.host.access.list(table, NAMESPACE))

    def cluster_object(self, name: str) -> Any:
        return self.host.access.get(f"clusters.{names.GROUP}", NAMESPACE, name)

    def phase(self, name: str) -> str:
        return str(((self.cluster_object(name) or {}).get("status") or {}).get("phase", ""))


def system_namespace(cluster: Cluster) -> Any:
    return cluster.access.get("namespaces", "", SYSTEM)


@asynccontextmanager
async def outside(folder: Path, *members: str, control: bool = False) -> AsyncIterator[Outside]:
    """A host without members, and clusters with these names."""
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(registered_site(folder, members=0, control=False))
        clusters = {}
        for name in members:
            clusters[name] = await embedded.serve(Options(name=name))
            stack.push_async_callback(clusters[name].close)
        if control:
            await stack.enter_async_context(controlled(here.fleet))
        here.fleet = Fleet(here.fleet.host, tuple(clusters.values()), here.fleet.kubeconfig)
        yield Outside(here, clusters, folder)
