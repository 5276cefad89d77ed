"""``ud rollout status``: wait for a phase, for pipelines."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.errors import BLOCKED, FAILED, TIMEOUT, USAGE, CommandError, fail_with
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.rollout.objects import condition, ends_by_itself, observed, read
from uniteddeployment.cli.wait.waiter import seconds
from uniteddeployment.controller import logs
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment_rollout.advance import REFUSALS
from uniteddeployment_rollout.loop.objects import (
    UNITED_DEPLOYMENTS,
    UNITED_ROLLOUTS,
    StoredRollout,
    StoredTarget,
    target_of,
)

_AGAIN_SECONDS = 0.5
"""Interval at which a state that does not change is checked again: its target may have changed."""
_WANTED = {"healthy": ("Healthy",), "paused": ("Paused", "Healthy")}


def main(target: Target, names: Sequence[str], until: str, timeout: str) -> None:
    """Wait for all rollouts, and print a line for each change. Raises CommandError, TimeoutError.

    Of several problems, the one with the lowest exit code decides: a degraded rollout (1) before a time-out (3).
    """
    if until not in _WANTED:
        raise CommandError(f"--until must be healthy or paused, not {until!r}", USAGE)
    limit = seconds(timeout)
    logs.configure("console", "error")
    found = asyncio.run(_wait_all(target, names, until, limit, timeout))
    if found:
        fail_with([str(problem) for problem in found], min(problem.code for problem in found))


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


async def problems(calls: Iterable[Awaitable[None]]) -> list[CommandError]:
    """Make all calls at once, and return the errors of those that fail. One that fails does not stop the others."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    found = []
    for outcome in outcomes:
        if isinstance(outcome, CommandError):
            found.append(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
    return found


async def _wait_all(
    target: Target,
    names: Sequence[str],
    until: str,
    limit: float,
    timeout: str,  # noqa: ASYNC109  # for the message
) -> list[CommandError]:
    async with connected(target) as client:
        waiters = [Waiter(name, until) for name in names]
        return await problems(waiter.wait(client, target.namespace, limit, timeout) for waiter in waiters)


class Waiter:
    """Follows one rollout."""

    def __init__(self, name: str, until: str) -> None:
        self._name = name
        self._until = until
        self._said = ""
        self._run = ""
        """The run that was seen last."""

    async def wait(
        self,
        client: Client,
        namespace: str,
        limit: float,
        timeout: str,  # noqa: ASYNC109  # for the message
    ) -> None:
        """Wait until the rollout is as wanted. Raises CommandError."""
        try:
            async with asyncio.timeout(limit):
                await read(client, namespace, self._name)
                async for rollout in watched(client, namespace, self._name):
                    if await _up_to_date(client, rollout) and self.ends(rollout):
                        return
        except TimeoutError:
            state = self._said or "its state is not known"
            raise CommandError(f"{self._name} was not {self._until} within {timeout}; {state}", TIMEOUT) from None
        raise CommandError(f"{self._name} was deleted")

    def ends(self, rollout: StoredRollout) -> bool:
        """Whether the rollout is as wanted. Raises CommandError if waiting cannot help."""
        status = rollout.status
        phase = status.get("phase", "")
        line = f"{self._name} is {phase}: {status.get('message', '')}"
        if line != self._said:
            say(line)
            self._said = line
        self._run = status.get("runID") or self._run
        if phase == "Healthy":
            self._check_outcome(rollout)
        if phase in _WANTED[self._until]:
            return True
        if phase == "Degraded":
            raise CommandError(line, FAILED)
        if phase == "Disabled" or (phase == "Paused" and not ends_by_itself(rollout)):
            raise CommandError(line, BLOCKED)
        return False

    def _check_outcome(self, rollout: StoredRollout) -> None:
        """A rollout whose new version was rolled back is healthy again, but the release has failed."""
        for run in rollout.status.get("history") or ():
            if run["runID"] == self._run and run["outcome"] == "RolledBack":
                reason = run.get("reason") or "no reason is known"
                raise CommandError(f"{self._name}: run {self._run} was rolled back: {reason}", FAILED)


async def _up_to_date(client: Client, rollout: StoredRollout) -> bool:
    """Whether the status is about the present spec and the present template of the target."""
    if not observed(rollout):
        return False
    if condition(rollout, "Stalled").get("reason") in REFUSALS:
        return True  # the controller does not follow the target
    namespace, name = rollout.target
    try:
        target = target_of(await client.get(UNITED_DEPLOYMENTS, name, StoredTarget, namespace=namespace))
    except NotFound:
        return True
    return target.observed and target.updated_revision == (rollout.status.get("updateRevision") or "")
