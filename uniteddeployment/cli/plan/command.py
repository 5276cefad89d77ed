"""The command ``ud plan``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Kubeconfig, Names, OptionalFiles, Recursive, TextOrJson

_Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLUSTER",
        help="Plan as if this cluster, [NAMESPACE/]NAME, were lost for longer than the grace period. You can give "
        "it several times.",
        show_default=False,
    ),
]
_Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Namespace of objects that name none. Objects of another namespace are refused.",
        show_default=False,
    ),
]
_Offline = Annotated[bool, typer.Option("--offline", help="Contact no cluster: plan as if nothing existed yet.")]


@reports_errors
def plan(
    name: Names = None,
    file: OptionalFiles = None,
    without: _Without = None,
    recursive: Recursive = False,
    namespace: _Namespace = "",
    output: TextOrJson = "text",
    offline: _Offline = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Preview what the controller would do, and why.

    For manifests with -f; or for applications of the host, by default for all of the namespace.

    Nothing is written. Each step is tried as a dry run in its cluster. Exits with 4 if a part of the plan cannot be
    carried out.

    \b
    Examples:
      ud plan -f web.yaml             # against the clusters as they are now
      ud plan -f apps/ -R -o json     # all manifests below a directory
      ud plan --offline -f web.yaml   # without any cluster
      ud plan web --without member-2  # after the loss of a member
      kubectl kustomize overlays/prod | ud plan -f -
    """
    from uniteddeployment.cli.arguments import application_names  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415
    from uniteddeployment.cli.errors import USAGE, CommandError  # noqa: PLC0415
    from uniteddeployment.cli.plan import preview  # noqa: PLC0415

    lost = without or ()
    if offline and lost:
        raise CommandError("--without needs the present state, and cannot be combined with --offline", USAGE)
    if file and name:
        raise CommandError("give names of applications or -f, not both", USAGE)
    if not file:
        if offline or not (name or lost):
            raise CommandError("give -f FILE, names of applications, or --without CLUSTER", USAGE)
        preview.stored(target(kubeconfig, context, namespace), application_names(name or ()), lost, output)
        return
    to = target(kubeconfig, context, namespace or ("default" if offline else ""))
    preview.main(file, to, output, required=namespace, recursive=recursive, live=not offline, lost=lost)
