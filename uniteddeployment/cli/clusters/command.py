"""The commands ``ud clusters ...``."""

from pathlib import Path
from typing import Annotated

import typer

from uniteddeployment.cli import completion
from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Selector,
    TableOutput,
    TextOrJson,
    Watch,
)

app = typer.Typer(help="Register, show and remove members.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The Cluster: NAME or udc/NAME.", autocompletion=completion.clusters)
]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="Clusters: NAME or udc/NAME.", autocompletion=completion.clusters),
]
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
_NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the Cluster.")]
_MemberKubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of an administrator of the member. Default: $KUBECONFIG or ~/.kube/config.",
        show_default=False,
    ),
]
_MemberContext = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the member. Default: the current one of --kubeconfig.",
        show_default=False,
    ),
]
_Labels = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE,...", help="Labels of the Cluster.", show_default=False)
]
_AllowNamespaces = Annotated[
    str,
    typer.Option(
        metavar="same|all|selector=...",
        help="Namespaces of the host whose applications may use the member. Default: only that of the Cluster.",
        show_default=False,
    ),
]
_Server = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Address at which the host reaches the member. Default: that of the kubeconfig.",
        show_default=False,
    ),
]
_OwnerLost = Annotated[bool, typer.Option("--owner-lost", help="Take over a member whose host is lost.")]
_ControllerAccount = Annotated[
    str, typer.Option(metavar="NAMESPACE/NAME", help="ServiceAccount of the controller on the host.")
]
_HostKubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Kubeconfig of the host. Default: $KUBECONFIG or ~/.kube/config.", show_default=False
    ),
]
_HostContext = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Context of the host. Default: the current one.", show_default=False),
]


@app.command()
@reports_errors
def register(
    name: _NewName,
    kubeconfig: _MemberKubeconfig = None,
    context: _MemberContext = None,
    namespace: _HostNamespace = "",
    labels: _Labels = None,
    allow_namespaces: _AllowNamespaces = "",
    server: _Server = "",
    owner_lost: _OwnerLost = False,
    controller_account: _ControllerAccount = "uniteddeployment-system/uniteddeployment",
    output: TextOrJson = "text",
    host_kubeconfig: _HostKubeconfig = None,
    host_context: _HostContext = None,
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
        inputs.new_name(name),
        kubeconfig,
        context,
        server,
        inputs.labels(labels or (), "--labels"),
        inputs.allowed_namespaces(allow_namespaces),
        inputs.account(controller_account),
        owner_lost,
    )
    registering.main(target(host_kubeconfig, host_context, namespace), request, output)


@app.command("list")
@reports_errors
def list_(
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    watch: Watch = False,
    output: TableOutput = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the members and their state.

    \b
    Examples:
      ud clusters list
      ud clusters list -A -o wide      # with addresses, labels and taints
      ud clusters list -l region=eu -w
    """
    from uniteddeployment.cli.clusters.listing import MEMBERS  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.listing import Query, main  # noqa: PLC0415

    to = target(kubeconfig, context, namespace, all_namespaces=all_namespaces)
    main(MEMBERS, Query(to, selector=selector), watch=watch, output=output)


@app.command()
@reports_errors
def describe(
    name: Name,
    namespace: Namespace = "",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text, json or yaml.")] = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show one member with its capacity and applications.

    \b
    Examples:
      ud clusters describe member-1
    """
    from uniteddeployment.cli.arguments import CLUSTER, object_name  # noqa: PLC0415
    from uniteddeployment.cli.clusters import listing  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415

    listing.describe(target(kubeconfig, context, namespace), object_name(name, CLUSTER), output)


def _change(verb: str, purpose: str, done: str, comment: str) -> None:
    """Register the command for a change of the spec: all of them have the same options."""

    @reports_errors
    def change(name: Names, namespace: Namespace = "", kubeconfig: Kubeconfig = None, context: Context = None) -> None:
        from uniteddeployment.cli.arguments import CLUSTER, object_name  # noqa: PLC0415
        from uniteddeployment.cli.clusters import changes  # noqa: PLC0415
        from uniteddeployment.cli.connect import target  # noqa: PLC0415

        texts = list(dict.fromkeys(object_name(text, CLUSTER) for text in name))
        changes.main(target(kubeconfig, context, namespace), texts, getattr(changes, verb), done)

    change.__doc__ = f"{purpose}\n\n{comment}\n\n\b\nExamples:\n  ud clusters {verb} member-1\n"
    app.command(verb)(change)


for _arguments in (
    ("cordon", "Place no new replicas on members.", "cordoned", "What runs there stays."),
    ("uncordon", "Place replicas on members again.", "uncordoned", "Also ends a drain."),
    (
        "suspend",
        "Disconnect the controller from members.",
        "suspended",
        "What runs there goes on, and nothing is changed there until the member is resumed.",
    ),
    ("resume", "Connect the controller to members again.", "resumed", "Ends a suspension."),
):
    _change(*_arguments)


_Timeout = Annotated[str, typer.Option(metavar="DURATION", help="How long to wait: 90s, 10m or 1h.")]


@app.command()
@reports_errors
def drain(
    name: Name,
    namespace: Namespace = "",
    timeout: _Timeout = "30m",
    output: TextOrJson = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Move all applications away from a member.

    Cordons the member. Each application moves within its availability budget, after its replacements are ready. After
    Ctrl-C or a timeout the drain goes on; call it again to follow it, or 'ud clusters uncordon' to end it. Exits with
    3 on timeout, and with 4 if nothing moves for what is left.

    \b
    Examples:
      ud clusters drain member-1
      ud clusters drain member-1 --timeout 2h
    """
    from uniteddeployment.cli.arguments import CLUSTER, object_name  # noqa: PLC0415
    from uniteddeployment.cli.clusters import drain as draining  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415

    draining.main(target(kubeconfig, context, namespace), object_name(name, CLUSTER), timeout, output)


@app.command()
@reports_errors
def deregister(
    name: Name,
    namespace: Namespace = "",
    timeout: _Timeout = "30m",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Forget a lost member. Connects to nothing and drains nothing.")
    ] = False,
    member_kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Kubeconfig of an administrator of the member, who can also delete the namespace "
            "uniteddeployment-system. Default: the credentials that the host has.",
            show_default=False,
        ),
    ] = None,
    member_context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Context of the member in its kubeconfig.", show_default=False)
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Drain a member, and remove it from the fleet.

    Deletes the Cluster and its Secret on the host, and the account and its role in the member. Exits with 3 on timeout,
    and with 4 if applications cannot move away.

    \b
    Examples:
      ud clusters deregister member-1
      ud clusters deregister member-1 --member-context member-1
      ud clusters deregister member-1 --abandon      # it is lost
    """
    from uniteddeployment.cli.arguments import CLUSTER, object_name  # noqa: PLC0415
    from uniteddeployment.cli.clusters import deregister as deregistering  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415

    request = deregistering.Request(object_name(name, CLUSTER), timeout, abandon, member_kubeconfig, member_context)
    deregistering.main(target(kubeconfig, context, namespace), request)
