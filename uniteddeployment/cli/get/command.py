"""The command ``ud get``."""

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Names,
    Namespace,
    Selector,
    TableOutput,
    Watch,
)


@reports_errors
def get(
    name: Names = None,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    watch: Watch = False,
    output: TableOutput = "",
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
    from uniteddeployment.cli.get.listing import APPLICATIONS  # noqa: PLC0415
    from uniteddeployment.cli.listing import Query, main  # noqa: PLC0415

    to = target(kubeconfig, context, namespace, all_namespaces=all_namespaces)
    main(APPLICATIONS, Query(to, application_names(name or ()), selector), watch=watch, output=output)
