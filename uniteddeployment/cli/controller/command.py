"""The command ``ud controller run``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import (
    Context,
    ElectionNamespace,
    Kubeconfig,
    LeaderElect,
    LeaseSeconds,
    LogFormat,
    LogLevel,
    MetricsHost,
    MetricsPort,
    ProbeHost,
    ProbePort,
)

app = typer.Typer(help="Run the controller.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
@reports_errors
def run(
    workers: Annotated[
        int, typer.Option(min=1, max=1000, help="How many applications are reconciled at the same time.")
    ] = 128,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="Reconcile this namespace only. Default: all.", show_default=False),
    ] = "",
    log_format: LogFormat = "console",
    log_level: LogLevel = "info",
    metrics_host: MetricsHost = "127.0.0.1",
    metrics_port: MetricsPort = None,
    probe_host: ProbeHost = "127.0.0.1",
    probe_port: ProbePort = None,
    leader_elect: LeaderElect = True,
    election_namespace: ElectionNamespace = "",
    lease_seconds: LeaseSeconds = 15.0,
    admission: Annotated[
        bool, typer.Option("--admission/--no-admission", help="Serve the admission webhooks.")
    ] = False,
    admission_host: Annotated[
        str, typer.Option(help="Address for the admission webhooks. Default: all addresses.", show_default=False)
    ] = "",
    admission_port: Annotated[int, typer.Option(help="Port for the admission webhooks.")] = 9443,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Run the controller until SIGTERM.

    It manages the cluster of the kubeconfig, or the cluster that it runs in.

    \b
    Examples:
      ud controller run                          # with the current context
      ud controller run --no-leader-elect --metrics-port 8080
    """
    from uniteddeployment.cli.controller import serve  # noqa: PLC0415
    from uniteddeployment.controller.settings import Settings  # noqa: PLC0415

    settings = Settings(
        workers=workers,
        namespace=namespace or None,
        log_format=log_format,
        log_level=log_level,
        metrics_host=metrics_host,
        metrics_port=metrics_port,
        probe_host=probe_host,
        probe_port=probe_port,
        leader_election=leader_elect,
        election_namespace=election_namespace,
        lease_seconds=lease_seconds,
        admission=admission,
        admission_host=admission_host,
        admission_port=admission_port,
    )
    serve.main(settings, kubeconfig, context)
