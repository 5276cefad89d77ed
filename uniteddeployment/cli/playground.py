"""``ud playground``: the fleet of the demo, to play with."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from uniteddeployment.cli import fleet as fleets
from uniteddeployment.cli.demo import controller
from uniteddeployment.cli.embedded import stopped
from uniteddeployment.cli.fleet import Fleet
from uniteddeployment.cli.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.transport import AiohttpTransport

_NEXT = """\
A host and {members} members are running, with the controller. In another terminal:

  export KUBECONFIG={kubeconfig}

  kubectl get udc                                  # the members, as the host knows them
  kubectl apply -f config/samples/web.yaml         # one application over all of them
  kubectl wait --for=condition=Ready ud/web
  ud get -w                                        # its subsets, live
  kubectl get sts,pods --context member-1          # what runs in one member
  kubectl scale ud web --replicas=12
  kubectl explain ud.spec.topology
  kubectl delete ud web

Ctrl-C ends everything.
"""


def main(members: int, folder: Path | None) -> None:
    """Run until Ctrl-C or SIGTERM."""
    logs.configure("console", "warning")
    with tempfile.TemporaryDirectory(prefix="ud-playground-") as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        asyncio.run(_run(place, members))


async def _run(folder: Path, members: int) -> None:
    """Start everything, say so, and stay until told to stop or until the controller fails."""
    stop = stopped()
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleets.running(folder, members))
        running = await stack.enter_async_context(controller(fleet))
        stopping = asyncio.create_task(stop.wait())
        stack.callback(stopping.cancel)
        client = Client(AiohttpTransport(fleet.connection()), "host")
        stack.push_async_callback(client.close)
        showing = asyncio.create_task(_show(client, fleet, members))
        stack.callback(showing.cancel)
        await asyncio.wait((stopping, running, showing), return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            showing.result()
            await asyncio.wait((stopping, running), return_when=asyncio.FIRST_COMPLETED)
        say("stopping")


async def _show(client: Client, fleet: Fleet, members: int) -> None:
    """Say what to try, once it works."""
    await fleets.connected(client)
    for line in _NEXT.format(members=members, kubeconfig=fleet.kubeconfig).splitlines():
        say(line)
