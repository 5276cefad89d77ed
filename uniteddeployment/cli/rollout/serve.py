"""``ud rollout controller run``: the process of the rollout controller."""

import asyncio
import signal
from dataclasses import replace
from pathlib import Path

from uniteddeployment.cli.controller.serve import LEVELS
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.controller import logs
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.credentials import Connection
from uniteddeployment_rollout.loop import run
from uniteddeployment_rollout.loop.settings import Settings, StartError


def main(settings: Settings, kubeconfig: Path | None, context: str | None, log_format: str, log_level: str) -> None:
    """Run until SIGTERM."""
    if log_format not in ("console", "json"):
        raise CommandError(f"--log-format must be console or json, not {log_format!r}", USAGE)
    if log_level not in LEVELS:
        raise CommandError(f"--log-level must be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, not {log_level!r}", USAGE)
    connection = kubeconfigs.load(kubeconfig, context)
    own = kubeconfigs.namespace(kubeconfig, context)
    logs.configure(log_format, log_level)
    try:
        # Not uvloop: it would send what is written past the guard that checks the age of the Lease.
        asyncio.run(_run(connection, replace(settings, election_namespace=settings.election_namespace or own)))
    except StartError as error:
        raise CommandError(str(error)) from None


async def _run(connection: Connection, settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run.serve(connection, settings, stop)
