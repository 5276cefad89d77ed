"""``ud rollout controller run``: the process of the rollout controller."""

import asyncio
from dataclasses import replace
from pathlib import Path

from uniteddeployment.cli.process import configure_logs, stopped
from uniteddeployment.fleet.access import MemberAccess
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.credentials import Connection
from uniteddeployment_rollout.loop import run
from uniteddeployment_rollout.loop.settings import Settings


def main(settings: Settings, kubeconfig: Path | None, context: str | None, log_format: str, log_level: str) -> None:
    """Run until SIGTERM."""
    configure_logs(log_format, log_level)
    connection = kubeconfigs.load(kubeconfig, context)
    own = kubeconfigs.namespace(kubeconfig, context)
    # Not uvloop: it would send what is written past the guard that checks the age of the Lease.
    asyncio.run(_run(connection, replace(settings, election_namespace=settings.election_namespace or own)))


async def _run(connection: Connection, settings: Settings) -> None:
    await run.serve(connection, settings, stopped(), MemberAccess)
