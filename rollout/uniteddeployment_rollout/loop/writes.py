"""The two writes of the controller: the status of a rollout, then the partitions of its target.

Both name the resource version that the decision was made on, so a decision on an outdated object is refused.
"""

from collections.abc import Mapping
from typing import Any

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment_api import revisions
from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutStatus
from uniteddeployment_rollout.decision import TargetWrite
from uniteddeployment_rollout.loop.objects import (
    UNITED_DEPLOYMENTS,
    UNITED_ROLLOUTS,
    FullTarget,
    StoredRevision,
    StoredRollout,
    StoredTarget,
)


class Writer:
    """Carries out decisions. Raises KubeError."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def store(self, rollout: StoredRollout, status: UnitedRolloutStatus) -> StoredRollout:
        """Store a status. The answer is the rollout as it is now."""
        patch = {
            "metadata": {"resourceVersion": rollout.metadata.resource_version, "uid": rollout.metadata.uid},
            "status": revisions.merge_diff(rollout.status, dumped(status)),
        }
        return await self._client.merge_patch(
            UNITED_ROLLOUTS,
            rollout.metadata.name,
            patch,
            StoredRollout,
            namespace=rollout.metadata.namespace,
            subresource="status",
        )

    async def write(self, target: StoredTarget, write: TargetWrite) -> StoredTarget:
        """Write the partitions, and with them the template of an earlier revision if the decision says so."""
        meta = target.metadata
        present = target.spec.update_strategy.manual_update
        manual = {
            "partition": write.default,
            "partitions": _replaced(present.partitions, write.partitions),
            "revision": write.revision or None,
            "maxUpdated": _replaced(present.max_updated, write.max_updated),
            "revert": list(write.revert) or None,
        }
        spec: dict[str, Any] = {"updateStrategy": {"manualUpdate": manual}}
        if write.restore:
            spec |= await self._template(target, write.restore)
        patch = {"metadata": {"resourceVersion": meta.resource_version, "uid": meta.uid}, "spec": spec}
        return await self._client.merge_patch(
            UNITED_DEPLOYMENTS, meta.name, patch, StoredTarget, namespace=meta.namespace
        )

    async def _template(self, target: StoredTarget, revision: str) -> dict[str, Any]:
        """The part of a merge patch that brings the template of a revision back."""
        meta = target.metadata
        stored = await self._client.get(CONTROLLERREVISIONS, revision, StoredRevision, namespace=meta.namespace)
        full = await self._client.get(UNITED_DEPLOYMENTS, meta.name, FullTarget, namespace=meta.namespace)
        wanted = revisions.restored(full.spec, stored.data)
        return revisions.merge_diff(full.spec, wanted)


def _replaced(present: Mapping[str, object], wanted: Mapping[str, object]) -> dict[str, object] | None:
    """A merge patch that replaces a map; None removes it."""
    return {**dict.fromkeys(present), **wanted} if wanted else None


def dumped(status: UnitedRolloutStatus) -> dict[str, Any]:
    """A status as it is stored: what has no value is left out."""
    found: dict[str, Any] = status.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
    return found
