"""How the controllers inside the cluster read and write: the rules of the API without HTTP, encoding and waiting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource


@dataclass(frozen=True, slots=True)
class Change:
    """One committed write. ``old`` is None when the object was created; ``obj`` is its last state when deleted."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: str
    obj: Obj
    old: Obj | None


class Access(Protocol):
    """All calls are synchronous and raise :class:`~uniteddeployment.embedded.errors.StatusError`.

    ``resource`` is a key such as ``pods`` or ``statefulsets.apps``; ``namespace`` is ``""`` for what has none. Objects
    that come back are shared: copy before changing. Writes go through defaulting, validation, generation and
    managedFields like any other; an update that changes nothing commits nothing; an update whose
    ``metadata.resourceVersion`` is not the stored one is a Conflict.

    Subresources of ``update`` are those that store the whole object: ``status``, ``finalize`` (a namespace's
    spec.finalizers) and ``binding`` (a pod with its spec.nodeName, its PodScheduled condition and the topology labels
    of its node, which nobody comes to own in managedFields).
    """

    def resources(self) -> Sequence[Resource]:
        """What is served now, each resource in the version that controllers see."""

    def get(self, resource: str, namespace: str, name: str) -> Obj | None: ...

    def list(
        self, resource: str, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> Sequence[Obj]:
        """Objects sorted by namespace and name; ``namespace`` None means all; ``labels`` must all be equal."""

    def owned(self, resource: str, namespace: str, uid: str) -> Sequence[Obj]:
        """Objects with an owner reference to ``uid`` (an index, not a scan)."""

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
        """As a client's DELETE: graceful for pods that have a node, held by finalizers."""

    def issue_token(self, account: Obj, secret: str) -> str:
        """The token of a ServiceAccount that a Secret of this name is to hold."""

    def authority(self) -> bytes:
        """The certificate (PEM) that clients of the server are to trust; empty while it is not served over TLS."""

    def subscribe(self, resource: str, handler: Callable[[Change], None]) -> Callable[[], None]:
        """Call ``handler`` after each commit, in order, in the same turn; gives the function that ends it.

        The resource ``*`` means all of them, also those that come to be served later.

        A handler must not write: it notes a key and comes back later (see ``controllers.framework.controller``).
        """
