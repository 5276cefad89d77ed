"""The commands ``ud history`` and ``ud undo``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Kubeconfig, Name, Namespace, TextOrJson


@reports_errors
def history(
    name: Name,
    namespace: Namespace = "",
    revision: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show the pod template of this revision.", show_default=False)
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FORMAT", help="wide, json or yaml. Default: a table.", show_default=False
        ),
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the revisions of an application.

    Each revision is shown with the ready pods that run it, per subset.

    \b
    Examples:
      ud history web
      ud history web --revision 2   # the pod template of revision 2
    """
    from uniteddeployment.cli.arguments import application_name  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.history import listing  # noqa: PLC0415

    listing.main(target(kubeconfig, context, namespace), application_name(name), revision, output)


@reports_errors
def undo(
    name: Name,
    namespace: Namespace = "",
    to_revision: Annotated[
        int, typer.Option(min=0, metavar="N", help="Revision to return to; 0 is the previous one.")
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the patch and change nothing.")] = False,
    output: TextOrJson = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Return to the pod template of an earlier revision.

    Shares and partitions stay as they are, so partitions also hold this change.

    \b
    Examples:
      ud undo web --dry-run         # show the patch
      ud undo web                   # return to the previous revision
      ud undo web --to-revision 2
    """
    from uniteddeployment.cli.arguments import application_name  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.history import undo as command  # noqa: PLC0415

    command.main(target(kubeconfig, context, namespace), application_name(name), to_revision, output, dry_run=dry_run)
