"""The commands ``ud demo``, ``ud playground`` and ``ud embedded``."""

from pathlib import Path
from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import TextOrJson


@reports_errors
def demo(
    output: TextOrJson = "text",
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for the kubeconfig. Default: a temporary one.", show_default=False),
    ] = None,
) -> None:
    """Watch canary rollouts on embedded clusters.

    The demo creates one application over three members, updates one half of the pods, and then the other half. After
    that, a rollout does the same on its own: with a pause, a gate and an approval.

    \b
    Example:
      ud demo
    """
    from uniteddeployment.cli.demo import run  # noqa: PLC0415

    run.main(output, keep)


@reports_errors
def playground(
    members: Annotated[int, typer.Option(min=1, max=20, help="Number of member clusters.")] = 3,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="Directory for the kubeconfig. Default: a temporary one.", show_default=False
        ),
    ] = None,
    output: TextOrJson = "text",
) -> None:
    """Run a host and member clusters to try things out.

    The clusters and the controller run until Ctrl-C. The command prints what you can try, once everything is ready.

    \b
    Examples:
      ud playground
      ud playground --members 5 --dir /tmp/fleet
    """
    from uniteddeployment.cli.demo import playground as command  # noqa: PLC0415

    command.main(members, folder, output)


@reports_errors
def embedded(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 for a free one.")] = 0,
    token: Annotated[
        str,
        typer.Option(
            envvar="UD_EMBEDDED_TOKEN",
            metavar="TOKEN",
            help="Bearer token of the administrator. Default: a random one. Other users of the machine can see options "
            "in the list of processes: prefer --token-file or the environment variable.",
            show_default=False,
        ),
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the token from this file.", show_default=False)
    ] = None,
    nodes: Annotated[int, typer.Option(min=0, max=5000, help="Number of nodes.")] = 3,
    zones: Annotated[str, typer.Option(help="Zones, separated by commas. Nodes are spread over them.")] = "z1,z2,z3",
    cpu: Annotated[str, typer.Option(help="CPU of each node.")] = "8",
    memory: Annotated[str, typer.Option(help="Memory of each node.")] = "32Gi",
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a kubeconfig to this file.", show_default=False)
    ] = None,
    ready_after: Annotated[float, typer.Option(min=0, help="Seconds until a pod is ready.")] = 0.0,
    controllers: Annotated[
        bool, typer.Option(help="Run the cluster's controllers. Without them objects are only stored.")
    ] = True,
    audit_log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append an audit event for each request to this file.", show_default=False),
    ] = None,
    output: TextOrJson = "text",
) -> None:
    """Run one embedded cluster for tests.

    It speaks the Kubernetes API but runs no containers: pods become ready after a while.

    \b
    Examples:
      ud embedded --kubeconfig /tmp/kubeconfig
      ud embedded --nodes 10 --zones a,b --port 6443
    """
    from uniteddeployment.cli.demo import embedded as command  # noqa: PLC0415

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
    command.main(options, output)
