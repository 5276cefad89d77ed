"""Registers the resources that CustomResourceDefinitions define.

Contract: follows the commits of definitions synchronously and writes nothing. A controller
(``controllers.definitions``) accepts names, establishes definitions and deletes their objects.
"""

from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.crd.custom import resources_of
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Event

KEY: Final = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._served: dict[str, list[Resource]] = {}
        table = core.registry.table(core.registry.main(KEY))
        self._table = table
        for entry in table.select(None):
            self._serve(core.store.obj(table, entry))
        self.stop = table.listen(self._on_event)

    def _on_event(self, event: Event) -> None:
        crd = self._core.store.obj(self._table, event.after)
        if event.type == "DELETED":
            self._withdraw(crd)
        elif event.before is None or _served_part(crd) != _served_part(self._core.store.obj(self._table, event.before)):
            self._serve(crd)

    def _serve(self, crd: Obj) -> None:
        registry, name = self._core.registry, crd["metadata"]["name"]
        before, now = self._served.get(name, []), resources_of(crd)
        self._served[name] = now
        registry.register(now)
        versions = {resource.version for resource in now}
        registry.unregister([resource for resource in before if resource.version not in versions])
        self._core.end_unserved_watches()

    def _withdraw(self, crd: Obj) -> None:
        resources = self._served.pop(crd["metadata"]["name"], [])
        self._core.registry.unregister(resources)
        self._core.end_unserved_watches()
        for key in {resource.key for resource in resources}:
            self._core.registry.forget(key)


def _served_part(crd: Obj) -> tuple[Obj, Obj, list[tuple[str, str]]]:
    """The parts of a definition that determine what is served."""
    status = crd.get("status") or {}
    conditions = [(condition["type"], condition["status"]) for condition in status.get("conditions") or ()]
    return crd["spec"], status.get("acceptedNames") or {}, conditions
