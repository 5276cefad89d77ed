"""Carrying out a plan: concurrent over clusters, in order within one, each failure kept to where it happened (I10).

The answer of each write goes into the caches at once, so that the next look already sees it (I9).
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS, Stored, StoredRevision, revision_content
from uniteddeployment.controller.observe import Memory
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.kube.resource import CONTROLLERREVISIONS, DEPLOYMENTS, NAMESPACES, STATEFULSETS, Resource
from uniteddeployment.planning.observed import Workload, WorkloadSpec
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.status import where
from uniteddeployment.planning.steps import (
    AddFinalizer,
    Apply,
    CreateRevision,
    Delete,
    DeleteRevision,
    HostStep,
    MemberStep,
    RemoveFinalizer,
    RenumberRevision,
    Scale,
)
from uniteddeployment.planning.subject import Subject
from uniteddeployment_api import names

RESOURCES: Mapping[str, Resource] = {one.kind: one for one in (STATEFULSETS, DEPLOYMENTS)}


@dataclass(slots=True)
class Outcome:
    """How a plan went. ``failed`` says that it has to be tried again."""

    failed: bool = False
    done: list[MemberStep] = field(default_factory=list)
    host_error: str = ""


class Actor:
    """Writes what a plan says."""

    def __init__(self, client: Client, host: Host, fleet: Fleet) -> None:
        self._client = client
        self._host = host
        self._fleet = fleet

    async def carry_out(self, subject: Subject, plan: Plan, memory: Memory) -> Outcome:
        """Everything that the plan asks for. Failures in members end up in ``memory``, with their subset."""
        outcome = Outcome()
        try:
            for step in plan.before:
                await self._host_step(subject, step)
            async with asyncio.TaskGroup() as tasks:
                for cluster, steps in plan.members.items():
                    tasks.create_task(self._cluster(subject, cluster, steps, memory, outcome))
                for step in plan.host:
                    tasks.create_task(self._guarded_host_step(subject, step, outcome))
            if not outcome.failed:
                for step in plan.after:
                    await self._host_step(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)
        return outcome

    async def _cluster(
        self, subject: Subject, cluster: str, steps: Sequence[MemberStep], memory: Memory, outcome: Outcome
    ) -> None:
        member = self._fleet.member(cluster)
        if member is None:
            outcome.failed = True
            return
        broken: set[str] = set()
        for step in steps:
            if step.subset in broken:
                continue  # a later write may rely on the earlier one
            try:
                await self._member_step(subject, member, step, memory)
            except errors.KubeError as error:
                broken.add(step.subset)
                outcome.failed = True
                memory.errors[step.subset] = _explain(step, error)
                memory.stalled.discard(step.subset)
                if _for_good(step, error):
                    memory.stalled.add(step.subset)
                if isinstance(error, errors.Unreachable):
                    member.suspect()
            else:
                outcome.done.append(step)
                memory.errors.pop(step.subset, None)
                memory.stalled.discard(step.subset)

    async def _member_step(self, subject: Subject, member: Member, step: MemberStep, memory: Memory) -> None:
        resource = RESOURCES[step.kind]
        noted = (step.cluster, step.kind, step.name)
        match step:
            case Apply():
                stored = await self._apply(subject, member, resource, step)
                member.cache.keep(step.kind, stored)
                memory.generations[noted] = stored.metadata.generation
            case Scale():
                answer = await member.client.scale(resource, step.name, step.replicas, namespace=subject.namespace)
                memory.generations[noted] = step.generation + 1
                self._assume_scaled(subject, member, step, answer.metadata.resource_version)
            case Delete():
                await self._delete(subject, member, resource, step)
                memory.generations.pop(noted, None)
                member.cache.expect_deletion((subject.namespace, names.label_value(subject.name)), step.kind, step.name)

    async def _apply(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        try:
            return await self._apply_once(subject, member, resource, step)
        except errors.NotFound:
            if not step.create:
                raise
            # A member need not have the application's namespace; it is made and, like any namespace, left there.
            body = {"metadata": {"name": subject.namespace, "labels": {names.LABEL_MANAGED_BY: names.MANAGER}}}
            with contextlib.suppress(errors.AlreadyExists):
                await member.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", **body}, PartialObject)
            return await self._apply_once(subject, member, resource, step)

    async def _apply_once(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        return await member.client.apply(
            resource,
            step.name,
            step.body,
            Workload,
            namespace=subject.namespace,
            field_manager=names.FIELD_MANAGER,
            force=not step.create,
        )

    def _assume_scaled(self, subject: Subject, member: Member, step: Scale, version: str) -> None:
        found = member.cache.workload((subject.namespace, names.label_value(subject.name)), step.kind, step.name)
        if found is None:
            return
        metadata = msgspec.structs.replace(found.metadata, generation=step.generation + 1, resource_version=version)
        spec: WorkloadSpec = msgspec.structs.replace(found.spec, replicas=step.replicas)
        member.cache.keep(step.kind, msgspec.structs.replace(found, metadata=metadata, spec=spec))

    async def _delete(self, subject: Subject, member: Member, resource: Resource, step: Delete) -> None:
        try:
            await member.client.delete(
                resource,
                step.name,
                namespace=subject.namespace,
                uid=step.uid,
                propagation=Propagation.BACKGROUND,
            )
        except errors.NotFound:
            pass  # somebody was faster; the watch will say so
        except errors.Conflict:
            pass  # another object has the name by now, and that one is not ours to delete

    async def _guarded_host_step(self, subject: Subject, step: HostStep, outcome: Outcome) -> None:
        """A failure on the host must not cancel what goes on in members."""
        try:
            await self._host_step(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)

    async def _host_step(self, subject: Subject, step: HostStep) -> None:
        match step:
            case AddFinalizer():
                await self._finalizers(subject, [*subject.finalizers, names.FINALIZER])
            case RemoveFinalizer():
                await self._finalizers(subject, [one for one in subject.finalizers if one != names.FINALIZER])
            case CreateRevision():
                await self._create_revision(subject, step)
            case RenumberRevision():
                patch = {"revision": step.number}
                revision = await self._client.merge_patch(
                    CONTROLLERREVISIONS, step.name, patch, StoredRevision, namespace=subject.namespace
                )
                self._host.keep_revision(revision)
            case DeleteRevision():
                with contextlib.suppress(errors.NotFound):
                    await self._client.delete(CONTROLLERREVISIONS, step.name, namespace=subject.namespace)
                self._host.drop_revision((subject.namespace, subject.name), step.name)

    async def _finalizers(self, subject: Subject, finalizers: list[str]) -> None:
        """Only over the version that we have seen: the list is replaced as a whole, and others write to it too."""
        stored = self._host.get((subject.namespace, subject.name))
        version = stored.metadata.resource_version if stored else ""
        patch: dict[str, Any] = {"metadata": {"finalizers": finalizers or None, "resourceVersion": version}}
        try:
            answer = await self._client.merge_patch(
                UNITED_DEPLOYMENTS, subject.name, patch, Stored, namespace=subject.namespace
            )
        except errors.NotFound:
            if names.FINALIZER in finalizers:
                raise
            return
        if names.FINALIZER in finalizers:
            self._host.keep(answer)

    async def _create_revision(self, subject: Subject, step: CreateRevision) -> None:
        body = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": step.name,
                "namespace": subject.namespace,
                "labels": {
                    names.LABEL_MANAGED_BY: names.MANAGER,
                    names.LABEL_NAME: names.label_value(subject.name),
                    names.LABEL_REVISION: step.hash,
                },
                "annotations": {
                    names.ANNOTATION_TEMPLATE_REVISION: step.template_hash,
                    **(
                        {names.ANNOTATION_SUBSET_REVISIONS: msgspec.json.encode(step.patched).decode()}
                        if step.patched
                        else {}
                    ),
                },
                "ownerReferences": [
                    {
                        "apiVersion": names.API_VERSION,
                        "kind": names.UNITED_DEPLOYMENT_KIND,
                        "name": subject.name,
                        "uid": subject.uid,
                        "controller": True,
                        "blockOwnerDeletion": False,
                    }
                ],
            },
            "data": revision_content(step.data),
            "revision": step.number,
        }
        try:
            made = await self._client.create(CONTROLLERREVISIONS, body, StoredRevision, namespace=subject.namespace)
        except errors.AlreadyExists:
            made = await self._client.get(CONTROLLERREVISIONS, step.name, StoredRevision, namespace=subject.namespace)
        self._host.keep_revision(made)


def _for_good(step: MemberStep, error: errors.KubeError) -> bool:
    """Whether waiting will not mend it."""
    if isinstance(error, errors.Conflict):
        return isinstance(step, Apply) and step.create
    return isinstance(error, errors.Invalid | errors.Forbidden | errors.BadRequest | errors.Unauthorized)


def _explain(step: MemberStep, error: errors.KubeError) -> str:
    place = where(step.cluster)
    if isinstance(error, errors.Conflict) and isinstance(step, Apply) and step.create:
        return (
            f"{step.kind} {step.name} exists in {place} and is not of this UnitedDeployment; it is left alone. "
            f"Rename the subset or remove the {step.kind} ({error})"
        )
    return f"{step.kind} {step.name} in {place}: {error}"
