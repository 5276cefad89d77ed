"""One Cluster as a tree. Pure: objects in, lines out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from uniteddeployment.cli.clusters.bars import bars
from uniteddeployment.cli.clusters.objects import Presence
from uniteddeployment.cli.clusters.table import STYLES, contact, icon, message, phase_of, taint_text
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.outline import Node, outline
from uniteddeployment.cli.output.terminal import Glyphs, Lines


def lines(cluster: Mapping[str, Any], presences: Sequence[Presence], glyphs: Glyphs, now: datetime) -> Lines:
    """The tree of a Cluster, and of the applications with pods there."""
    return outline(_root(cluster, presences, glyphs, now), glyphs)


def _root(cluster: Mapping[str, Any], presences: Sequence[Presence], glyphs: Glyphs, now: datetime) -> Node:
    meta, spec, status = cluster["metadata"], cluster.get("spec") or {}, cluster.get("status") or {}
    phase, since = phase_of(cluster), age(status.get("phaseTransitionTime"), now)
    root = Node(
        f"{icon(glyphs, phase)} {meta['name']}  {phase}{f' for {since}' if since else ''}", STYLES.get(phase, "")
    )
    add = root.children.append
    if text := message(cluster):
        add(Node(text))
    add(Node(f"namespace     {meta['namespace']}"))
    add(Node(f"server        {spec.get('server') or 'that of the kubeconfig in the Secret'}"))
    add(Node(f"version       {status.get('kubernetesVersion') or 'unknown'}"))
    add(Node(f"last contact  {contact(cluster, now)}"))
    add(Node(f"used by       {_allowed(spec)}"))
    if meta.get("labels"):
        add(Node(f"labels        {','.join(f'{name}={value}' for name, value in sorted(meta['labels'].items()))}"))
    add(_nodes(status))
    if status.get("capacity"):
        capacity = status["capacity"]
        add(Node("capacity", children=[Node(line) for line in bars(capacity, glyphs)]))
        zones = [
            Node(_zone(zone), children=[Node(line) for line in bars(zone, glyphs)])
            for zone in capacity.get("zones") or ()
        ]
        if zones:
            add(Node("zones", children=zones))
    taints = [Node(f"{taint_text(taint)}{_for(taint.get('timeAdded'), now)}") for taint in status.get("taints") or ()]
    if taints:
        add(Node("taints", children=taints))
    conditions = [_condition(found, now) for found in status.get("conditions") or ()]
    if conditions:
        add(Node("conditions", children=conditions))
    add(_applications(presences, now))
    return root


def _for(time: str | None, now: datetime) -> str:
    return f"  for {age(time, now)}" if time else ""


def _allowed(spec: Mapping[str, Any]) -> str:
    allowed = spec.get("allowedNamespaces") or {}
    match allowed.get("from", "Same"):
        case "All":
            return "applications of all namespaces"
        case "Selector":
            selector = allowed.get("selector") or {}
            pairs = ",".join(f"{name}={value}" for name, value in sorted((selector.get("matchLabels") or {}).items()))
            more = " and expressions" if selector.get("matchExpressions") else ""
            return (
                f"applications of its namespace, and of those that match {pairs or 'a selector'}{more if pairs else ''}"
            )
        case _:
            return "applications of its namespace"


def _nodes(status: Mapping[str, Any]) -> Node:
    if status.get("nodes") is None:
        return Node("nodes         unknown")
    parts = [
        f"{status[name]} {word}"
        for name, word in (("readyNodes", "ready"), ("schedulableNodes", "schedulable"))
        if status.get(name) is not None
    ]
    listed = f" ({', '.join(parts)})" if parts else ""
    return Node(f"nodes         {status['nodes']}{listed}")


def _zone(zone: Mapping[str, Any]) -> str:
    number = zone.get("nodes", 0)
    return f"{zone.get('name') or '(no zone)'}: {number} {'node' if number == 1 else 'nodes'}"


def _condition(found: Mapping[str, Any], now: datetime) -> Node:
    since = _for(found.get("lastTransitionTime"), now)
    head = f"{found.get('type')}={found.get('status')} {found.get('reason', '')}{since}"
    return Node(head, children=[Node(found["message"], "dim")] if found.get("message") else [])


def _applications(presences: Sequence[Presence], now: datetime) -> Node:
    present = [presence for presence in presences if presence.pods]
    if not present:
        return Node("applications  none with pods there")
    return Node("applications", children=[Node(_application(presence, now)) for presence in present])


def _application(presence: Presence, now: datetime) -> str:
    text = f"{presence.application}, subset {presence.subset}: {presence.ready} of {presence.replicas} pods ready"
    if presence.desired is not None and presence.desired != presence.replicas:
        text += f", moving to {presence.desired}"
    if presence.possibly_running:
        text += f", {presence.possibly_running} possibly running"
    if presence.observed_time:
        text += f" ({age(presence.observed_time, now)} ago)"
    return text
