"""Plans one object with the controller's own observer and planner. Nothing is written."""

import msgspec

from uniteddeployment.cli.snapshot import Snapshot, now
from uniteddeployment.controller.objects import Parser, Stored
from uniteddeployment.controller.observe import Observer
from uniteddeployment.controller.planner import Planner
from uniteddeployment.planning.observed import MemberView, Observed, Reach
from uniteddeployment.planning.plan import Plan, plan


async def plan_live(snapshot: Snapshot, wanted: Stored) -> Plan:
    """The plan of the controller if this object were applied now."""
    existing = snapshot.host.get(wanted.key)
    if existing is not None:
        annotations = {**existing.metadata.annotations, **wanted.metadata.annotations}
        generation = existing.metadata.generation + 1
        metadata = msgspec.structs.replace(existing.metadata, generation=generation, annotations=annotations)
        wanted = msgspec.structs.replace(wanted, metadata=metadata, status=existing.status)
    subject = Parser().subject(wanted)
    observer = Observer(snapshot.host, snapshot.fleet, now)
    return await Planner(snapshot.client, snapshot.host, observer).plan(subject)


def plan_offline(wanted: Stored) -> Plan:
    """The plan for clusters that all exist and are empty."""
    subject = Parser().subject(wanted)
    app = subject.app
    clusters = {app.cluster_of(subset) for subset in app.subsets.values()} if app else set()
    members = {cluster: MemberView(cluster, Reach.READY) for cluster in clusters}
    return plan(subject, Observed(now=now().isoformat(), members=members))
