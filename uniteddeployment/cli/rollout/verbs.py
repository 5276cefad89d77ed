"""``ud rollout approve`` and the other verbs: add a command to the status, and report the answer."""

import asyncio
import getpass
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import FAILED, TIMEOUT, CommandError, fail_with
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.rollout.objects import read, title
from uniteddeployment.cli.rollout.waiting import problems, watched
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

OF_A_RUN = ("approve", "skip", "promote", "abort", "retry")
OF_A_STEP = ("approve", "skip")


@dataclass(frozen=True, slots=True)
class Order:
    """A command to give. Without a run and a step, it is for the present ones."""

    verb: str
    by: str = ""
    run: str = ""
    step: int = 0

    def document(self, rollout: StoredRollout) -> dict[str, Any]:
        """The command as it is stored."""
        command: dict[str, Any] = {"verb": self.verb, "by": self.by or getpass.getuser()}
        if self.verb in OF_A_RUN:
            command["runID"] = self.run or rollout.status.get("runID", "")
        if self.verb in OF_A_STEP:
            command["step"] = self.step or rollout.status.get("step", 0)
        return command


def main(target: Target, names: Sequence[str], order: Order, timeout: str) -> None:
    """Give a command to each rollout. Raises CommandError if one is refused or not answered in time."""
    limit = seconds(timeout)
    logs.configure("console", "error")
    found = asyncio.run(_give_all(target, names, order, limit))
    if found:
        fail_with([str(problem) for problem in found], max(problem.code for problem in found))


async def _give_all(target: Target, names: Sequence[str], order: Order, limit: float) -> list[CommandError]:
    """Give the command to all rollouts at once. One that cannot have it does not keep it from the others."""
    async with connected(target) as client:
        return await problems(_give_one(client, target.namespace, name, order, limit) for name in names)


async def _give_one(client: Client, namespace: str, name: str, order: Order, limit: float) -> None:
    answer = await _give(client, await read(client, namespace, name), order, limit)
    if answer["result"] != "Done":
        raise CommandError(
            f"{name}: {order.verb} was refused: {answer.get('message', '')}; "
            f"ud rollout get {name} shows the present state"
        )
    say(f"{title(name)}: {order.verb}: done")


async def _give(client: Client, rollout: StoredRollout, order: Order, limit: float) -> Mapping[str, Any]:
    """Add the command, and wait for its answer. Without one in time, withdraw the command."""
    name, id_ = rollout.metadata.name, secrets.token_hex(8)
    try:
        await _patch(client, rollout, id_, order.document(rollout))
    except Forbidden as error:
        raise CommandError(
            f"{error}; the ClusterRole uniteddeployment-rollout-commands allows commands", FAILED
        ) from None
    try:
        async with asyncio.timeout(limit):
            async for seen in watched(client, rollout.metadata.namespace, name):
                answer = _answer(seen, id_)
                if answer is not None:
                    return answer
    except TimeoutError:
        left = await _patch(client, rollout, id_, None)
        answer = _answer(left, id_)
        if answer is not None:
            return answer
        raise CommandError(
            f"{name}: no answer within {limit:g} s, so the command {order.verb} was withdrawn; "
            "is the rollout controller running?",
            TIMEOUT,
        ) from None
    raise CommandError(f"{name} was deleted")


async def _patch(client: Client, rollout: StoredRollout, id_: str, command: dict[str, Any] | None) -> StoredRollout:
    meta = rollout.metadata
    patch = {"metadata": {"uid": meta.uid}, "status": {"commands": {id_: command}}}
    return await client.merge_patch(
        UNITED_ROLLOUTS, meta.name, patch, StoredRollout, namespace=meta.namespace, subresource="status"
    )


def _answer(rollout: StoredRollout, id_: str) -> Mapping[str, Any] | None:
    answers: Sequence[Mapping[str, Any]] = rollout.status.get("answers") or ()
    return next((answer for answer in answers if answer["id"] == id_), None)
