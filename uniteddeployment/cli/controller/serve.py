"""``ud controller run``: the process of the controller."""

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from uniteddeployment.cli.process import configure_logs
from uniteddeployment.controller import run
from uniteddeployment.controller.settings import Settings
from uniteddeployment.kube import kubeconfig as kubeconfigs


def main(settings: Settings, kubeconfig: Path | None, context: str | None) -> None:
    """Run until SIGTERM."""
    configure_logs(settings.log_format, settings.log_level)
    connection = kubeconfigs.load(kubeconfig, context)
    own = kubeconfigs.namespace(kubeconfig, context)
    settings = replace(settings, election_namespace=settings.election_namespace or own, admission_namespace=own)
    with asyncio.Runner(loop_factory=_loop_factory(settings)) as runner:
        runner.run(run.run(connection, settings))


def _loop_factory(settings: Settings) -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop if it is installed and there is no leader election: it saves some CPU on busy watches.

    uvloop sends data at the end of a loop iteration, after the guard that checks the age of the Lease. A leader that is
    frozen in between would send the data when it resumes.
    """
    if settings.leader_election:
        return asyncio.new_event_loop
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return asyncio.new_event_loop
    return factory
