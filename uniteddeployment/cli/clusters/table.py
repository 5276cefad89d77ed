"""Clusters as a table. Pure: objects in, lines out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from uniteddeployment.cli.clusters.objects import condition
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Glyphs, Lines
from uniteddeployment.fleet.health import NO_READY_NODES, NOT_HEALTHY, NOT_READABLE, RECOVERING

STYLES = {"Running": "green", "Offline": "red", "Pending": "yellow", "Terminated": "bright_blue"}
_ANSWERING = frozenset({NOT_HEALTHY, NO_READY_NODES, NOT_READABLE, RECOVERING})
"""Reasons of a cluster that answers, although not well: the time of its last good answer is not the last contact."""
_NAMESPACE = Column("NAMESPACE", outer=True)
_COLUMNS = (
    Column("NAME"),
    Column("PHASE"),
    Column("SCHEDULABLE", drop=1),
    Column("LAST CONTACT", drop=2),
    Column("NODES", right=True, drop=4),
    Column("VERSION", drop=5),
    Column("AGE", drop=3),
)
_WIDE = (Column("SERVER"), Column("LABELS"), Column("TAINTS"), Column("MESSAGE"))


def icon(glyphs: Glyphs, phase: str) -> str:
    """The symbol of a phase."""
    return {"Running": glyphs.good, "Offline": glyphs.bad, "Terminated": glyphs.paused}.get(phase, glyphs.busy)


def phase_of(cluster: Mapping[str, Any]) -> str:
    """The phase of a Cluster; Pending if no controller has seen it."""
    return (cluster.get("status") or {}).get("phase") or "Pending"


def contact(cluster: Mapping[str, Any], now: datetime) -> str:
    """The age of the last contact: ``now`` while the cluster answers, ``never`` if it was never connected."""
    status = cluster.get("status") or {}
    if condition(cluster, "Ready").get("reason") in _ANSWERING:
        return "now"
    if status.get("lastContactTime"):
        return f"{age(status['lastContactTime'], now)} ago"
    return "now" if phase_of(cluster) == "Running" else "never" if not status.get("clusterUID") else "unknown"


def schedulable(cluster: Mapping[str, Any]) -> str:
    """Whether a Cluster takes new replicas, and why not."""
    found = condition(cluster, "Schedulable")
    if not found:
        return ""
    return "yes" if found.get("status") == "True" else f"no: {found.get('reason', '')}"


def message(cluster: Mapping[str, Any]) -> str:
    """Why a Cluster is not used, and what is wrong with its credentials; empty if all is well."""
    ready, credentials = condition(cluster, "Ready"), condition(cluster, "CredentialsValid")
    parts = [ready.get("message", "")] if ready and ready.get("status") != "True" else []
    parts += [credentials["message"]] if credentials.get("message") else []
    return "; ".join(parts) if ready else "no controller has reported its state yet"


def taint_text(taint: Mapping[str, Any]) -> str:
    """A taint as kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


@dataclass(frozen=True, slots=True)
class View:
    """How clusters are shown."""

    glyphs: Glyphs
    now: datetime
    width: int | None = None
    wide: bool = False
    namespaces: bool = False

    def lines(self, clusters: Sequence[Mapping[str, Any]]) -> Lines:
        columns = ((_NAMESPACE,) if self.namespaces else ()) + _COLUMNS + (_WIDE if self.wide else ())
        return table(columns, [self._row(cluster) for cluster in clusters], None if self.wide else self.width)

    def _row(self, cluster: Mapping[str, Any]) -> Row:
        meta, spec, status = cluster["metadata"], cluster.get("spec") or {}, cluster.get("status") or {}
        phase, text = phase_of(cluster), message(cluster)
        cells: dict[str, Cell | str] = {
            "NAMESPACE": meta.get("namespace", ""),
            "NAME": Cell(f"{icon(self.glyphs, phase)} {meta['name']}", STYLES.get(phase, "")),
            "PHASE": Cell(phase, STYLES.get(phase, "")),
            "SCHEDULABLE": schedulable(cluster),
            "LAST CONTACT": contact(cluster, self.now),
            "NODES": str(status.get("nodes", "")),
            "VERSION": status.get("kubernetesVersion", ""),
            "AGE": age(meta.get("creationTimestamp"), self.now),
            "SERVER": spec.get("server", ""),
            "LABELS": ",".join(f"{name}={value}" for name, value in sorted((meta.get("labels") or {}).items())),
            "TAINTS": ",".join(taint_text(taint) for taint in status.get("taints") or ()),
            "MESSAGE": text,
        }
        return Row(cells, (text,) if text and not self.wide else (), "    ")
