"""Plans one object with the controller's own observer and planner. Nothing is written."""

from collections.abc import Collection, Mapping

import msgspec

from uniteddeployment.cli.plan import without
from uniteddeployment.cli.snapshot import Snapshot, now
from uniteddeployment.controller.objects import Parser, Stored
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.planner import Planner
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan


class _Assuming(Observer):
    """Observes a fleet in which some clusters are lost."""

    def __init__(
        self,
        snapshot: Snapshot,
        labels: Mapping[str, str] | None,
        clusters: Collection[str],
    ) -> None:
        super().__init__(snapshot.host, snapshot.fleet, now, namespace_labels=lambda _: labels)
        self._lost = clusters

    def observe(self, subject: Subject) -> Observed:
        return without.lost(super().observe(subject), self._lost)


async def plan_live(snapshot: Snapshot, wanted: Stored, *, lost: Collection[str] = ()) -> Plan:
    """The plan of the controller if this object were applied now, and if the clusters in ``lost`` were lost."""
    existing = snapshot.host.get(wanted.key)
    if existing is not None:
        annotations = {**existing.metadata.annotations, **wanted.metadata.annotations}
        generation = existing.metadata.generation + 1
        metadata = msgspec.structs.replace(existing.metadata, generation=generation, annotations=annotations)
        wanted = msgspec.structs.replace(wanted, metadata=metadata, status=existing.status)
    return await plan_stored(snapshot, wanted, lost=lost)


async def plan_stored(snapshot: Snapshot, stored: Stored, *, lost: Collection[str] = ()) -> Plan:
    """The plan of the controller for an object as it is, if the clusters in ``lost`` were lost."""
    subject = Parser().subject(stored)
    labels = await namespace_labels(snapshot.client, stored.metadata.namespace)
    observer = _Assuming(snapshot, labels, lost)
    return await Planner(snapshot.client, snapshot.host, observer).plan(subject)


async def namespace_labels(client: Client, namespace: str) -> Mapping[str, str] | None:
    """Return the labels of a namespace of the host; None if it does not exist, or if the user may not read it."""
    try:
        found = await client.get(NAMESPACES, namespace, PartialObject)
    except (Forbidden, NotFound):
        return None
    return found.metadata.labels or {}


def plan_offline(wanted: Stored) -> Plan:
    """The plan for clusters that all exist and are empty."""
    subject = Parser().subject(wanted)
    app = subject.app
    clusters = {app.cluster_of(subset) for subset in app.subsets.values()} if app else set()
    members = {cluster: MemberView(cluster, Reach.READY) for cluster in clusters}
    return plan(subject, Observed(now=now().isoformat(), members=members))
