"""What the host shows: rollouts and their targets, from watches and from the answers to our own writes.

Each change queues the keys of the rollouts that it concerns; what changed is found again by the next decision.
"""

from collections.abc import Callable, Mapping

import structlog

from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.index import Index
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment_api import InvalidObject
from uniteddeployment_api.v1alpha1.gates import GateTemplateSpec
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.gates import kinds_of
from uniteddeployment_rollout.loop.objects import (
    CLUSTERS,
    GATE_TEMPLATES,
    UNITED_DEPLOYMENTS,
    UNITED_ROLLOUTS,
    Key,
    StoredCluster,
    StoredGateTemplate,
    StoredRollout,
    StoredTarget,
)

_log = structlog.get_logger(__name__)


class Host:
    """The caches of one API server. ``changed(key)`` is called for each rollout that a change concerns."""

    def __init__(
        self,
        client: Client,
        changed: Callable[[Key], None],
        deleted: Callable[[StoredRollout], None],
        namespace: str | None = None,
    ) -> None:
        self._changed = changed
        self._deleted = deleted
        self._by_target: Index[Key, StoredRollout] = Index(lambda rollout: rollout.target)
        self.rollouts: Cache[StoredRollout] = Cache(self._rollout_changed, indexes=[self._by_target])
        self.targets: Cache[StoredTarget] = Cache(self._target_changed)
        self.clusters: Cache[StoredCluster] = Cache(self._cluster_changed)
        self.gate_templates: Cache[StoredGateTemplate] = Cache(self._gate_template_changed)
        self.reflectors = (
            Reflector(client, UNITED_ROLLOUTS, StoredRollout, self.rollouts, namespace=namespace),
            Reflector(client, UNITED_DEPLOYMENTS, StoredTarget, self.targets, namespace=namespace),
            Reflector(client, CLUSTERS, StoredCluster, self.clusters, namespace=namespace),
            Reflector(client, GATE_TEMPLATES, StoredGateTemplate, self.gate_templates, namespace=namespace),
        )

    async def wait_synced(self) -> None:
        """No decision before both lists are complete: a target that is not known yet is not missing."""
        for reflector in self.reflectors:
            await reflector.synced.wait()

    def owner(self, target: Key) -> StoredRollout | None:
        """The rollout that has a target: of several, the oldest.

        Timestamps are in seconds. Of two in the same second, the one that has followed the target keeps it.
        """
        return min(self.rollouts.select(self._by_target.keys(target)), key=_seniority, default=None)

    def labels(self, cluster: str) -> Mapping[str, str]:
        """The labels of a Cluster (``namespace/name``); none for the host, and if there is no such Cluster."""
        namespace, _, name = cluster.partition("/")
        found = self.clusters.get((namespace, name))
        return found.metadata.labels if found is not None else {}

    def templates_of(self, rollout: UnitedRollout) -> dict[str, GateTemplateSpec]:
        """Return the GateTemplates that the gates of a rollout refer to, without those that are not valid."""
        wanted = {
            gate.template_ref.name if gate.template_ref is not None else gate.name
            for step in rollout.spec.steps
            for gate in step.gates
            if not kinds_of(gate)
        }
        found = {}
        for name in wanted:
            stored = self.gate_templates.get((rollout.metadata.namespace, name))
            if stored is None:
                continue
            try:
                found[name] = stored.model()
            except InvalidObject as error:
                _log.warning("GateTemplate cannot be read", name=name, error=str(error))
        return found

    def _gate_template_changed(self, old: StoredGateTemplate | None, new: StoredGateTemplate | None) -> None:
        template = new or old
        if template is None:
            return
        for rollout in self.rollouts.objects.values():
            if rollout.metadata.namespace == template.metadata.namespace and rollout.status.get("runID"):
                self._changed(rollout.key)

    def _cluster_changed(self, old: StoredCluster | None, new: StoredCluster | None) -> None:
        """Labels change rarely, so it is cheap enough to queue all rollouts that read any."""
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return
        for rollout in self.rollouts.objects.values():
            if rollout.selects_clusters:
                self._changed(rollout.key)

    def _rollout_changed(self, old: StoredRollout | None, new: StoredRollout | None) -> None:
        for rollout in (old, new):
            if rollout is not None:
                # When an older one goes or turns to another target, a younger one may get the target.
                self._queue(rollout.target)
                self._changed(rollout.key)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._deleted(old)

    def _target_changed(self, old: StoredTarget | None, new: StoredTarget | None) -> None:
        target = new or old
        if target is not None:
            self._queue((target.metadata.namespace, target.metadata.name))

    def _queue(self, target: Key) -> None:
        for key in self._by_target.keys(target):
            self._changed(key)


def _seniority(rollout: StoredRollout) -> tuple[str, bool, Key]:
    return rollout.metadata.creation_timestamp, not rollout.status.get("stableRevision"), rollout.key
