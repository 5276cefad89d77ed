"""The command ``ud get``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Kubeconfig, Names, Namespace


@reports_errors
def get(
    name: Names = None,
    namespace: Namespace = "",
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List all namespaces.")] = False,
    selector: Annotated[
        str,
        typer.Option(
            "--selector",
            "-l",
            metavar="SELECTOR",
            help="Label selector, such as a=b,c!=d or 'e in (f,g)'.",
            show_default=False,
        ),
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep showing changes until Ctrl-C.")] = False,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FORMAT", help="wide, json, yaml or name. Default: a table.", show_default=False
        ),
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show applications with their subsets.

    A subset that is not as requested shows the reason below its row.

    \b
    Examples:
      ud get                   # all applications of the namespace
      ud get web api           # these two
      ud get -A -o wide        # all namespaces, with workloads and messages
      ud get web -w            # keep showing changes
      ud get web -o json
    """
    from uniteddeployment.cli.arguments import application_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.get import listing  # noqa: PLC0415

    to = target(kubeconfig, context, namespace, all_namespaces=all_namespaces)
    listing.main(listing.Query(to, application_names(name or ()), selector), watch=watch, output=output)
