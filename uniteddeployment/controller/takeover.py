"""Writes that touch what runs already: taking over a workload, and giving one up for its successor.

Both ask the API server first, by a dry run, what would come of it: an adoption must not restart a pod, and a workload
must not be deleted for a successor that nobody would accept.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from uniteddeployment.fleet.member import Member
from uniteddeployment.kube import errors
from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning import adoption, recreate
from uniteddeployment.planning.observed import Workload
from uniteddeployment.planning.steps import Apply, Delete
from uniteddeployment_api import names

T = TypeVar("T")


class NotAdoptable(errors.KubeError):
    """The workload that is to be adopted is not there, is somebody else's, or is another one than is wanted."""


class NotReplaceable(errors.KubeError):
    """The workload that is to be recreated has pods that its successor could not go on with."""


async def adopt(member: Member, resource: Resource, namespace: str, step: Apply) -> Workload:
    """Make an existing workload ours without touching its pods. Raises NotAdoptable."""
    try:
        found = await member.client.get(resource, step.name, dict[str, Any], namespace=namespace)
    except errors.NotFound:
        raise NotAdoptable("there is none to take over; remove adopt, and one is made") from None
    problem = adoption.stranger(step.body, found)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    # The uid keeps the write to the object that was looked at.
    body = {**step.body, "metadata": {**step.body["metadata"], "uid": found["metadata"]["uid"]}}
    problem = adoption.misfit(body, found, found)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    tried = await _apply(member, resource, namespace, body, dict[str, Any], dry_run=True)
    problem = adoption.misfit(body, found, tried)
    if problem:
        raise NotAdoptable(f"it is left alone: {problem}")
    return await _apply(member, resource, namespace, body, Workload)


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
