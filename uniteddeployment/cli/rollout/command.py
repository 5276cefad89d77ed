"""The commands ``ud rollout ...``."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uniteddeployment.cli import completion
from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import (
    AllNamespaces,
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
    OptionalRolloutNames,
    ProbeHost,
    ProbePort,
    RolloutNames,
    Selector,
    Watch,
)

if TYPE_CHECKING:
    from uniteddeployment.cli.listing import Query

app = typer.Typer(help="Show and control rollouts.", no_args_is_help=True, rich_markup_mode=None)
controller = typer.Typer(help="Run the rollout controller.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(controller, name="controller")

By = Annotated[str, typer.Option(help="Who gives the command. Default: the user of this computer.", show_default=False)]
Timeout = Annotated[str, typer.Option(help="How long to wait: 90s, 10m or 1h.")]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FORMAT", help="wide, json, yaml or name. Default: for people.", show_default=False
    ),
]
Documents = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FORMAT", help="json or yaml. Default: a table.", show_default=False),
]
Run = Annotated[
    str,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Refuse if this is not the present run. Default: the present one.",
        autocompletion=completion.runs,
        show_default=False,
    ),
]
Step = Annotated[
    int | None,
    typer.Option(
        "--step",
        metavar="STEP",
        min=1,
        help="Refuse if this is not the present step. Default: the present one.",
        autocompletion=completion.steps,
        show_default=False,
    ),
]


@app.command()
@reports_errors
def get(
    name: OptionalRolloutNames = None,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    watch: Watch = False,
    output: Output = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show rollouts with their run, steps and subsets.

    \b
    Examples:
      ud rollout get web            # its steps, and what each subset waits for
      ud rollout get web -w         # keep showing changes
      ud rollout get web -o json
    """
    from uniteddeployment.cli.listing import main  # noqa: PLC0415
    from uniteddeployment.cli.rollout.listing import TREES  # noqa: PLC0415

    query = _query(name, namespace, selector, kubeconfig, context, all_namespaces=all_namespaces)
    main(TREES, query, watch=watch, output=output)


@app.command("list")
@reports_errors
def list_(
    name: OptionalRolloutNames = None,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    watch: Watch = False,
    output: Output = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List rollouts, with one row for each.

    \b
    Examples:
      ud rollout list                 # all rollouts of the namespace
      ud rollout list -A -o wide      # all namespaces, with runs and messages
      ud rollout list -l team=web -w
    """
    from uniteddeployment.cli.listing import main  # noqa: PLC0415
    from uniteddeployment.cli.rollout.listing import TABLE  # noqa: PLC0415

    query = _query(name, namespace, selector, kubeconfig, context, all_namespaces=all_namespaces)
    main(TABLE, query, watch=watch, output=output)


def _query(
    name: list[str] | None,
    namespace: str,
    selector: str,
    kubeconfig: Path | None,
    context: str | None,
    *,
    all_namespaces: bool,
) -> "Query":
    from uniteddeployment.cli.arguments import rollout_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.listing import Query  # noqa: PLC0415

    to = target(kubeconfig, context, namespace, all_namespaces=all_namespaces)
    return Query(to, rollout_names(name or ()), selector)


@app.command()
@reports_errors
def history(
    name: RolloutNames,
    namespace: Namespace = "",
    output: Documents = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the last runs of rollouts.

    \b
    Examples:
      ud rollout history web
    """
    from uniteddeployment.cli.arguments import rollout_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import history as command  # noqa: PLC0415

    command.main(target(kubeconfig, context, namespace), rollout_names(name), output)


@app.command()
@reports_errors
def plan(
    name: OptionalRolloutNames = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="File or directory with manifests, or -. Targets that it does not contain are read from the cluster.",
            show_default=False,
        ),
    ] = None,
    namespace: Namespace = "",
    output: Documents = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show how many pods of each subset every step updates.

    \b
    Examples:
      ud rollout plan web             # before anything starts
      ud rollout plan -f rollout.yaml
    """
    from uniteddeployment.cli.arguments import rollout_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import preview  # noqa: PLC0415

    preview.main(target(kubeconfig, context, namespace), rollout_names(name or ()), file or (), output)


@app.command()
@reports_errors
def lint(
    file: Annotated[
        list[str],
        typer.Option("--filename", "-f", metavar="FILE", help="File or directory with manifests, or -."),
    ],
) -> None:
    """Check the manifests of rollouts, without any cluster.

    GateTemplates are checked, too. Waves are checked if the files contain the target, and gates that refer to a
    GateTemplate if they contain it.

    \b
    Examples:
      ud rollout lint -f rollout.yaml
      ud rollout lint -f rollout.yaml -f web.yaml
    """
    from uniteddeployment.cli.rollout import files  # noqa: PLC0415

    files.lint(file)


@app.command()
@reports_errors
def status(
    name: RolloutNames,
    namespace: Namespace = "",
    until: Annotated[str, typer.Option(help="healthy, or paused (a finished rollout counts, too).")] = "healthy",
    timeout: Timeout = "10m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wait until rollouts are healthy or paused.

    Exits with 0 when they are, 1 if one is degraded or was rolled back, 3 on timeout, and 4 if one is paused instead.

    \b
    Examples:
      ud rollout status web                           # in a pipeline, after a release
      ud rollout status web --until paused --timeout 5m
    """
    from uniteddeployment.cli.arguments import rollout_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import waiting  # noqa: PLC0415

    waiting.main(target(kubeconfig, context, namespace), rollout_names(name), until, timeout)


@dataclass(frozen=True, slots=True)
class _Host:
    """The options that say where a command is given."""

    kubeconfig: Path | None
    context: str | None
    namespace: str


def _give(host: _Host, name: list[str], timeout: str, *, verb: str, by: str, run: str = "", step: int = 0) -> None:
    from uniteddeployment.cli.arguments import rollout_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.rollout import verbs  # noqa: PLC0415

    order = verbs.Order(verb, by, run, step)
    verbs.main(target(host.kubeconfig, host.context, host.namespace), rollout_names(name), order, timeout)


def _of_a_step(verb: str, purpose: str) -> None:
    """Register a verb that is about one step of a run."""

    @reports_errors
    def give(
        name: RolloutNames,
        run: Run = "",
        step: Step = None,
        namespace: Namespace = "",
        by: By = "",
        timeout: Timeout = "30s",
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        _give(_Host(kubeconfig, context, namespace), name, timeout, verb=verb, by=by, run=run, step=step or 0)

    _register(verb, purpose, give)


def _of_a_run(verb: str, purpose: str) -> None:
    """Register a verb that is about one run."""

    @reports_errors
    def give(
        name: RolloutNames,
        run: Run = "",
        namespace: Namespace = "",
        by: By = "",
        timeout: Timeout = "30s",
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        _give(_Host(kubeconfig, context, namespace), name, timeout, verb=verb, by=by, run=run)

    _register(verb, purpose, give)


def _of_a_rollout(verb: str, purpose: str) -> None:
    """Register a verb that works with and without a run."""

    @reports_errors
    def give(
        name: RolloutNames,
        namespace: Namespace = "",
        by: By = "",
        timeout: Timeout = "30s",
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        _give(_Host(kubeconfig, context, namespace), name, timeout, verb=verb, by=by)

    _register(verb, purpose, give)


def _register(verb: str, purpose: str, give: Callable[..., None]) -> None:
    give.__doc__ = (
        f"{purpose}\n\nExits with 1 if the controller refuses, and with 3 if it does not answer in time.\n\n"
        f"\b\nExamples:\n  ud rollout {verb} web\n"
    )
    app.command(verb)(give)


_of_a_step("approve", "End the pause of the present step.")
_of_a_step("skip", "Wait for nothing but the pods of this step.")
_of_a_run("promote", "Update everything without further steps.")
_of_a_rollout("pause", "Stop a rollout.")
_of_a_rollout("resume", "Continue a rollout that was paused.")
_of_a_run("retry", "Try again after a failure.")
_of_a_run("abort", "Return to the stable revision.")
_of_a_rollout("undo", "Return to the revision before the stable one.")


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
    probe_host: ProbeHost = "127.0.0.1",
    probe_port: ProbePort = None,
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
        probe_host=probe_host,
        probe_port=probe_port,
        leader_election=leader_elect,
        election_namespace=election_namespace,
        lease_seconds=lease_seconds,
    )
    serve.main(settings, kubeconfig, context, log_format, log_level)
