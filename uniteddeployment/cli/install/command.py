"""The commands ``ud crds`` and ``ud rbac``."""

from typing import Annotated

import typer

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import YamlOrJson


@reports_errors
def crds(
    output: YamlOrJson = "yaml",
) -> None:
    """Print the CustomResourceDefinitions.

    \b
    Example:
      ud crds | kubectl apply --server-side -f -
    """
    from uniteddeployment.cli.install import crds as command  # noqa: PLC0415

    command.main(output)


@reports_errors
def rbac(
    where: Annotated[str, typer.Argument(metavar="host|member", help="For the host or for members.")],
    impersonate: Annotated[
        str | None, typer.Option(metavar="NAME", help="ServiceAccount of spec.impersonate of a Cluster.")
    ] = None,
    output: YamlOrJson = "yaml",
) -> None:
    """Print the roles that the controller needs.

    As YAML, each rule has a comment with its reason.

    \b
    Examples:
      ud rbac host
      ud rbac member | kubectl apply --context member-1 -f -
    """
    from uniteddeployment.cli.install import rbac as command  # noqa: PLC0415

    command.main(where, impersonate, output)
