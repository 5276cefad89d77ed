"""Writes in a member: each step of a plan as a request, its answer into the caches at once (I9)."""

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import structlog

from uniteddeployment.controller import drift
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import adopt, create, try_successor
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.fleet.member import Member
from uniteddeployment.kube import errors
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.kube.resource import NAMESPACES, PODS, Resource
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Workload, WorkloadSpec
from uniteddeployment.planning.steps import Apply, Delete, DeletePod, Event, MemberStep, Reclaim, Release, Scale
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

_SCALE_TRIES = 3


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a step that was carried out."""

    changed: bool = True
    """Whether anything was changed."""
    events: tuple[Event, ...] = ()
    """What people should be told instead of the step itself."""


class MemberWriter:
    """Carries out member steps. Raises KubeError."""

    async def write(self, subject: Subject, member: Member, step: MemberStep, memory: Memory) -> Written:
        """Carry out one step. What a member shows of an object need not have the form of one."""
        try:
            return await self._write(subject, member, step, memory)
        except errors.KubeError:
            raise
        except Exception as error:
            _log.exception("an answer could not be worked with", cluster=member.name, kind=step.kind, name=step.name)
            why = f"the cluster's answer could not be worked with ({type(error).__name__})"
            raise errors.Malformed(0, "Malformed", why) from error

    async def _write(self, subject: Subject, member: Member, step: MemberStep, memory: Memory) -> Written:
        if isinstance(step, DeletePod):
            await self._delete_pod(subject, member, step)
            return Written()
        resource = RESOURCES[step.kind]
        noted = step.ref.key
        match step:
            case Apply(adopt=True):
                stored = await adopt(member, resource, subject, step)
                member.cache.merge(step.kind, stored)
                memory.generations[noted] = stored.metadata.generation
            case Apply(create=True):
                stored = await self._create(subject, member, resource, step)
                member.cache.merge(step.kind, stored)
                if stored.metadata.generation == 1:
                    # One that was there already may have been changed since we created it: the next plan looks (I9).
                    memory.generations[noted] = stored.metadata.generation
            case Apply(drift=True) | Apply(keep=(_, *_)):
                return await self._inspect(subject, member, step, memory)
            case Apply():
                stored = await self._apply(subject, member, resource, step)
                member.cache.merge(step.kind, stored)
                memory.generations[noted] = stored.metadata.generation
            case Scale():
                scaled = await self._scale(subject, member, resource, step)
                member.cache.merge(step.kind, scaled)
                memory.generations[noted] = scaled.metadata.generation
            case Delete():
                await self._delete(subject, member, resource, step)
                memory.generations.pop(noted, None)
                member.cache.expect_deletion(_app_key(subject), step.kind, step.name, step.uid)
            case Release():
                await self._release(subject, member, resource, step)
            case Reclaim():
                await self._reclaim(subject, member, resource, step)
        return Written()

    async def _inspect(self, subject: Subject, member: Member, step: Apply, memory: Memory) -> Written:
        """Put back what somebody else changed in our fields and say so; nothing if it was none of them."""
        resource = RESOURCES[step.kind]
        live = await member.client.get(resource, step.name, dict[str, Any], namespace=subject.namespace)
        body = drift.keeping(step.body, live, step.keep)
        changed = drift.differences(body, live, ours=names.FIELD_MANAGER)
        if changed:
            found = await self._apply(subject, member, resource, replace(step, body=body))
        else:
            found = _decoded(live, step)
        member.cache.merge(step.kind, found)
        memory.generations[step.ref.key] = found.metadata.generation
        if not step.drift or not changed:
            return Written(changed=bool(changed))
        fields = ", ".join(str(one) for one in changed[:5])
        message = f"{step.ref}: put back {fields}"
        return Written(events=(Event("Warning", "DriftRepaired", message),))

    async def _create(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        try:
            return await create(member, resource, subject, step)
        except errors.NotFound as error:
            if error.details.get("kind") != NAMESPACES.plural:
                raise
        # A member need not have the application's namespace. It is created and, like any namespace, left there.
        body = {"metadata": {"name": subject.namespace, "labels": {names.LABEL_MANAGED_BY: names.MANAGER}}}
        with contextlib.suppress(errors.AlreadyExists):
            await member.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", **body}, PartialObject)
        return await create(member, resource, subject, step)

    async def _apply(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        """Correct a workload; the uid in the body makes it fail if the object is another one by now."""
        return await member.client.apply(
            resource,
            step.name,
            step.body,
            Workload,
            namespace=subject.namespace,
            field_manager=names.FIELD_MANAGER,
            force=True,
        )

    async def _scale(self, subject: Subject, member: Member, resource: Resource, step: Scale) -> Workload:
        """Scale the very object that was planned for, at the generation that it was planned at. Raises Conflict.

        The answer is a Scale, which shows neither the generation nor the rest of the spec. So the write names the
        resource version: then nothing but its own change can be in what comes of it (I9), and no namesake is scaled
        (I13). A status write in between changes the version too; that one is looked at and scaled again.
        """
        found = member.cache.workload(_app_key(subject), step.kind, step.name)
        for _ in range(_SCALE_TRIES):
            if found is None or found.metadata.generation != step.generation:
                break
            version = found.metadata.resource_version
            try:
                answer = await member.client.scale(
                    resource, step.name, step.replicas, namespace=subject.namespace, resource_version=version
                )
            except errors.Conflict:
                looked = await member.client.get(resource, step.name, Workload, namespace=subject.namespace)
                member.cache.merge(step.kind, looked)
                found = looked if looked.metadata.uid == found.metadata.uid else None
            else:
                return _scaled(found, step.replicas, answer.metadata.resource_version)
        raise errors.Conflict(409, "Conflict", f"{step.kind} {step.name} has changed since it was looked at")

    async def _delete(self, subject: Subject, member: Member, resource: Resource, step: Delete) -> None:
        await try_successor(member, resource, subject.namespace, step)
        try:
            await member.client.delete(
                resource,
                step.name,
                namespace=subject.namespace,
                uid=step.uid,
                propagation=Propagation.ORPHAN if step.orphan else Propagation.BACKGROUND,
            )
        except errors.NotFound:
            pass  # somebody was faster; the watch will say so
        except errors.Conflict:
            pass  # another object has the name by now, and that one is not ours to delete

    async def _delete_pod(self, subject: Subject, member: Member, step: DeletePod) -> None:
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            await member.client.delete(PODS, step.name, namespace=subject.namespace, uid=step.uid)

    async def _release(self, subject: Subject, member: Member, resource: Resource, step: Release) -> None:
        """The labels by which we watch go last in effect: without them the watch says that it is gone."""
        marks = (names.LABEL_NAME, names.LABEL_SUBSET, names.LABEL_REVISION, names.LABEL_MANAGED_BY)
        notes = (
            names.ANNOTATION_OWNER,
            names.ANNOTATION_OWNER_UID,
            names.ANNOTATION_CLUSTER,
            names.ANNOTATION_APPLIED,
        )
        metadata = {
            "uid": step.uid,
            "labels": dict.fromkeys(marks),
            "annotations": dict.fromkeys(notes),
        }
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            patch = {"metadata": metadata}
            await member.client.merge_patch(resource, step.name, patch, PartialObject, namespace=subject.namespace)

    async def _reclaim(self, subject: Subject, member: Member, resource: Resource, step: Reclaim) -> None:
        """Metadata alone: a write that changed the template could restart pods."""
        patch = {"metadata": {"uid": step.uid, "annotations": {names.ANNOTATION_OWNER_UID: subject.uid}}}
        # The object is gone, or another one has its name: the watch shows that, and the next plan works on it.
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            stored = await member.client.merge_patch(resource, step.name, patch, Workload, namespace=subject.namespace)
            member.cache.merge(step.kind, stored)


def _app_key(subject: Subject) -> AppKey:
    return subject.namespace, names.label_value(subject.name)


def _decoded(live: dict[str, Any], step: Apply) -> Workload:
    try:
        return msgspec.convert(live, Workload)
    except msgspec.ValidationError as error:
        raise errors.Malformed(200, "Malformed", f"{step.kind} {step.name} is not as expected: {error}") from None


def _scaled(found: Workload, replicas: int, version: str) -> Workload:
    """What a workload is once its replicas were changed, and nothing else."""
    changed = found.spec.replicas != replicas
    generation = found.metadata.generation + (1 if changed else 0)
    metadata = msgspec.structs.replace(found.metadata, generation=generation, resource_version=version)
    spec: WorkloadSpec = msgspec.structs.replace(found.spec, replicas=replicas)
    return msgspec.structs.replace(found, metadata=metadata, spec=spec)
