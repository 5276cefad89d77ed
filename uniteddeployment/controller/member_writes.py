"""Writes in a member: carries out each step as a request, and puts the answer into the caches at once (I9)."""

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import structlog

from uniteddeployment.controller import drift
from uniteddeployment.controller.impersonation import acting, explained
from uniteddeployment.controller.member_namespaces import NamespaceCreator
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import adopt, create, try_successor
from uniteddeployment.fleet.cache import AppKey
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.kube.resource import NAMESPACES, PODS, Resource
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Workload, WorkloadSpec
from uniteddeployment.planning.steps import Apply, Delete, DeletePod, Event, MemberStep, Reclaim, Release, Scale
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

_SCALE_TRIES = 3
_MOST_DIFFERENCES = 5
"""How many changed fields one Event lists."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a step that was carried out."""

    changed: bool = True
    """Whether anything was changed."""
    events: tuple[Event, ...] = ()
    """Events to record instead of one that mentions the step."""
    drift: str = ""
    """The changes of others that were reverted."""


class MemberWriter:
    """Carries out member steps. Raises KubeError."""

    def __init__(self, fleet: Fleet, namespaces: NamespaceCreator) -> None:
        self._fleet = fleet
        self._namespaces = namespaces

    async def write(self, subject: Subject, member: Member, step: MemberStep, memory: Memory) -> Written:
        """Carry out one step. An answer that does not have the form of an object raises Malformed."""
        try:
            with explained(self._fleet.cluster(member.name), subject.namespace, step):
                return await self._write(subject, member, step, memory)
        except errors.KubeError:
            raise
        except Exception as error:
            _log.exception("answer not processed", cluster=member.name, kind=step.kind, name=step.name)
            why = f"the cluster's answer could not be processed ({type(error).__name__})"
            raise errors.Malformed(0, "Malformed", why) from error

    async def _write(self, subject: Subject, member: Member, step: MemberStep, memory: Memory) -> Written:
        if isinstance(step, DeletePod):
            await self._delete_pod(subject, member, step)
            return Written()
        resource = RESOURCES[step.kind]
        match step:
            case Apply(adopt=True):
                _store(member, step, await adopt(self._client(subject, member), resource, subject, step), memory)
            case Apply(create=True):
                created = await self._create(subject, member, resource, step)
                # A workload that existed may have been changed since we created it, so the next plan inspects it (I9).
                _store(member, step, created, memory if created.metadata.generation == 1 else None)
            case Apply(drift=True) | Apply(keep=(_, *_)):
                return await self._inspect(subject, member, step, memory)
            case Apply():
                _store(member, step, await self._apply(subject, member, resource, step), memory)
            case Scale():
                _store(member, step, await self._scale(subject, member, resource, step), memory)
            case Delete():
                await self._delete(subject, member, resource, step)
                memory.generations.pop(step.ref.key, None)
                member.cache.expect_deletion(_app_key(subject), step.kind, step.name, step.uid)
            case Release():
                await self._release(subject, member, resource, step)
            case Reclaim():
                await self._reclaim(subject, member, resource, step)
        return Written()

    def _client(self, subject: Subject, member: Member) -> Client:
        """The client for an application: it writes as the ServiceAccount that the Cluster names, if it names any."""
        return acting(member.client, self._fleet.cluster(member.name), subject.namespace)

    async def _inspect(self, subject: Subject, member: Member, step: Apply, memory: Memory) -> Written:
        """Compare the live workload with the wanted one. Apply only if a field of ours differs, and report which."""
        resource = RESOURCES[step.kind]
        live = await self._client(subject, member).get(resource, step.name, dict[str, Any], namespace=subject.namespace)
        body = drift.keeping(step.body, live, step.keep)
        changed = drift.differences(body, live, ours=names.FIELD_MANAGER)
        if changed:
            workload = await self._apply(subject, member, resource, replace(step, body=body))
        else:
            workload = _decoded(live, step)
        _store(member, step, workload, memory)
        if not step.drift or not changed:
            return Written(changed=bool(changed))
        fields = ", ".join(str(difference) for difference in changed[:_MOST_DIFFERENCES])
        message = f"{step.ref}: put back {fields}"
        return Written(events=(Event("Warning", "DriftRepaired", message),), drift=f"put back {fields}")

    async def _create(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        try:
            return await create(self._client(subject, member), resource, subject, step)
        except errors.NotFound as error:
            if error.details.get("kind") != NAMESPACES.plural:
                raise
        # The application's namespace does not exist. It is created, and stays when the application is deleted.
        await self._namespaces.create(member, subject.namespace)
        return await create(self._client(subject, member), resource, subject, step)

    async def _apply(self, subject: Subject, member: Member, resource: Resource, step: Apply) -> Workload:
        """Correct a workload. The uid in the body makes the write fail if another object has the name by now."""
        return await self._client(subject, member).apply(
            resource,
            step.name,
            step.body,
            Workload,
            namespace=subject.namespace,
            field_manager=names.FIELD_MANAGER,
            force=True,
        )

    async def _scale(self, subject: Subject, member: Member, resource: Resource, step: Scale) -> Workload:
        """Scale a workload if it still has the generation for which the step was planned. Raises Conflict.

        The answer is a Scale, which has neither the generation nor the rest of the spec. So the write names the
        resource version: then its outcome contains no other change (I9), and no object with the same name is scaled
        (I13). A status write in between also changes the version; the workload is then read and scaled again.
        """
        known = member.cache.workload(_app_key(subject), step.kind, step.name)
        for _ in range(_SCALE_TRIES):
            if known is None or known.metadata.generation != step.generation:
                break
            version = known.metadata.resource_version
            try:
                answer = await self._client(subject, member).scale(
                    resource, step.name, step.replicas, namespace=subject.namespace, resource_version=version
                )
            except errors.Conflict:
                live = await self._client(subject, member).get(
                    resource, step.name, Workload, namespace=subject.namespace
                )
                member.cache.merge(step.kind, live)
                known = live if live.metadata.uid == known.metadata.uid else None
            else:
                return _scaled(known, step.replicas, answer.metadata.resource_version)
        raise errors.Conflict(409, "Conflict", f"{step.kind} {step.name} has changed since it was planned for")

    async def _delete(self, subject: Subject, member: Member, resource: Resource, step: Delete) -> None:
        await try_successor(self._client(subject, member), resource, subject.namespace, step)
        try:
            await self._client(subject, member).delete(
                resource,
                step.name,
                namespace=subject.namespace,
                uid=step.uid,
                propagation=Propagation.ORPHAN if step.orphan else Propagation.BACKGROUND,
            )
        except errors.NotFound:
            pass  # already deleted; the watch event follows
        except errors.Conflict:
            pass  # another object has the name by now

    async def _delete_pod(self, subject: Subject, member: Member, step: DeletePod) -> None:
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            await self._client(subject, member).delete(PODS, step.name, namespace=subject.namespace, uid=step.uid)

    async def _release(self, subject: Subject, member: Member, resource: Resource, step: Release) -> None:
        """Remove our labels and annotations. Without the labels, the watch reports the workload as deleted."""
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
            await self._client(subject, member).merge_patch(
                resource, step.name, patch, PartialObject, namespace=subject.namespace
            )

    async def _reclaim(self, subject: Subject, member: Member, resource: Resource, step: Reclaim) -> None:
        """Change only the metadata, since a change of the template could restart pods."""
        patch = {"metadata": {"uid": step.uid, "annotations": {names.ANNOTATION_OWNER_UID: subject.uid}}}
        # If the object is gone, or another one has its name, the watch shows that, and the next plan starts from it.
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            stored = await self._client(subject, member).merge_patch(
                resource, step.name, patch, Workload, namespace=subject.namespace
            )
            member.cache.merge(step.kind, stored)


def _store(member: Member, step: Apply | Scale, workload: Workload, memory: Memory | None) -> None:
    """Put an answer into the cache, and note the generation of our write unless ``memory`` is None."""
    member.cache.merge(step.kind, workload)
    if memory is not None:
        memory.generations[step.ref.key] = workload.metadata.generation


def _app_key(subject: Subject) -> AppKey:
    return subject.namespace, names.label_value(subject.name)


def _decoded(live: dict[str, Any], step: Apply) -> Workload:
    try:
        return msgspec.convert(live, Workload)
    except msgspec.ValidationError as error:
        raise errors.Malformed(200, "Malformed", f"{step.kind} {step.name} is not as expected: {error}") from None


def _scaled(workload: Workload, replicas: int, version: str) -> Workload:
    """The workload after a write that changed only its replicas."""
    changed = workload.spec.replicas != replicas
    generation = workload.metadata.generation + (1 if changed else 0)
    metadata = msgspec.structs.replace(workload.metadata, generation=generation, resource_version=version)
    spec: WorkloadSpec = msgspec.structs.replace(workload.spec, replicas=replicas)
    return msgspec.structs.replace(workload, metadata=metadata, spec=spec)
