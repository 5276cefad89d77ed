"""The options of a process of the rollout controller."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of ``ud rollout controller run``."""

    workers: int = 16
    namespace: str | None = None
    """Only this namespace; all of them if None."""
    host: str = "127.0.0.1"
    port: int | None = None
    """Where /metrics, /healthz and /readyz are served; nowhere if None, on a free port if 0."""
    probe_host: str = "127.0.0.1"
    probe_port: int | None = None
    """Where /healthz and /readyz are served alone."""
    leader_election: bool = True
    election_namespace: str = "default"
    """The namespace of the Lease."""
    lease_seconds: float = 15.0
    """How long a Lease that is not renewed delays the next leader."""
