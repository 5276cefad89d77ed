"""A fleet of embedded clusters over HTTPS with the controller, and ``ud`` as users call it."""

import asyncio
import gc
import json
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import structlog
from typer.testing import CliRunner, Result

from tests.support.narrowing import present
from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.demo import fleet as fleets
from uniteddeployment.cli.demo.embedded import Options, Served
from uniteddeployment.cli.demo.fleet import Fleet, controlled
from uniteddeployment.cli.program import app
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import from_values
from uniteddeployment.kube.resource import Resource
from uniteddeployment.kube.transport import AiohttpTransport

NAMESPACE = "default"
SECONDS = 30.0


class Site:
    """The clusters, their clients, and ``ud``."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.clients: dict[str, Client] = {}

    @property
    def host(self) -> Client:
        return self.clients["host"]

    def served(self, name: str) -> Served:
        return next(one for one in (self.fleet.host, *self.fleet.members) if one.cluster.name == name)

    async def ud(self, *arguments: str, stdin: str = "", options: Sequence[str] | None = None) -> Result:
        """Run ``ud`` in a thread, because it has its own event loop. ``options`` replace those that connect it."""
        place = ["--kubeconfig", str(self.fleet.kubeconfig)] if options is None else options
        place = [] if arguments[0] == "convert" else place
        result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, *place], input=stdin)
        _silence()
        return result

    async def said(self, *arguments: str, stdin: str = "") -> str:
        """The standard output of ``ud``. Raises AssertionError if it fails."""
        result = await self.ud(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def json(self, *arguments: str) -> Any:
        return json.loads(await self.said(*arguments, "-o", "json"))

    async def apply(self, document: Mapping[str, Any]) -> dict[str, Any]:
        name = document["metadata"]["name"]
        return await self.host.apply(
            UNITED_DEPLOYMENTS, name, document, dict[str, Any], namespace=NAMESPACE, field_manager="user", force=True
        )

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition that a change in a cluster fulfills."""
        changed = asyncio.Event()
        with ExitStack() as stack:
            for one in (self.fleet.host, *self.fleet.members):
                stack.callback(one.cluster.access.subscribe("*", lambda _change: changed.set()))
            try:
                async with asyncio.timeout(SECONDS):
                    while not condition():
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                raise AssertionError(f"{what}: not within {SECONDS:g} s") from None

    def ud_object(self, name: str = "web") -> Any:
        return self.fleet.host.cluster.access.get("uniteddeployments.uniteddeployment.io", NAMESPACE, name)

    def settled(self, name: str = "web") -> bool:
        """Return True if the controller has observed the current spec and has nothing left to do."""
        obj = self.ud_object(name) or {"metadata": {}}
        status = obj.get("status") or {}
        conditions = {one["type"]: one["status"] for one in status.get("conditions", ())}
        return (
            status.get("observedGeneration") == obj["metadata"].get("generation")
            and conditions.get("Ready") == "True"
            and conditions.get("Reconciling") == "False"
        )

    async def wait_settled(self, name: str = "web") -> None:
        await self.until(lambda: self.settled(name), f"{name} settles")

    def pods(self, cluster: str) -> list[Any]:
        """The pods of a cluster that are not being deleted."""
        found = self.served(cluster).cluster.access.list("pods", NAMESPACE)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def uids(self, cluster: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(cluster)}

    async def run(self, cluster: str, resource: Resource, document: Mapping[str, Any]) -> None:
        """Create a workload, and wait until its status shows all its pods as ready."""
        await self.clients[cluster].create(resource, document, dict[str, Any], namespace=NAMESPACE)
        name, wanted = document["metadata"]["name"], document["spec"]["replicas"]

        def ready() -> bool:
            found = present(self.served(cluster).cluster.access.get(f"{resource.plural}.apps", NAMESPACE, name))
            status = found.get("status", {})
            return bool(status.get("readyReplicas") == wanted and status.get("updatedReplicas") == wanted)

        await self.until(ready, f"{name} is ready")


@asynccontextmanager
async def site(folder: Path, *, members: int = 1, control: bool = True) -> AsyncIterator[Site]:
    """Clusters with the CRDs and registered members; with ``control`` the controller runs too."""
    async with AsyncExitStack() as stack:
        stack.enter_context(_unclosed_connections())
        fleet = await stack.enter_async_context(fleets.running(folder, members, ready_after=0.0))
        yield await _open(stack, fleet, control=control)


@asynccontextmanager
async def lone_host(folder: Path) -> AsyncIterator[Site]:
    """One cluster of three zones with the controller and without members."""
    async with AsyncExitStack() as stack:
        stack.enter_context(_unclosed_connections())
        served = await embedded.serve(Options(name="host"))
        stack.push_async_callback(served.close)
        fleet = Fleet(served, (), folder / "kubeconfig")
        kubeconfig.write(fleet.kubeconfig, [served.context])
        made = await _open(stack, fleet, control=False)
        await fleets.install(made.host)
        await stack.enter_async_context(controlled(fleet))
        yield made


@contextmanager
def _unclosed_connections() -> Iterator[None]:
    """Allow them, of the commands that run during the block.

    A command ends with its process: it does not wait until servers have closed its TLS connections.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()


def _silence() -> None:
    """Turn off the logs of the controller: they must not mix with the output of a command."""
    structlog.reset_defaults()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


async def _open(stack: AsyncExitStack, fleet: Fleet, *, control: bool) -> Site:
    _silence()
    stack.callback(structlog.reset_defaults)
    made = Site(fleet)
    for one in (fleet.host, *fleet.members):
        connection = from_values(one.server.url, ca=one.server.ca, token=one.token, name=one.cluster.name)
        client = Client(AiohttpTransport(connection), one.cluster.name, field_manager="test")
        made.clients[one.cluster.name] = client
        stack.push_async_callback(client.close)
    if control:
        await stack.enter_async_context(controlled(fleet))
    return made
