"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from uniteddeployment.cli import completion

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the service account of the pod.",
        show_default=False,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context", metavar="NAME", help="Context of the kubeconfig. Default: the current one.", show_default=False
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", metavar="NAMESPACE", help="Namespace. Default: that of the context.", show_default=False
    ),
]
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The UnitedDeployment: NAME or ud/NAME.", autocompletion=completion.applications
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="UnitedDeployments: NAME or ud/NAME.",
        autocompletion=completion.applications,
        show_default=False,
    ),
]
RolloutNames = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME", help="UnitedRollouts: NAME or uro/NAME.", autocompletion=completion.rollouts, show_default=False
    ),
]
OptionalRolloutNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="UnitedRollouts: NAME or uro/NAME. Default: all.",
        autocompletion=completion.rollouts,
        show_default=False,
    ),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="List all namespaces.")]
Selector = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Label selector, such as a=b,c!=d or 'e in (f,g)'.",
        show_default=False,
    ),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Keep showing changes until Ctrl-C.")]
TextOrJson = Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text or json.")]
YamlOrJson = Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="yaml or json.")]
TableOutput = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FORMAT", help="wide, json, yaml or name. Default: a table.", show_default=False
    ),
]
Files = Annotated[
    list[str],
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE",
        help="File or directory with manifests, or - for standard input. You can give it several times.",
    ),
]
OptionalFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE",
        help="File or directory with manifests, or - for standard input. You can give it several times.",
        show_default=False,
    ),
]
Recursive = Annotated[
    bool, typer.Option("--recursive", "-R", help="Read the subdirectories of directories given with -f, too.")
]

LogFormat = Annotated[str, typer.Option(help="console or json.")]
LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error.")]
MetricsHost = Annotated[str, typer.Option(help="Address for metrics and probes.")]
MetricsPort = Annotated[
    int | None,
    typer.Option(help="Serve /metrics, /healthz and /readyz on this port; 0 for a free one.", show_default=False),
]
ProbeHost = Annotated[str, typer.Option(help="Address for probes without metrics.")]
ProbePort = Annotated[
    int | None,
    typer.Option(help="Serve /healthz and /readyz on this port; 0 for a free one.", show_default=False),
]
LeaderElect = Annotated[bool, typer.Option(help="Work only while this process holds the Lease.")]
ElectionNamespace = Annotated[
    str, typer.Option(help="Namespace of the Lease. Default: that of the pod or of the context.", show_default=False)
]
LeaseSeconds = Annotated[
    float, typer.Option(min=3, help="Duration of the Lease: how long a dead leader delays the next one.")
]
