"""The commands ``ud clusters ...``."""

from pathlib import Path
from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors

app = typer.Typer(help="Register, show and remove members.", no_args_is_help=True, rich_markup_mode=None)

_HostNamespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Namespace of the Cluster on the host. Default: that of the host's context.",
        show_default=False,
    ),
]


@app.command()
@reports_errors
def register(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the Cluster.")],
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Kubeconfig of an administrator of the member. Default: $KUBECONFIG or ~/.kube/config.",
            show_default=False,
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            metavar="NAME",
            help="Context of the member. Default: the current one of --kubeconfig.",
            show_default=False,
        ),
    ] = None,
    namespace: _HostNamespace = "",
    labels: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE,...", help="Labels of the Cluster.", show_default=False)
    ] = None,
    allow_namespaces: Annotated[
        str,
        typer.Option(
            metavar="same|all|selector=...",
            help="Namespaces of the host whose applications may use the member. Default: only that of the Cluster.",
            show_default=False,
        ),
    ] = "",
    server: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Address at which the host reaches the member. Default: that of the kubeconfig.",
            show_default=False,
        ),
    ] = "",
    owner_lost: Annotated[bool, typer.Option("--owner-lost", help="Take over a member whose host is lost.")] = False,
    controller_account: Annotated[
        str,
        typer.Option(metavar="NAMESPACE/NAME", help="ServiceAccount of the controller on the host."),
    ] = "uniteddeployment-system/uniteddeployment",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text or json.")] = "text",
    host_kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Kubeconfig of the host. Default: $KUBECONFIG or ~/.kube/config.", show_default=False
        ),
    ] = None,
    host_context: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Context of the host. Default: the current one.", show_default=False),
    ] = None,
) -> None:
    """Register a member with the host.

    Creates an account in the member, and a Secret and a Cluster on the host. If something fails, it deletes what it
    has created. Call it again to repair a registration, or to renew its token.

    \b
    Examples:
      ud clusters register member-1 --kubeconfig member-1.yaml
      ud clusters register member-1 --context member-1 --labels region=eu,tier=prod
      ud clusters register member-1 --context member-1 --allow-namespaces selector=team=shop
    """
    from uniteddeployment.cli.clusters import inputs  # noqa: PLC0415
    from uniteddeployment.cli.clusters import register as registering  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415

    request = registering.Request(
        inputs.cluster_name(name),
        kubeconfig,
        context,
        server,
        inputs.labels(labels or (), "--labels"),
        inputs.allowed_namespaces(allow_namespaces),
        inputs.account(controller_account),
        owner_lost,
    )
    registering.main(target(host_kubeconfig, host_context, namespace), request, output)
