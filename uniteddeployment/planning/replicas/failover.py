"""Failover: which subsets are lost, and whether their replicas may run elsewhere.

A member that does not answer may still run its pods. So its replicas run elsewhere only after the grace period, and not
if a second copy of a pod could lose data: pods with volumes of their own, and pods whose ordinals belong to one subset.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed.values import since
from uniteddeployment_api import Subset
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.v1alpha1.template import DEPLOYMENT_TEMPLATE, ORDINAL_TEMPLATES
from uniteddeployment_api.v1alpha1.uniteddeployment import NEVER

ALLOWED = "spec.failover.statefulSets: Allowed would start its pods elsewhere with new, empty volumes"


@lru_cache(256)
def grace_seconds(text: str) -> int | None:
    """The grace period; None if replicas stay forever.

    >>> grace_seconds("1m30s"), grace_seconds("Never")
    (90, None)
    """
    return None if text == NEVER else seconds(text)


def grace_left(app: Application, offline_since: str | None, now: str) -> int | None:
    """Seconds until the replicas of a cluster run elsewhere, 0 if they do; None if they stay."""
    spec = app.model.spec
    grace = grace_seconds(spec.failover.grace_period)
    if offline_since is None or grace is None or spec.topology.schedule_strategy.type != "Adaptive":
        return None
    return max(0, grace - since(offline_since, now))


def why_not(app: Application) -> str:
    """Why the replicas of a lost cluster stay there, if no grace period ever ends."""
    if app.model.spec.topology.schedule_strategy.type != "Adaptive":
        return "its replicas stay: spec.topology.scheduleStrategy is not Adaptive"
    return f"its replicas stay: spec.failover.gracePeriod is {NEVER}"


def volumes_stay(app: Application, subset: Subset) -> str:
    """Why the pods of a subset cannot run in another cluster without their volumes; empty if they can."""
    if app.model.spec.failover.stateful_sets == "Allowed" or not _own_volumes(app, subset):
        return ""
    return "its volumes are there"


def second_copy(app: Application, subset: Subset) -> str:
    """Why a second copy of a pod could lose data; empty if it could not."""
    if app.model.spec.failover.stateful_sets == "Allowed":
        return ""
    if app.workload_kind.template in ORDINAL_TEMPLATES and app.model.spec.topology.ordinals == "Disjoint":
        return "its ordinals are its own"
    return volumes_stay(app, subset)


def _own_volumes(app: Application, subset: Subset) -> bool:
    """Return True if each pod has volumes that no other pod in another cluster can have.

    The claims in the pod template of a Deployment are made by users in each cluster, for all of its pods there.
    """
    template = app.workload_kind.template
    if template == DEPLOYMENT_TEMPLATE:
        return False
    changes = [app.workload_template["spec"], app.patches.get(subset.name)]
    changes += [operation.get("value") for operation in app.operations.get(subset.name, ())]
    if subset.patch is not None:
        changes.append(subset.patch)
    named = set(_keys(changes))
    paths = [str(operation.get("path")) for operation in app.operations.get(subset.name, ())]
    claims = "volumeClaimTemplates" in named or any("/volumeClaimTemplates" in path for path in paths)
    return claims or (template in ORDINAL_TEMPLATES and "persistentVolumeClaim" in named)


def _keys(node: Any) -> Iterator[str]:
    """All keys with a value in a document."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if value:
                yield key
                yield from _keys(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _keys(value)
