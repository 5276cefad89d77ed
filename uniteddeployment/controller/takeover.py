"""Writes that may meet a workload that exists: creating one, taking one over, and giving one up for its successor.

A creation never changes what is there. The other two ask the API server first, by a dry run, what the outcome would be:
an adoption must not restart a pod, and a workload must not be deleted for a successor that nobody would accept.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from uniteddeployment.fleet.member import Member
from uniteddeployment.kube import errors
from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.changes import adoption, recreate
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.steps import Apply, Delete
from uniteddeployment_api import names

T = TypeVar("T")


class NotAdoptable(errors.KubeError):
    """The workload that is to be adopted is not there, is somebody else's, or is another one than is wanted."""


class NotOurs(errors.KubeError):
    """The name of the workload that is to be created is taken by somebody else's."""


class NotReplaceable(errors.KubeError):
    """The workload that is to be recreated has pods that its successor could not go on with."""


async def adopt(member: Member, resource: Resource, subject: Subject, step: Apply) -> Workload:
    """Make an existing workload ours without touching its pods. Raises NotAdoptable."""
    try:
        found = await member.client.get(resource, step.name, dict[str, Any], namespace=subject.namespace)
    except errors.NotFound:
        raise NotAdoptable("there is none to take over; remove adopt, and one is made") from None
    problem = adoption.stranger(subject.owner, found)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    # The uid keeps the write to the object that was looked at.
    body = {**step.body, "metadata": {**step.body["metadata"], "uid": found["metadata"]["uid"]}}
    problem = adoption.misfit(body, found, found)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    tried = await _apply(member, resource, subject.namespace, body, dict[str, Any], dry_run=True)
    problem = adoption.misfit(body, found, tried)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    return await _apply(member, resource, subject.namespace, body, Workload)


async def create(member: Member, resource: Resource, subject: Subject, step: Apply) -> Workload:
    """Create a workload, or find that we did so before. One request. Raises NotOurs if its name is taken (I13)."""
    try:
        return await member.client.apply_new(
            resource, step.name, step.body, Workload, namespace=subject.namespace, field_manager=names.FIELD_MANAGER
        )
    except errors.Conflict:
        # Raises NotFound if it is gone again; the next plan then creates it.
        found = await member.client.get(resource, step.name, Workload, namespace=subject.namespace)
    annotations = found.metadata.annotations
    if not subject.owner.owns(annotations):
        other = subject.owner.other(annotations)
        raise NotOurs(f"it belongs to {other}" if other else "it is not of this UnitedDeployment")
    if names.LABEL_NAME in found.metadata.labels:
        return found
    # Our own, which no watch shows, since somebody took its labels away.
    body = {**step.body, "metadata": {**step.body["metadata"], "uid": found.metadata.uid}}
    return await _apply(member, resource, subject.namespace, body, Workload)


async def try_successor(member: Member, resource: Resource, namespace: str, step: Delete) -> None:
    """Ask whether the API server, and the pods, would accept what is to take the place of a workload.

    Raises KubeError if not. A quota that has no room for both at once counts as a refusal as well.
    """
    if step.successor is None:
        return
    live = await member.client.get(resource, step.name, dict[str, Any], namespace=namespace)
    problem = recreate.unmountable(step.successor, live)
    if problem:
        raise NotReplaceable(problem)
    metadata = {key: value for key, value in step.successor["metadata"].items() if key != "name"}
    body = {**step.successor, "metadata": {**metadata, "generateName": "successor-"}}
    await member.client.create(resource, body, dict[str, Any], namespace=namespace, dry_run=True)


async def _apply(
    member: Member,
    resource: Resource,
    namespace: str,
    body: Mapping[str, Any],
    type_: type[T],
    *,
    dry_run: bool = False,
) -> T:
    return await member.client.apply(
        resource,
        body["metadata"]["name"],
        body,
        type_,
        namespace=namespace,
        field_manager=names.FIELD_MANAGER,
        force=True,
        dry_run=dry_run,
    )


def immutable(error: errors.KubeError) -> bool:
    """Whether a refusal is about fields that cannot be changed, and about nothing else."""
    if not isinstance(error, errors.Invalid | errors.Forbidden | errors.BadRequest):
        return False
    said = [cause.message for cause in error.causes] or [error.message]
    return all("immutable" in text or "updates to" in text for text in said)
