"""``ud embedded``: one embedded cluster in the foreground, until it is stopped."""

import asyncio
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from random import Random

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output
from uniteddeployment.cli.output.terminal import program, say
from uniteddeployment.cli.process import stopped
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
from uniteddeployment.kube.credentials import Connection, from_values

ADMIN = Identity("admin", ("system:masters",))


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of an embedded cluster."""

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
    """Whether the controllers run, which create, schedule and run pods."""
    audit_log: Path | None = None
    """File to which each request is appended, as an event of ``audit.k8s.io/v1``."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running cluster with its server."""

    cluster: Cluster
    server: RunningServer
    token: str
    audit_log: AuditLog | None = None

    @property
    def context(self) -> Context:
        return Context(self.cluster.name, self.server.url, self.server.ca, token=self.token)

    def connection(self) -> Connection:
        """The connection for its administrator."""
        return from_values(self.server.url, ca=self.server.ca, token=self.token, name=self.cluster.name)

    async def close(self) -> None:
        self.cluster.stop()
        await self.server.close()
        if self.audit_log is not None:
            self.audit_log.close()


def chosen_token(token: str, file: Path | None) -> str:
    """The token that was given, or the one in a file. Raises CommandError."""
    if file is None:
        return token
    if token:
        raise CommandError("--token (or UD_EMBEDDED_TOKEN) cannot be combined with --token-file", USAGE)
    try:
        content = file.read_text().strip()
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8 text", USAGE) from None
    if not content:
        raise CommandError(f"{file} is empty", USAGE)
    return content


async def serve(options: Options) -> Served:
    """Start a cluster and its server. Raises CommandError if a quantity, the port or the audit log cannot be used."""
    for quantity in (options.cpu, options.memory):
        try:
            parse(quantity)
        except QuantityError:
            raise CommandError(f"{quantity!r} is not a quantity, such as 8, 500m or 32Gi", USAGE) from None
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
        # The API server itself establishes CustomResourceDefinitions; a controller manager does not.
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
    """Open the file for audit events. Raises CommandError if it cannot be written."""
    if path is None:
        return None
    try:
        return AuditLog(path)
    except OSError as error:
        raise CommandError(f"--audit-log {path}: {error.strerror}", USAGE) from None


def main(options: Options, output: str) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    check_output(output, ("text", "json"))
    asyncio.run(_serve(options, output))


async def _serve(options: Options, output: str) -> None:
    stop = stopped()
    served = await serve(options)
    try:
        if options.kubeconfig is not None:
            kubeconfig.write(options.kubeconfig, [served.context])
        _announce(options, served, output)
        await stop.wait()
    finally:
        await served.close()


def _announce(options: Options, served: Served, output: str) -> None:
    """Say how to reach the cluster. A token that the user gave is not printed."""
    token = {} if options.token or options.kubeconfig is not None else {"token": served.token}
    if output == "json":
        kubeconfig_path = {"kubeconfig": str(options.kubeconfig)} if options.kubeconfig is not None else {}
        program(json.dumps({"url": served.server.url, "nodes": options.nodes, **kubeconfig_path, **token}))
        return
    say(f"serving an embedded cluster with {options.nodes} nodes on {served.server.url}")
    if options.kubeconfig is not None:
        say(f"export KUBECONFIG={options.kubeconfig}")
    elif token:
        say(f"token {served.token}")
