"""The commands ``ud rollout ...``."""

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
    Namespace,
)

app = typer.Typer(help="Show and control rollouts.", no_args_is_help=True, rich_markup_mode=None)
controller = typer.Typer(help="Run the rollout controller.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(controller, name="controller")

Name = Annotated[str, typer.Argument(help="The UnitedRollout.")]
Names = Annotated[list[str], typer.Argument(help="The UnitedRollouts.")]
By = Annotated[str, typer.Option(help="Who gives the command. Default: the user of this computer.", show_default=False)]
Timeout = Annotated[str, typer.Option(help="How long to wait: 90s, 10m or 1h.")]


@app.command()
@reports_errors
def get(
    name: Annotated[list[str] | None, typer.Argument(help="UnitedRollouts. Default: all.", show_default=False)] = None,
    namespace: Namespace = "",
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="wide, json or yaml. Default: a table.", show_default=False)
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show rollouts, and the subsets of each run.

    \b
    Examples:
      ud rollout get                # all rollouts of the namespace
      ud rollout get web -o wide    # with messages and revisions
    """
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import show  # noqa: PLC0415

    show.main(target(kubeconfig, context, namespace, all_namespaces=all_namespaces), name or (), output)


@app.command()
@reports_errors
def history(name: Name, namespace: Namespace = "", kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Show the last runs of a rollout.

    \b
    Examples:
      ud rollout history web
    """
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import show  # noqa: PLC0415

    show.history(target(kubeconfig, context, namespace), name)


@app.command()
@reports_errors
def plan(name: Name, namespace: Namespace = "", kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Show how many pods of each subset every step updates.

    \b
    Examples:
      ud rollout plan web           # before anything starts
    """
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import preview  # noqa: PLC0415

    preview.main(target(kubeconfig, context, namespace), name)


@app.command()
@reports_errors
def lint(
    file: Annotated[list[str], typer.Option("--filename", "-f", help="File or directory with manifests, or -.")],
) -> None:
    """Check the manifests of rollouts, without any cluster.

    \b
    Examples:
      ud rollout lint -f rollout.yaml
    """
    from uniteddeployment.cli.rollout import preview  # noqa: PLC0415

    preview.lint(file)


@app.command()
@reports_errors
def status(
    name: Name,
    namespace: Namespace = "",
    until: Annotated[str, typer.Option(help="healthy, or paused (a finished rollout counts, too).")] = "healthy",
    timeout: Timeout = "10m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wait until a rollout is healthy or paused.

    Exits with 0 when it is, 1 if it is degraded, 3 on timeout, and 4 if it waits for an approval instead.

    \b
    Examples:
      ud rollout status web                           # in a pipeline, after a release
      ud rollout status web --until paused --timeout 5m
    """
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import waiting  # noqa: PLC0415

    waiting.main(target(kubeconfig, context, namespace), name, until, timeout)


def _verb(verb: str, purpose: str) -> None:
    """Register the command for a verb: all of them have the same options."""

    @reports_errors
    def give(
        name: Names,
        namespace: Namespace = "",
        by: By = "",
        timeout: Timeout = "30s",
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        from uniteddeployment.cli.connect import target  # noqa: PLC0415
        from uniteddeployment.cli.rollout import verbs  # noqa: PLC0415

        verbs.main(target(kubeconfig, context, namespace), name, verb, by, timeout)

    give.__doc__ = f"{purpose}\n\nExits with 1 if the controller refuses.\n\n\b\nExamples:\n  ud rollout {verb} web\n"
    app.command(verb)(give)


for _name, _purpose in (
    ("approve", "End the pause of the present step."),
    ("skip", "Wait for nothing but the pods of this step."),
    ("promote", "Update everything without further steps."),
    ("pause", "Stop a rollout."),
    ("resume", "Continue a rollout that was paused."),
    ("retry", "Try again after a failure."),
    ("abort", "Return to the stable revision."),
    ("undo", "Return to the revision before the stable one."),
):
    _verb(_name, _purpose)


@controller.command("run")
@reports_errors
def run(
    workers: Annotated[int, typer.Option(min=1, max=1000, help="How many rollouts are decided at a time.")] = 16,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="Only this namespace. Default: all.", show_default=False),
    ] = "",
    log_format: LogFormat = "console",
    log_level: LogLevel = "info",
    metrics_host: MetricsHost = "127.0.0.1",
    metrics_port: MetricsPort = None,
    leader_elect: LeaderElect = True,
    election_namespace: ElectionNamespace = "",
    lease_seconds: LeaseSeconds = 15.0,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Run the rollout controller until SIGTERM.

    \b
    Examples:
      ud rollout controller run
      ud rollout controller run --no-leader-elect --metrics-port 8082
    """
    from uniteddeployment.cli.rollout import serve  # noqa: PLC0415
    from uniteddeployment_rollout.loop.settings import Settings  # noqa: PLC0415

    settings = Settings(
        workers=workers,
        namespace=namespace or None,
        host=metrics_host,
        port=metrics_port,
        leader_election=leader_elect,
        election_namespace=election_namespace,
        lease_seconds=lease_seconds,
    )
    serve.main(settings, kubeconfig, context, log_format, log_level)
