"""The interface through which controllers inside the cluster read and write: the API's rules without HTTP."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource


class Change(NamedTuple):
    """One committed write. ``old`` is None if the object was created. If it was deleted, ``obj`` is its last state."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: str
    obj: Obj
    old: Obj | None


class Access(Protocol):
    """All calls are synchronous and raise :class:`~uniteddeployment.embedded.errors.StatusError`.

    ``resource`` is a key such as ``pods`` or ``statefulsets.apps``; ``namespace`` is ``""`` for cluster-scoped objects.
    Returned objects are shared: copy before changing. Writes run through defaulting, validation, generation and
    managedFields like any other write. An update that changes nothing commits nothing. An update whose
    ``metadata.resourceVersion`` is not the stored one is a Conflict.

    ``update`` accepts the subresources that store the whole object: ``status``, ``finalize`` (a namespace's
    spec.finalizers) and ``binding`` (a pod's spec.nodeName, its PodScheduled condition and the topology labels of its
    node, none of which get an owner in managedFields).
    """

    def resources(self) -> Sequence[Resource]:
        """The served resources, each in the version that controllers see."""

    def get(self, resource: str, namespace: str, name: str) -> Obj | None: ...

    def list(
        self, resource: str, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> Sequence[Obj]:
        """Objects sorted by namespace and name. ``namespace`` None selects all; ``labels`` must all be equal."""

    def owned(self, resource: str, namespace: str, uid: str) -> Sequence[Obj]:
        """Objects with an owner reference to ``uid``, from an index."""

    def create(self, resource: str, obj: Obj, *, manager: str) -> Obj: ...

    def update(self, resource: str, obj: Obj, *, manager: str, subresource: str = "") -> Obj: ...

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        propagation: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete as a client would: gracefully for pods that have a node, and held by finalizers."""

    def issue_token(self, account: Obj, secret: str) -> str:
        """The token of a ServiceAccount for the Secret of this name."""

    def authority(self) -> bytes:
        """The CA certificate (PEM) that clients of the server trust; empty while the cluster is not served over TLS."""

    def subscribe(self, resource: str, handler: Callable[[Change], None]) -> Callable[[], None]:
        """Call ``handler`` after each commit, in order and synchronously; return a function that unsubscribes.

        The resource ``*`` selects all resources, including those that are served later.

        A handler must not write. It queues a key for later (see ``controllers.framework.controller``).
        """
