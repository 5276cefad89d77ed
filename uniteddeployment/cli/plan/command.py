"""The command ``ud plan``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Files, Kubeconfig, Recursive


@reports_errors
def plan(
    file: Files,
    recursive: Recursive = False,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Namespace of objects that name none. Objects of another namespace are refused.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text or json.")] = "text",
    offline: Annotated[
        bool, typer.Option("--offline", help="Contact no cluster: plan as if nothing existed yet.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Preview what the controller would do, and why.

    Nothing is written. Each step is tried as a dry run in its cluster. Exits with 4 if a part of the plan cannot be
    carried out.

    \b
    Examples:
      ud plan -f web.yaml             # against the clusters as they are now
      ud plan -f apps/ -R -o json     # all manifests below a directory
      ud plan --offline -f web.yaml   # without any cluster
      kubectl kustomize overlays/prod | ud plan -f -
    """
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.plan import preview  # noqa: PLC0415

    to = target(kubeconfig, context, namespace or ("default" if offline else ""))
    preview.main(file, to, output, required=namespace, recursive=recursive, live=not offline)
