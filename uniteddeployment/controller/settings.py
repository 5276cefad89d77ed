"""The settings of a controller process."""

from dataclasses import dataclass

LEASE = "uniteddeployment-controller"
"""The Lease that the leader holds."""
WEBHOOK = "uniteddeployment-webhook"
"""The webhooks' Service, and the Secret with its certificate."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of ``ud controller run``."""

    workers: int = 128
    namespace: str | None = None
    """The only namespace to work in; all namespaces if None."""
    log_format: str = "console"
    log_level: str = "info"
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    """Where /metrics, /healthz and /readyz are served; nowhere if None, on a free port if 0."""
    probe_host: str = "127.0.0.1"
    probe_port: int | None = None
    """Where /healthz and /readyz are served without the metrics."""
    leader_election: bool = True
    election_namespace: str = "default"
    """The namespace of the Lease."""
    lease_seconds: float = 15.0
    """The duration of the Lease. A holder that cannot renew it gives up after two thirds of it."""
    admission: bool = False
    """Whether to serve the admission webhooks."""
    admission_host: str = ""
    """All addresses if empty, since API servers may call from anywhere."""
    admission_port: int = 9443
    admission_namespace: str = "uniteddeployment-system"
    """The namespace of the webhooks' Service and of the Secret with their certificate."""
