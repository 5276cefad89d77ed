"""Writes that may affect existing workloads: creation, adoption, and deletion for a successor.

A creation never changes an existing workload. The other two first try their outcome by a dry run: an adoption must not
restart a pod, and a workload must not be deleted for a successor that the API server would refuse.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.changes import adoption, recreate
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.steps import Apply, Delete
from uniteddeployment_api import names

T = TypeVar("T")

_IMMUTABLE = frozenset((("FieldValueForbidden", "spec"), ("FieldValueInvalid", "spec.selector")))
"""Causes (reason, field) of a refused change: of a StatefulSet, and of the selector of a Deployment."""
_CHECKED_BY_WEBHOOKS = frozenset(kind.name for kind in KINDS if kind.provider)
"""The kinds whose changes the webhooks of their provider check, and not the API server."""


class NotAdoptable(errors.KubeError):
    """The workload to adopt does not exist, belongs to somebody else, or differs from the wanted one."""


class NotOurs(errors.KubeError):
    """The name of the workload to create is taken by one that is not ours."""


class NotReplaceable(errors.KubeError):
    """The workload to recreate has pods that its successor could not take over."""


async def adopt(client: Client, resource: Resource, subject: Subject, step: Apply) -> Workload:
    """Make an existing workload ours without touching its pods. Raises NotAdoptable."""
    try:
        live = await client.get(resource, step.name, dict[str, Any], namespace=subject.namespace)
    except errors.NotFound:
        raise NotAdoptable("there is none to adopt; remove adopt, and it is created") from None
    problem = adoption.foreign(subject.owner, live)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    # The uid makes the write fail if another object has the name by now.
    body = {**step.body, "metadata": {**step.body["metadata"], "uid": live["metadata"]["uid"]}}
    problem = adoption.misfit(body, live, live)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    tried = await _apply(client, resource, subject.namespace, body, dict[str, Any], dry_run=True)
    problem = adoption.misfit(body, live, tried)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    return await _apply(client, resource, subject.namespace, body, Workload)


async def create(client: Client, resource: Resource, subject: Subject, step: Apply) -> Workload:
    """Create a workload, or return the one that we created before. Raises NotOurs if its name is taken (I13)."""
    try:
        return await client.apply_new(
            resource, step.name, step.body, Workload, namespace=subject.namespace, field_manager=names.FIELD_MANAGER
        )
    except errors.Conflict:
        # Raises NotFound if it was deleted meanwhile; the next plan then creates it.
        live = await client.get(resource, step.name, Workload, namespace=subject.namespace)
    annotations = live.metadata.annotations
    if not subject.owner.owns(annotations):
        other = subject.owner.other(annotations)
        raise NotOurs(f"it belongs to {other}" if other else "it is not of this UnitedDeployment")
    if names.LABEL_NAME in live.metadata.labels:
        return live
    # It is ours, and no watch shows it, since somebody removed its labels.
    body = {**step.body, "metadata": {**step.body["metadata"], "uid": live.metadata.uid}}
    return await _apply(client, resource, subject.namespace, body, Workload)


async def try_successor(client: Client, resource: Resource, namespace: str, step: Delete) -> None:
    """Check by a dry run that the API server would accept the successor of a workload, and that its pods fit.

    Raises KubeError if not. A quota without room for both at once also counts as a refusal.
    """
    if step.successor is None:
        return
    live = await client.get(resource, step.name, dict[str, Any], namespace=namespace)
    problem = recreate.unmountable(step.successor, live)
    if problem:
        raise NotReplaceable(problem)
    metadata = {key: value for key, value in step.successor["metadata"].items() if key != "name"}
    body = {**step.successor, "metadata": {**metadata, "generateName": "successor-"}}
    await client.create(resource, body, dict[str, Any], namespace=namespace, dry_run=True)


async def _apply(
    client: Client,
    resource: Resource,
    namespace: str,
    body: Mapping[str, Any],
    type_: type[T],
    *,
    dry_run: bool = False,
) -> T:
    return await client.apply(
        resource,
        body["metadata"]["name"],
        body,
        type_,
        namespace=namespace,
        field_manager=names.FIELD_MANAGER,
        force=True,
        dry_run=dry_run,
    )


def immutable(error: errors.KubeError, kind: str) -> bool:
    """Whether a change of a workload was refused because it changes fields that cannot be changed.

    API servers name the field and the reason. OpenKruise's webhooks answer 422 without causes, for this and for other
    errors. That is good enough: before a workload is deleted, a dry run shows whether its successor is accepted.
    """
    if not isinstance(error, errors.Invalid):
        return False
    if not error.causes:
        return kind in _CHECKED_BY_WEBHOOKS
    return all((cause.reason, cause.field) in _IMMUTABLE for cause in error.causes)
