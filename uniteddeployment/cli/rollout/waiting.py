"""``ud rollout status``: wait for a phase, for pipelines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import BLOCKED, FAILED, USAGE, CommandError
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.rollout.objects import read
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment_rollout.loop.objects import (
    UNITED_DEPLOYMENTS,
    UNITED_ROLLOUTS,
    StoredRollout,
    StoredTarget,
    target_of,
)

_AGAIN_SECONDS = 0.5
"""How often a state that does not change is looked at again: its target may have changed."""
_WANTED = {"healthy": ("Healthy",), "paused": ("Paused", "Healthy")}


def main(target: Target, name: str, until: str, timeout: str) -> None:
    """Wait, and print a line for each change. Raises CommandError, TimeoutError."""
    if until not in _WANTED:
        raise CommandError(f"--until must be healthy or paused, not {until!r}", USAGE)
    limit = seconds(timeout)
    logs.configure("console", "error")
    asyncio.run(_wait(target, name, until, limit, timeout))


async def watched(client: Client, namespace: str, name: str) -> AsyncIterator[StoredRollout]:
    """Yield a rollout and each later state of it, until it is deleted; the last one again after a while."""
    states: asyncio.Queue[StoredRollout | None] = asyncio.Queue()
    reflector = Reflector(
        client,
        UNITED_ROLLOUTS,
        StoredRollout,
        Cache[StoredRollout](lambda _, new: states.put_nowait(new)),
        namespace=namespace,
        field_selector=f"metadata.name={name}",
    )
    watching = asyncio.create_task(reflector.run())
    try:
        state = await states.get()
        while state is not None:
            yield state
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_SECONDS):
                    state = await states.get()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _wait(target: Target, name: str, until: str, limit: float, timeout: str) -> None:  # noqa: ASYNC109  # for the message
    said = ""
    try:
        async with asyncio.timeout(limit), connected(target) as client:
            await read(client, target.namespace, name)
            async for rollout in watched(client, target.namespace, name):
                status = rollout.status
                if not await _up_to_date(client, rollout):
                    continue
                phase = status.get("phase", "")
                line = f"{name} is {phase}: {status.get('message', '')}"
                if line != said:
                    say(line)
                    said = line
                if phase in _WANTED[until]:
                    return
                _raise_for(phase, rollout, line)
    except TimeoutError:
        raise TimeoutError(f"{name} was not {until} within {timeout}; {said or 'its state is not known'}") from None
    raise CommandError(f"{name} was deleted")


async def _up_to_date(client: Client, rollout: StoredRollout) -> bool:
    """Whether the status is about the present spec and the present template of the target."""
    if rollout.status.get("observedGeneration") != rollout.metadata.generation:
        return False
    namespace, name = rollout.target
    try:
        target = target_of(await client.get(UNITED_DEPLOYMENTS, name, StoredTarget, namespace=namespace))
    except NotFound:
        return True
    return target.observed and target.updated_revision == (rollout.status.get("updateRevision") or "")


def _raise_for(phase: str, rollout: StoredRollout, line: str) -> None:
    """Raise CommandError for a phase that waiting does not end. A pause with a duration ends by itself."""
    if phase == "Degraded":
        raise CommandError(line, FAILED)
    conditions = {condition["type"]: condition for condition in rollout.status.get("conditions") or ()}
    if phase == "Paused" and conditions.get("Reconciling", {}).get("status") != "True":
        raise CommandError(line, BLOCKED)
