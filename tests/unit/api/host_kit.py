"""An embedded API server with the CRDs, without the webhook and the controller."""

import json
from functools import cache
from random import Random
from typing import Any

from tests.support.hand_clock import HandClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.http import Identity, Request
from uniteddeployment.embedded.storage.store import Image
from uniteddeployment_api import names
from uniteddeployment_api.crd import custom_resource_definitions

Obj = dict[str, Any]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
HEADERS = {"content-type": "application/json", "authorization": "Bearer token"}


@cache
def _begun() -> Image:
    """A cluster with our definitions."""
    clock = HandClock()
    cluster = Cluster("host", clock=clock, random=Random(1), nodes=0, controllers=(LifecycleController,))
    cluster.start()
    for definition in custom_resource_definitions():
        cluster.access.create(DEFINITIONS, definition, manager="test")
    clock.advance(1)
    return cluster.image()


class Host:
    """Validates objects with an embedded API server."""

    def __init__(self) -> None:
        self._clock = HandClock()
        self._cluster = Cluster(
            "host",
            clock=self._clock,
            random=Random(1),
            nodes=0,
            tokens={"token": Identity("admin", ("system:masters",))},
            controllers=(LifecycleController,),
            image=_begun(),
        )
        self._cluster.start()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Obj]:
        encoded = b"" if body is None else json.dumps(body).encode()
        response = self._cluster.handle(Request(method, path, (), HEADERS, encoded))
        self._clock.advance(1)
        return response.status, json.loads(response.body)

    def causes(self, obj: Obj, *old: Obj) -> list[Obj]:
        """Return the causes for which an object is rejected, empty if it is accepted.

        ``old`` are its earlier versions, which are accepted.
        """
        plural = f"{obj['kind'].lower()}s"
        path = f"{names.API_PATH}/namespaces/default/{plural}"
        versions = [*old, obj]
        status, answer = self.ask("POST", path, versions[0])
        name = f"{path}/{obj['metadata']['name']}"
        try:
            for version in versions[1:]:
                assert status < 300, answer
                metadata = version["metadata"] | {"resourceVersion": answer["metadata"]["resourceVersion"]}
                status, answer = self.ask("PUT", name, {**version, "metadata": metadata})
        finally:
            self.ask("DELETE", name)
        if status < 300:
            return []
        assert status == 422, answer
        causes: list[Obj] = answer["details"]["causes"]
        return [cause for cause in causes if "some validation rules were not checked" not in cause["message"]]
