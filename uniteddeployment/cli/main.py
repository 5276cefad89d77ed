"""The commands of ``ud``. Each imports what it needs when it is called, so that ``ud --help`` answers at once."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from uniteddeployment.cli import completion
from uniteddeployment.cli.errors import EXIT_CODES, one_line

app = typer.Typer(
    name="ud",
    help="One application over many Kubernetes clusters: its replicas and its canaries, divided pod by pod.",
    epilog=f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
controller_app = typer.Typer(help="Run the controller.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(controller_app, name="controller")

Kubeconfig = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="The kubeconfig to use; else $KUBECONFIG, ~/.kube/config, in-cluster."),
]
Context = Annotated[str | None, typer.Option("--context", help="The context of the kubeconfig to use.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace; the context's own if not given.")]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces.")]
Name = Annotated[
    str,
    typer.Argument(help="The UnitedDeployment: NAME or ud/NAME.", autocompletion=completion.applications),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Only these: NAME or ud/NAME.",
        autocompletion=completion.applications,
        show_default=False,
    ),
]
Files = Annotated[
    list[str],
    typer.Option(
        "--filename",
        "-f",
        help="A manifest, or a folder with manifests; - for standard input. May be given several times.",
    ),
]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Also the folders in the folders of --filename.")]


@app.callback()
def ud(
    version: Annotated[
        bool, typer.Option("--version", callback=completion.version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """One application over many Kubernetes clusters: its replicas and its canaries, divided pod by pod."""


@app.command(short_help="Run the main job on embedded clusters.")
@one_line
def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="What to print: text, or json for programs.")] = "text",
    keep: Annotated[Path | None, typer.Option(help="Keep kubeconfigs and logs in this folder.")] = None,
) -> None:
    """Run the main job on embedded clusters: one application over three members, a canary, a finished rollout."""
    from uniteddeployment.cli import demo as command  # noqa: PLC0415

    command.main(output, keep)


@app.command(short_help="Start a fleet of embedded clusters to play with.")
@one_line
def playground(
    members: Annotated[int, typer.Option(min=1, max=20, help="How many member clusters.")] = 3,
    folder: Annotated[Path | None, typer.Option("--dir", help="Where to put the kubeconfig.")] = None,
) -> None:
    """Start a host and member clusters with the controller, and keep them until Ctrl-C."""
    from uniteddeployment.cli import playground as command  # noqa: PLC0415

    command.main(members, folder)


@app.command(short_help="Serve one embedded cluster, a test bed.")
@one_line
def embedded(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on loopback; 0 for a free one.")] = 0,
    token: Annotated[
        str,
        typer.Option(
            envvar="UD_EMBEDDED_TOKEN",
            help="The bearer token of the administrator; made up if not given. Other users can see it in the list of "
            "processes: prefer --token-file or the environment variable.",
            show_default=False,
        ),
    ] = "",
    token_file: Annotated[Path | None, typer.Option(help="Read the token from this file.")] = None,
    nodes: Annotated[int, typer.Option(min=0, max=5000, help="How many nodes.")] = 3,
    zones: Annotated[str, typer.Option(help="Zones, separated by commas; nodes are spread over them.")] = "z1,z2,z3",
    cpu: Annotated[str, typer.Option(help="CPUs of each node.")] = "8",
    memory: Annotated[str, typer.Option(help="Memory of each node.")] = "32Gi",
    kubeconfig: Annotated[Path | None, typer.Option(help="Write a kubeconfig to this file.")] = None,
    ready_after: Annotated[float, typer.Option(min=0, help="Seconds until a pod is ready.")] = 0.0,
    controllers: Annotated[bool, typer.Option(help="Without them objects are only stored: no pods, no status.")] = True,
    audit_log: Annotated[Path | None, typer.Option(help="Append an audit event for each request to this file.")] = None,
) -> None:
    """Serve one embedded cluster in the foreground: a test bed, not a place to run applications."""
    from uniteddeployment.cli import embedded as command  # noqa: PLC0415

    options = command.Options(
        port,
        command.chosen_token(token, token_file),
        nodes,
        tuple(zones.split(",")),
        cpu,
        memory,
        kubeconfig,
        ready_after=ready_after,
        controllers=controllers,
        audit_log=audit_log,
    )
    command.main(options)


@app.command(short_help="Print the CustomResourceDefinitions as YAML.")
@one_line
def crds() -> None:
    """Print the CustomResourceDefinitions as YAML."""
    from uniteddeployment.cli.terminal import program  # noqa: PLC0415
    from uniteddeployment_api.crd import to_yaml  # noqa: PLC0415

    program(to_yaml())


@app.command(short_help="Print the roles that the controller needs.")
@one_line
def rbac(where: Annotated[str, typer.Argument(help="host or member.")]) -> None:
    """Print the roles that the controller needs, as YAML."""
    from uniteddeployment.cli import rbac as command  # noqa: PLC0415
    from uniteddeployment.cli.terminal import program  # noqa: PLC0415

    program(command.main(where))


@app.command(short_help="Show applications with their subsets.")
@one_line
def get(
    name: Names = None,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    selector: Annotated[
        str, typer.Option("--selector", "-l", help="Only those with these labels: a=b,c!=d,e in (f,g).")
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing changes.")] = False,
    output: Annotated[str, typer.Option("--output", "-o", help="wide, json, yaml or name.")] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show applications with their subsets, as they are in the clusters."""
    from uniteddeployment.cli import get as command  # noqa: PLC0415
    from uniteddeployment.cli import where  # noqa: PLC0415

    names = where.applications(name or ())
    place = where.everywhere if all_namespaces else where.located
    query = command.Query(place(kubeconfig, context, namespace), names, selector)
    command.main(query, watch=watch, output=output)


@app.command(short_help="Wait until applications are in a state.")
@one_line
def wait(
    name: Names = None,
    namespace: Namespace = "",
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--for", help="The state to wait for: Ready if not given. Several: any of them.", show_default=False
        ),
    ] = None,
    timeout: Annotated[str, typer.Option(help="How long: 90s, 10m or 1h.")] = "10m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wait until applications are in a state, as the controller has seen their present spec."""
    from uniteddeployment.cli import wait as command  # noqa: PLC0415
    from uniteddeployment.cli import where  # noqa: PLC0415

    names = where.applications(name or ())
    command.main(where.located(kubeconfig, context, namespace), names, state or ["Ready"], timeout)


@app.command(short_help="Say what would be done and why, and do nothing.")
@one_line
def plan(
    file: Files,
    recursive: Recursive = False,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="The namespace of what names none; what names another one is refused."),
    ] = "",
    output: Annotated[str, typer.Option("--output", "-o", help="text or json.")] = "text",
    offline: Annotated[bool, typer.Option("--offline", help="Ask no cluster: plan as if nothing existed yet.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say what would be done to which cluster and why, and do nothing.

    Exits with 4 when a part of the plan cannot be carried out.
    """
    from uniteddeployment.cli import plan as command  # noqa: PLC0415
    from uniteddeployment.cli import where  # noqa: PLC0415

    if offline:
        place = where.Where(kubeconfig, context, where.checked_namespace(namespace) or "default")
    else:
        place = where.located(kubeconfig, context, namespace)
    command.main(file, place, output, named=namespace, recursive=recursive, live=not offline)


@app.command(short_help="Show the revisions of an application.")
@one_line
def history(
    name: Name,
    namespace: Namespace = "",
    revision: Annotated[int | None, typer.Option(min=1, help="Show the pod template of this revision.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="wide, json or yaml.")] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the revisions of an application, and who runs which of them."""
    from uniteddeployment.cli import history as command  # noqa: PLC0415
    from uniteddeployment.cli import where  # noqa: PLC0415

    found = where.application(name)
    command.main(where.located(kubeconfig, context, namespace), found, revision, output)


@app.command(short_help="Put the pod template of an earlier revision back.")
@one_line
def undo(
    name: Name,
    namespace: Namespace = "",
    to_revision: Annotated[int, typer.Option(min=0, help="The revision to go back to; 0 for the one before.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be changed.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Put the pod template of an earlier revision back."""
    from uniteddeployment.cli import undo as command  # noqa: PLC0415
    from uniteddeployment.cli import where  # noqa: PLC0415

    found = where.application(name)
    command.main(where.located(kubeconfig, context, namespace), found, to_revision, dry_run=dry_run)


@app.command(short_help="Write a UnitedDeployment for what runs already.")
@one_line
def adopt(
    workload: Annotated[str, typer.Argument(help="What to take over: sts/NAME or deploy/NAME.")],
    name: Annotated[str, typer.Option("--name", help="The UnitedDeployment to write.")],
    namespace: Namespace = "",
    cluster: Annotated[
        list[str] | None,
        typer.Option(help="The Cluster that runs it ([NAMESPACE/]NAME), or several; the host itself if not given."),
    ] = None,
    subset: Annotated[str, typer.Option(help="The name of the subset; the cluster's if not given.")] = "",
    output: Annotated[str, typer.Option("--output", "-o", help="yaml or json.")] = "yaml",
    apply: Annotated[bool, typer.Option("--apply", help="Create the UnitedDeployment instead of printing it.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Write a UnitedDeployment that takes over an existing workload without restarting a pod."""
    from uniteddeployment.cli import adopt as command  # noqa: PLC0415
    from uniteddeployment.cli.where import located  # noqa: PLC0415

    request = command.Request(workload, name, tuple(cluster or ()), subset)
    command.main(located(kubeconfig, context, namespace), request, output, apply=apply)


@app.command(short_help="Turn OpenKruise's UnitedDeployments into ours.")
@one_line
def convert(
    file: Files,
    recursive: Recursive = False,
    output: Annotated[str, typer.Option("--output", "-o", help="yaml or json.")] = "yaml",
) -> None:
    """Turn OpenKruise UnitedDeployments into ours; what differs is told on standard error."""
    from uniteddeployment.cli import convert as command  # noqa: PLC0415

    command.main(file, output, recursive=recursive)


@controller_app.command("run")
@one_line
def controller_run(
    workers: Annotated[int, typer.Option(min=1, max=1000, help="How many applications are worked on at once.")] = 128,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Only this namespace; all of them if not given.")
    ] = "",
    log_format: Annotated[str, typer.Option(help="console or json.")] = "console",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    metrics_host: Annotated[str, typer.Option(help="The address for metrics and probes.")] = "127.0.0.1",
    metrics_port: Annotated[
        int | None, typer.Option(help="Serve /metrics, /healthz and /readyz here; 0 for a free port.")
    ] = None,
    probe_host: Annotated[str, typer.Option(help="The address for probes alone.")] = "127.0.0.1",
    probe_port: Annotated[
        int | None, typer.Option(help="Serve /healthz and /readyz here, without metrics; 0 for a free port.")
    ] = None,
    leader_elect: Annotated[bool, typer.Option(help="Work only while holding the Lease.")] = True,
    election_namespace: Annotated[
        str, typer.Option(help="The namespace of the Lease; the pod's own, or the context's, if not given.")
    ] = "",
    lease_seconds: Annotated[
        float, typer.Option(min=3, help="How long a leader that died keeps the others waiting.")
    ] = 15.0,
    admission: Annotated[
        bool, typer.Option("--admission/--no-admission", help="Serve the admission webhooks.")
    ] = False,
    admission_host: Annotated[
        str, typer.Option(help="The address for the admission webhooks; all addresses if not given.")
    ] = "",
    admission_port: Annotated[int, typer.Option(help="The port of the admission webhooks.")] = 9443,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Run the controller against the cluster of a kubeconfig, or the one that it runs in, until SIGTERM."""
    from uniteddeployment.cli import controller as command  # noqa: PLC0415
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
    command.main(settings, kubeconfig, context)


@app.command("completion", short_help="Print a script for completion in a shell.")
@one_line
def completion_script(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=completion.shells)],
) -> None:
    """Print a script that completes commands, options and names in a shell.

    source <(ud completion bash)
    """
    completion.script(app, shell)


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    completion.run(app)
