"""Dry runs of the steps of a plan: would the API servers accept them? Nothing is stored."""

import asyncio
from collections.abc import Sequence

from uniteddeployment.controller.impersonation import acting, explained
from uniteddeployment.controller.member_namespaces import check_creation
from uniteddeployment.controller.takeover import try_successor
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.planning.observed import cluster_label
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.steps import Apply, Delete, MemberStep
from uniteddeployment_api import names

SECONDS = 10.0


async def refusals(fleet: Fleet, namespace: str, result: Plan) -> dict[str, str]:
    """Subset -> why its first refused step would be refused.

    Clusters are asked at the same time, the steps of one cluster in order.
    """
    refused: dict[str, str] = {}
    async with asyncio.TaskGroup() as tasks:
        for cluster, steps in result.members.items():
            tasks.create_task(_cluster(fleet, cluster, namespace, steps, refused))
    return refused


async def _cluster(
    fleet: Fleet, cluster: str, namespace: str, steps: Sequence[MemberStep], refused: dict[str, str]
) -> None:
    for step in steps:
        if step.subset in refused:
            continue
        try:
            async with asyncio.timeout(SECONDS):
                with explained(fleet.cluster(cluster), namespace, step):
                    await _try(fleet, namespace, step)
        except errors.AlreadyExists:
            refused[step.subset] = (
                f"{step.kind} {step.name} exists in {cluster_label(cluster)} and does not belong to this application"
            )
        except errors.KubeError as error:
            refused[step.subset] = f"{step.kind} {step.name} in {cluster_label(cluster)}: {error}"
        except TimeoutError:
            refused[step.subset] = f"{cluster_label(cluster)} did not answer within {SECONDS:g} s"


async def _try(fleet: Fleet, namespace: str, step: MemberStep) -> None:
    """Raise KubeError if the step would be refused. Steps that only remove something are not tried."""
    member = fleet.member(step.cluster)
    if member is None:
        return
    cluster = fleet.cluster(step.cluster)
    client = acting(member.client, cluster, namespace)
    match step:
        case Apply(create=True, adopt=False):
            try:
                await client.create(RESOURCES[step.kind], step.body, PartialObject, namespace=namespace, dry_run=True)
            except errors.NotFound as error:
                if error.details.get("kind") != NAMESPACES.plural:
                    raise
                # The controller creates the namespace with the first workload, if the Cluster allows that.
                check_creation(cluster, namespace)
        case Apply(create=False):
            await client.apply(
                RESOURCES[step.kind],
                step.name,
                step.body,
                PartialObject,
                namespace=namespace,
                field_manager=names.FIELD_MANAGER,
                force=True,
                dry_run=True,
            )
        case Delete():
            await try_successor(client, RESOURCES[step.kind], namespace, step)
