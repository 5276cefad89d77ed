"""``ud embedded``: one embedded cluster in the foreground."""

import asyncio
import secrets
import signal
from dataclasses import dataclass
from pathlib import Path
from random import Random

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.terminal import say
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.apimachinery.quantity import QuantityError, parse
from uniteddeployment.embedded.auth.audit import AuditLog
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.kubeconfig import Context
from uniteddeployment.embedded.serving import server
from uniteddeployment.embedded.serving.server import RunningServer

ADMIN = Identity("admin", ("system:masters",))


@dataclass(frozen=True, slots=True)
class Options:
    """What a cluster is to be."""

    port: int = 0
    token: str = ""
    nodes: int = 3
    zones: tuple[str, ...] = ("z1", "z2", "z3")
    cpu: str = "8"
    memory: str = "32Gi"
    kubeconfig: Path | None = None
    name: str = "embedded"
    ready_after: float = 0.0
    """Seconds until a pod is ready."""
    controllers: bool = True
    """Whether anything happens to what is stored: pods made, scheduled and run."""
    audit_log: Path | None = None
    """Each request is appended to this file, as an event of ``audit.k8s.io/v1``."""


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster that runs and can be reached."""

    cluster: Cluster
    server: RunningServer
    token: str
    audit_log: AuditLog | None = None

    @property
    def context(self) -> Context:
        return Context(self.cluster.name, self.server.url, self.server.ca, token=self.token)

    async def close(self) -> None:
        self.cluster.stop()
        await self.server.close()
        if self.audit_log is not None:
            self.audit_log.close()


def chosen_token(token: str, file: Path | None) -> str:
    """The token that was given, or that is in a file. Raises CommandError."""
    if file is None:
        return token
    if token:
        raise CommandError("--token (or UD_EMBEDDED_TOKEN) and --token-file do not go together", USAGE)
    try:
        found = file.read_text().strip()
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not text", USAGE) from None
    if not found:
        raise CommandError(f"{file} is empty", USAGE)
    return found


async def serve(options: Options) -> Served:
    """Start a cluster and its server. Raises CommandError when that cannot be."""
    for quantity in (options.cpu, options.memory):
        try:
            parse(quantity)
        except QuantityError:
            raise CommandError(f"{quantity!r} is not a quantity such as 8, 500m or 32Gi", USAGE) from None
    audit_log = _audit_log(options.audit_log)
    token = options.token or secrets.token_urlsafe(24)
    cluster = Cluster(
        options.name,
        clock=LoopClock(asyncio.get_running_loop()),
        random=Random(),  # noqa: S311  # names of pods and nodes, no secrets
        nodes=options.nodes,
        zones=options.zones,
        cpu=options.cpu,
        memory=options.memory,
        ready_after=options.ready_after,
        tokens={token: ADMIN},
        # Establishing definitions is the API server's own work, not that of a controller manager.
        controllers=True if options.controllers else (LifecycleController,),
    )
    if audit_log is not None:
        cluster.audit.append(audit_log)
    try:
        running = await server.start(cluster, port=options.port)
    except OSError as error:
        raise CommandError(f"port {options.port} cannot be used: {error.strerror}; choose another --port") from None
    cluster.start()
    return Served(cluster, running, token, audit_log)


def _audit_log(path: Path | None) -> AuditLog | None:
    """Open the file for audit events. Raises CommandError when it cannot be written."""
    if path is None:
        return None
    try:
        return AuditLog(path)
    except OSError as error:
        raise CommandError(f"--audit-log {path}: {error.strerror}", USAGE) from None


def main(options: Options) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    stop = stopped()
    served = await serve(options)
    try:
        if options.kubeconfig is not None:
            kubeconfig.write(options.kubeconfig, [served.context])
        say(f"serving an embedded cluster with {options.nodes} nodes on {served.server.url}")
        if options.kubeconfig is not None:
            say(f"export KUBECONFIG={options.kubeconfig}")
        elif not options.token:
            say(f"token {served.token}")
        await stop.wait()
    finally:
        await served.close()


def stopped() -> asyncio.Event:
    """Is set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
