"""Creates namespaces in members, and keeps their Pod Security labels like those of the namespaces on the host."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import structlog

from uniteddeployment.fleet import pod_security
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.member_namespaces import MemberNamespace
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.ratelimit import ItemExponential
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.kube.workqueue import WorkQueue
from uniteddeployment_api import names

_log = structlog.get_logger(__name__)

WORKERS = 16
RETRY_CAP_SECONDS = 60.0

HostLabels = Callable[[str], Mapping[str, str] | None]
"""Returns the labels of a namespace of the host; None if they are not known."""


class NamespaceRequired(errors.KubeError):
    """The namespace does not exist in the member, and the Cluster does not allow the controller to create it."""


class LabelsUnknown(errors.KubeError):
    """The labels of the namespace on the host are not known yet."""


def check_creation(cluster: ClusterObject | None, namespace: str) -> None:
    """Raise NamespaceRequired if the controller must not create namespaces in the cluster."""
    if cluster is not None and cluster.spec.namespaces != "Create":
        raise NamespaceRequired(
            f"the namespace {namespace} does not exist there, and spec.namespaces of the Cluster {cluster.key} is "
            f"{cluster.spec.namespaces}: create the namespace in the member"
        )


class NamespaceCreator:
    """Creates the namespaces of applications in members."""

    def __init__(self, fleet: Fleet, host_labels: HostLabels) -> None:
        self._fleet = fleet
        self._host_labels = host_labels

    async def create(self, member: Member, namespace: str) -> None:
        """Create a namespace with the Pod Security labels of that on the host. Raises NamespaceRequired, KubeError."""
        check_creation(self._fleet.cluster(member.name), namespace)
        labels = self._host_labels(namespace)
        if labels is None:
            raise LabelsUnknown(f"the labels of the namespace {namespace} on the host are not known yet")
        body = _body(namespace, pod_security.of_new_namespace(labels))
        with contextlib.suppress(errors.Conflict):  # it exists by now
            await member.client.apply_new(
                NAMESPACES, namespace, body, MemberNamespace, field_manager=names.FIELD_MANAGER
            )


class NamespaceLabeller:
    """Follows changes of Pod Security labels, in the namespaces of members that have the label of the controller."""

    def __init__(self, fleet: Fleet, host_labels: HostLabels) -> None:
        self._fleet = fleet
        self._host_labels = host_labels
        self._queue: WorkQueue[tuple[str, str]] = WorkQueue(limiter=ItemExponential(base=1.0, cap=RETRY_CAP_SECONDS))

    def host_changed(self, namespace: str) -> None:
        """The labels of a namespace of the host have changed."""
        for member in self._fleet.members():
            if member.namespaces is not None and member.namespaces.get(namespace) is not None:
                self._queue.add((member.name, namespace))

    def member_changed(self, cluster: str, namespace: str) -> None:
        """A namespace of a member was added or changed."""
        self._queue.add((cluster, namespace))

    async def run(self) -> None:
        """Apply labels until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._apply(*key)
            except errors.KubeError as error:
                _log.warning("labels of a namespace not applied", cluster=key[0], namespace=key[1], error=str(error))
                self._queue.add_rate_limited(key)
            except Exception:  # noqa: BLE001  # an error about one namespace must not end the work on the others
                _log.exception("labels of a namespace not applied", cluster=key[0], namespace=key[1])
                self._queue.add_rate_limited(key)
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key)

    async def _apply(self, cluster: str, namespace: str) -> None:
        member = self._fleet.member(cluster)
        found = self._fleet.cluster(cluster)
        seen = member.namespaces.get(namespace) if member is not None and member.namespaces is not None else None
        host = self._host_labels(namespace)
        if member is None or found is None or seen is None or host is None or seen.metadata.deletion_timestamp:
            return
        if found.spec.namespaces != "Create":
            return  # its namespaces are left to the administrators of the member
        labels = pod_security.to_apply(host, seen.metadata.labels, seen.owned_labels)
        if labels is None:
            return
        # The uid makes the write fail if another namespace has the name by now.
        body = _body(namespace, labels, uid=seen.metadata.uid)
        await member.client.apply(NAMESPACES, namespace, body, MemberNamespace, field_manager=names.FIELD_MANAGER)
        _log.info("labels of a namespace applied", cluster=cluster, namespace=namespace)


def _body(namespace: str, labels: Mapping[str, str], **metadata: str) -> dict[str, object]:
    named = {"name": namespace, "labels": dict(labels), **metadata}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": named}
