"""The Access interface of controllers in the same process, on top of the store."""

from collections.abc import Callable, Mapping, Sequence

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.auth.tokens import ServiceAccountTokens
from uniteddeployment.embedded.requests import delete as deletion
from uniteddeployment.embedded.requests import write
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Event

Handler = Callable[[Change], None]

ALL = "*"


class LocalAccess:
    """Direct calls with all rules of the API, but without HTTP, encoding and authorization."""

    def __init__(self, core: Core, accounts: ServiceAccountTokens | None = None) -> None:
        self._core = core
        self._accounts = accounts or ServiceAccountTokens(core)
        self.certificate = b""

    def resources(self) -> Sequence[Resource]:
        registry = self._core.registry
        return [resource for resource in registry if registry.is_main(resource)]

    def get(self, resource: str, namespace: str, name: str) -> Obj | None:
        registry = self._core.registry
        if not registry.serves(resource):
            return None
        return write.live(self._core, Target(registry.main(resource), namespace, name))

    def list(
        self, resource: str, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> Sequence[Obj]:
        core = self._core
        if not core.registry.serves(resource):
            return []
        served = core.registry.main(resource)
        table = core.registry.table(served)
        objects = core.store.objects(table, table.select(namespace))
        if labels:
            wanted = labels.items()
            objects = [obj for obj in objects if wanted <= obj["metadata"].get("labels", {}).items()]
        return [core.registry.show(served, obj) for obj in objects]

    def owned(self, resource: str, namespace: str, uid: str) -> Sequence[Obj]:
        core = self._core
        if not core.registry.serves(resource):
            return []
        served = core.registry.main(resource)
        table = core.registry.table(served)
        entries = [entry for entry in table.owned(uid) if entry.key[0] == namespace]
        return [core.registry.show(served, obj) for obj in core.store.objects(table, entries)]

    def create(self, resource: str, obj: Obj, *, manager: str) -> Obj:
        served = self._core.registry.main(resource)
        new = self._dressed(served, obj)
        namespace = new["metadata"].get("namespace", "") if served.namespaced else ""
        return write.create(self._core, Target(served, namespace, ""), new, Call(manager))

    def update(self, resource: str, obj: Obj, *, manager: str, subresource: str = "") -> Obj:
        served = self._core.registry.main(resource)
        new = self._dressed(served, obj)
        served.strategy.default(new)
        metadata = new["metadata"]
        target = Target(served, metadata.get("namespace", ""), metadata["name"], subresource)
        return write.update(self._core, target, lambda _: new, Call(manager))

    @staticmethod
    def _dressed(resource: Resource, obj: Obj) -> Obj:
        """A private copy with kind and apiVersion, decoded like a client's body."""
        new = {"kind": resource.kind, "apiVersion": resource.api_version, **clone(obj)}
        new.setdefault("metadata", {})
        resource.strategy.conform(new)
        return new

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
        target = Target(self._core.registry.main(resource), namespace, name)
        options = deletion.DeleteOptions(grace_seconds=grace_seconds, propagation=propagation, uid=uid)
        deletion.delete(self._core, target, options, Call("controller"))

    def issue_token(self, account: Obj, secret: str) -> str:
        return self._accounts.issue_lasting(account, secret)

    def authority(self) -> bytes:
        return self.certificate

    def subscribe(self, resource: str, handler: Handler) -> Callable[[], None]:
        core = self._core
        key = None if resource == ALL else resource

        def listen(event: Event) -> None:
            table, before = event.table, event.before
            old = None if before is None else core.store.obj(table, before)
            handler(Change(event.type, key or table.name, core.store.obj(table, event.after), old))

        if key is not None:
            return core.registry.table(core.registry.main(key)).listen(listen)
        core.store.listeners.append(listen)
        return lambda: core.store.listeners.remove(listen)
