"""The command ``ud adopt``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Context, Kubeconfig, Namespace, YamlOrJson

_Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="sts/NAME or deploy/NAME. With --owner-lost: the UnitedDeployment, as NAME or ud/NAME.",
    ),
]
_Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of the UnitedDeployment to write.", show_default=False)
]
_Clusters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Cluster that runs the workload: [NAMESPACE/]NAME. You can give it several times. Default: the host.",
        show_default=False,
    ),
]
_Subset = Annotated[
    str,
    typer.Option(metavar="NAME", help="Name of the subset. Default: the name of the cluster.", show_default=False),
]
_OwnerLost = Annotated[
    bool,
    typer.Option("--owner-lost", help="Take back the workloads of a UnitedDeployment that was lost with its host."),
]
_OwnerUid = Annotated[
    str,
    typer.Option(
        metavar="UID",
        help="With --owner-lost: uid of the lost UnitedDeployment, if there are several.",
        show_default=False,
    ),
]
_Files = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE",
        help="With --owner-lost: manifest of the UnitedDeployment. Default: the object on the host.",
        show_default=False,
    ),
]
_Apply = Annotated[bool, typer.Option("--apply", help="Create or change the UnitedDeployment instead of printing it.")]


@reports_errors
def adopt(
    workload: _Workload,
    name: _Name = "",
    namespace: Namespace = "",
    cluster: _Clusters = None,
    subset: _Subset = "",
    owner_lost: _OwnerLost = False,
    owner_uid: _OwnerUid = "",
    file: _Files = None,
    output: YamlOrJson = "yaml",
    apply: _Apply = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Take over workloads without restarting their pods.

    Prints a UnitedDeployment that takes over an existing workload. With --owner-lost, prints a UnitedDeployment that
    takes its own workloads back after its host was lost and rebuilt.

    \b
    Examples:
      ud adopt sts/db --name db > db.yaml
      ud adopt deploy/web --name web --cluster member-1 --cluster member-2 --apply
      ud adopt web --owner-lost                    # show the old uid and the changed object
      ud adopt web --owner-lost -f web.yaml --apply
    """
    from uniteddeployment.cli.adopt import existing, lost_owner  # noqa: PLC0415
    from uniteddeployment.cli.connect import target  # noqa: PLC0415

    to = target(kubeconfig, context, namespace)
    if owner_lost:
        lost_owner.check_options(name=name, cluster=cluster, subset=subset)
        lost_owner.main(to, lost_owner.Request(workload, tuple(file or ()), owner_uid), output, apply=apply)
    else:
        existing.check_options(workload, name=name, owner_uid=owner_uid, file=file)
        existing.main(to, existing.Request(workload, name, tuple(cluster or ()), subset), output, apply=apply)
