"""Writes on the host: finalizers, annotations and revisions."""

import contextlib
from typing import Any

import msgspec

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import (
    REVISION_SELECTOR,
    UNITED_DEPLOYMENTS,
    Stored,
    StoredRevision,
    written_content,
)
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.steps import (
    AddFinalizer,
    CheckOrphaning,
    CreateRevision,
    DeleteRevision,
    HostStep,
    NoteCause,
    NoteOrphaning,
    OwnRevision,
    RemoveFinalizer,
    RenumberRevision,
)
from uniteddeployment_api import names


class HostWriter:
    """Carries out host steps. Raises KubeError."""

    def __init__(self, client: Client, host: Host) -> None:
        self._client = client
        self._host = host

    async def write(self, subject: Subject, step: HostStep) -> None:
        """Carry out one step, and put its answer into the caches."""
        match step:
            case AddFinalizer():
                await self._finalizers(subject, [*subject.finalizers, names.FINALIZER])
            case NoteOrphaning():
                patch = {"metadata": {"uid": subject.uid, "annotations": {names.ANNOTATION_ORPHAN: names.ORPHAN}}}
                noted = await self._client.merge_patch(
                    UNITED_DEPLOYMENTS, subject.name, patch, Stored, namespace=subject.namespace
                )
                self._host.merge_answer(noted, "annotations")
            case CheckOrphaning():
                await self._check_orphaning(subject)
            case RemoveFinalizer():
                await self._finalizers(subject, [name for name in subject.finalizers if name != names.FINALIZER])
            case CreateRevision():
                await self._create_revision(subject, step)
            case RenumberRevision():
                await self._patch_revision(subject, step.name, {"revision": step.number})
            case OwnRevision():
                await self._own_revision(subject, step.name)
            case NoteCause():
                patch = {"metadata": {"annotations": {names.ANNOTATION_CHANGE_CAUSE: step.cause}}}
                await self._patch_revision(subject, step.name, patch)
            case DeleteRevision():
                with contextlib.suppress(errors.NotFound):
                    await self._client.delete(CONTROLLERREVISIONS, step.name, namespace=subject.namespace)
                self._host.drop_revision((subject.namespace, subject.name), step.name)

    async def _finalizers(self, subject: Subject, finalizers: list[str]) -> None:
        """Write the finalizers at the cached version only. Others change the list, too, and the write replaces it."""
        stored = self._host.get((subject.namespace, subject.name))
        version = stored.metadata.resource_version if stored else ""
        metadata = {"uid": subject.uid, "resourceVersion": version, "finalizers": finalizers or None}
        try:
            answer = await self._client.merge_patch(
                UNITED_DEPLOYMENTS, subject.name, {"metadata": metadata}, Stored, namespace=subject.namespace
            )
        except errors.NotFound:
            if names.FINALIZER in finalizers:
                raise
            return
        if names.FINALIZER in finalizers:
            self._host.merge_answer(answer, "finalizers")

    async def _own_revision(self, subject: Subject, name: str) -> None:
        """Add the owner reference, but not to a deleted application: without it, its workloads stay."""
        live = await self._client.get(UNITED_DEPLOYMENTS, subject.name, Stored, namespace=subject.namespace)
        if live.metadata.deletion_timestamp is None and live.metadata.uid == subject.uid:
            await self._patch_revision(subject, name, {"metadata": {"ownerReferences": [_owner(subject)]}})

    async def _check_orphaning(self, subject: Subject) -> None:
        selector = f"{REVISION_SELECTOR}={names.label_value(subject.name)}"
        found = await self._client.list_all(
            CONTROLLERREVISIONS, StoredRevision, namespace=subject.namespace, label_selector=selector
        )
        for revision in found:
            self._host.merge_revision(revision)
        self._host.orphaning_was_checked(subject.uid)

    async def _patch_revision(self, subject: Subject, name: str, patch: dict[str, Any]) -> None:
        revision = await self._client.merge_patch(
            CONTROLLERREVISIONS, name, patch, StoredRevision, namespace=subject.namespace
        )
        self._host.merge_revision(revision)

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
                    **({names.ANNOTATION_CHANGE_CAUSE: step.cause} if step.cause else {}),
                },
                "ownerReferences": [_owner(subject)],
            },
            "data": written_content(step.data),
            "revision": step.number,
        }
        try:
            made = await self._client.create(CONTROLLERREVISIONS, body, StoredRevision, namespace=subject.namespace)
        except errors.AlreadyExists:
            made = await self._client.get(CONTROLLERREVISIONS, step.name, StoredRevision, namespace=subject.namespace)
        self._host.merge_revision(made)


def _owner(subject: Subject) -> dict[str, Any]:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "name": subject.name,
        "uid": subject.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
