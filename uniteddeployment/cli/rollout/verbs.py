"""``ud rollout approve`` and the other verbs: add a command to the status, and report the answer."""

import asyncio
import getpass
import secrets
from collections.abc import Sequence
from typing import Any

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import CommandError, fail_with
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.rollout.objects import TITLE, read
from uniteddeployment.cli.rollout.waiting import watched
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout


def main(target: Target, names: Sequence[str], verb: str, by: str, timeout: str) -> None:
    """Give a command to each rollout. Raises CommandError if one is refused, and TimeoutError without an answer."""
    logs.configure("console", "error")
    refused = asyncio.run(_give_all(target, names, verb, by or getpass.getuser(), seconds(timeout)))
    if refused:
        fail_with(refused, 1)


async def _give_all(target: Target, names: Sequence[str], verb: str, by: str, limit: float) -> list[str]:
    refused = []
    async with connected(target) as client:
        for name in names:
            answer = await _give(client, await read(client, target.namespace, name), verb, by, limit)
            if answer["result"] == "Done":
                say(f"{TITLE}/{name}: {verb}: done")
            else:
                refused.append(f"{name}: {verb} was refused: {answer.get('message', '')}")
    return refused


async def _give(client: Client, rollout: StoredRollout, verb: str, by: str, limit: float) -> dict[str, Any]:
    """Add the command for the run and the step that the caller has seen, and wait for its answer."""
    meta, id_ = rollout.metadata, secrets.token_hex(8)
    command = {
        "verb": verb,
        "runID": rollout.status.get("runID", ""),
        "step": rollout.status.get("step", 0),
        "by": by,
    }
    patch = {"metadata": {"uid": meta.uid}, "status": {"commands": {id_: command}}}
    await client.merge_patch(
        UNITED_ROLLOUTS, meta.name, patch, StoredRollout, namespace=meta.namespace, subresource="status"
    )
    try:
        async with asyncio.timeout(limit):
            async for seen in watched(client, meta.namespace, meta.name):
                for answer in seen.status.get("answers") or ():
                    if answer["id"] == id_:
                        return dict(answer)
    except TimeoutError:
        raise TimeoutError(f"{meta.name}: no answer within {limit:g} s; is the rollout controller running?") from None
    raise CommandError(f"{meta.name} was deleted")
