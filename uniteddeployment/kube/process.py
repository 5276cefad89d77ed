"""What every controller process has: a name, an elector, and an orderly end."""

import asyncio
import contextlib
import secrets
import socket
from typing import Protocol

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.clock import since_boot
from uniteddeployment.kube.election import Elector


class StartError(Exception):
    """The process cannot start. The message says why and what to do, in one line."""


class Stoppable(Protocol):
    """Work that can be asked to finish."""

    def stop(self) -> None:
        """Make the work finish what is in progress, and end."""


def identity() -> str:
    """Return a unique name for this process. Host names and process ids are not unique among containers."""
    return f"{socket.gethostname()}_{secrets.token_hex(8)}"


def elector(client: Client, namespace: str, lease: str, name: str, seconds: float) -> Elector:
    """Return the elector of a process, for a Lease of this duration."""
    return Elector(
        client,
        namespace,
        lease,
        name,
        lease_duration=seconds,
        renew_deadline=seconds * 2 / 3,
        retry_period=seconds * 2 / 15,
        clock=since_boot,
    )


async def until(
    stop: asyncio.Event, work: asyncio.Task[None], controller: Stoppable, candidate: Elector | None
) -> None:
    """Wait for the stop or for the work to fail; then finish the work in progress.

    A leader keeps its Lease until that is done, so that no other process begins before (I1).
    """
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((stopping, work), return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and (candidate is None or candidate.is_leader):
            controller.stop()
            await work
    finally:
        stopping.cancel()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
