"""The command ``ud wait``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Kubeconfig, Names, Namespace, TextOrJson


@reports_errors
def wait(
    name: Names = None,
    namespace: Namespace = "",
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="STATE",
            help="State to wait for, such as Ready (the default) or Held. Several: any of them.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="How long to wait: 90s, 10m or 1h.")] = "10m",
    output: TextOrJson = "text",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wait until applications reach a state.

    Only a state that the controller has reported for the current spec counts. Exits with 3 on timeout.

    \b
    Examples:
      ud wait web                          # until every pod is ready at the new revision
      ud wait web --for Ready --for Held   # a canary that is held by partitions is enough
      ud wait web api --timeout 90s
    """
    from uniteddeployment.cli.arguments import application_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.wait import waiter  # noqa: PLC0415

    waiter.main(
        target(kubeconfig, context, namespace), application_names(name or ()), state or ["Ready"], timeout, output
    )
