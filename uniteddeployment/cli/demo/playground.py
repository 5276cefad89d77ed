"""``ud playground``: a host, members and the controller, until Ctrl-C."""

import asyncio
import json
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from uniteddeployment.cli.connect import opened
from uniteddeployment.cli.demo import fleet as fleets
from uniteddeployment.cli.demo import samples
from uniteddeployment.cli.demo.fleet import Fleet
from uniteddeployment.cli.output.documents import check_output
from uniteddeployment.cli.output.terminal import program, say
from uniteddeployment.cli.process import stopped
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client

_NEXT = """\
A host and {members} members are running, with the controller and the rollout controller. In another terminal:

  export KUBECONFIG={kubeconfig}

  kubectl get udc                                  # the members
  kubectl apply -f {sample}  # one application on all of them
  kubectl wait --for=condition=Ready ud/web
  ud get -w                                        # its subsets, live
  kubectl get sts,pods --context member-1          # what runs in one member
  kubectl scale ud web --replicas=12
  kubectl apply -f {rollout}  # new versions in steps
  ud rollout plan web                              # what each step will update
  kubectl explain ud.spec.topology
  kubectl delete ud web

Ctrl-C stops everything.
"""


def main(members: int, folder: Path | None, output: str) -> None:
    """Run until Ctrl-C or SIGTERM."""
    check_output(output, ("text", "json"))
    logs.configure("console", "warning")
    with tempfile.TemporaryDirectory(prefix="ud-playground-") as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        asyncio.run(_run(place, members, output))


async def _run(folder: Path, members: int, output: str) -> None:
    """Start everything, announce it, and run until stopped or until the controller fails."""
    stop = stopped()
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleets.running(folder, members))
        running = await stack.enter_async_context(fleets.controlled(fleet))
        stopping = asyncio.create_task(stop.wait())
        stack.callback(stopping.cancel)
        client = await stack.enter_async_context(opened(fleet.connection()))
        announcing = asyncio.create_task(_announce(client, fleet, output))
        stack.callback(announcing.cancel)
        await asyncio.wait((stopping, running, announcing), return_when=asyncio.FIRST_COMPLETED)
        if announcing.done():
            announcing.result()
            await asyncio.wait((stopping, running), return_when=asyncio.FIRST_COMPLETED)
        say("stopping", error=True)


async def _announce(client: Client, fleet: Fleet, output: str) -> None:
    """Print what to try, once every member is connected."""
    await fleets.wait_connected(client)
    if output == "json":
        members = [member.cluster.name for member in fleet.members]
        program(json.dumps({"kubeconfig": str(fleet.kubeconfig), "host": "host", "members": members}))
        return
    files = {}
    for word, name in (("sample", "web.yaml"), ("rollout", "rollout.yaml")):
        files[word] = fleet.kubeconfig.with_name(name)
        files[word].write_text(samples.read(name))
    for line in _NEXT.format(members=len(fleet.members), kubeconfig=fleet.kubeconfig, **files).splitlines():
        say(line)
