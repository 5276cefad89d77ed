"""A cluster without an event loop, and shortcuts for requests."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from tests.support.hand_clock import HandClock
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.storage.store import HistoryLimits, Image

TOKEN = "admin-token"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@cache
def _begun() -> Image:
    """A cluster without nodes, as every test finds it."""
    return Cluster("test", clock=HandClock(), random=Random(1), nodes=0, controllers=False).image()


class Api:
    """A cluster, by default without controllers, and requests by its administrator."""

    def __init__(
        self,
        *,
        controllers: bool | Sequence[type[Controller]] = False,
        history: HistoryLimits | None = None,
        seed: int = 1,
    ) -> None:
        self.clock = HandClock()
        self.cluster = Cluster(
            "test",
            clock=self.clock,
            random=Random(seed),
            nodes=0,
            tokens={TOKEN: Identity("admin", ("system:masters",))},
            controllers=controllers,
            history=history,
            image=_begun(),
        )
        self.cluster.start()

    def ask(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        content: str = "application/json",
        accept: str = "application/json",
        token: str = TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """One request; ``body`` may be an object or bytes."""
        path, _, raw_query = url.partition("?")
        query = tuple(tuple(pair.split("=", 1)) for pair in raw_query.split("&")) if raw_query else ()
        message = {"accept": accept, "user-agent": "tester/1.0"}
        if token:
            message["authorization"] = f"Bearer {token}"
        if body is not None:
            message["content-type"] = content
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.cluster.handle(Request(method, path, query, {**message, **(headers or {})}, raw))  # type: ignore[arg-type]

    def json(self, method: str, url: str, body: Any = None, *, status: int = 0, **how: Any) -> Obj:
        """The decoded response; checks ``status`` if it is given."""
        response = self.ask(method, url, body, **how)
        if status:
            assert response.status == status, response.body
        result: Obj = json.loads(response.body)
        return result

    def get(self, url: str, **how: Any) -> Obj:
        return self.json("GET", url, status=200, **how)

    def create(self, url: str, obj: Obj) -> Obj:
        return self.json("POST", url, obj, status=201)

    def patch(self, url: str, patch: Any, kind: str = MERGE) -> Obj:
        return self.json("PATCH", url, patch, content=kind, status=200)

    def watch(self, url: str, **how: Any) -> "Events":
        response = self.ask("GET", f"{url}{'&' if '?' in url else '?'}watch=true", **how)
        assert response.stream is not None, response.body
        return Events(response.stream)

    def configmap(self, name: str, **more: Any) -> Obj:
        return self.create(CONFIGMAPS, configmap(name, **more))


class Events:
    """The events of a watch, without waiting for more."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def take(self) -> list[Obj]:
        """The events since the last time."""
        result: list[Obj] = []
        while len(self.stream):
            coroutine = self.stream.__anext__()
            try:
                coroutine.send(None)
            except StopIteration as done:
                result += [json.loads(line) for line in done.value.splitlines()]
        return result

    def seen(self) -> list[tuple[str, str]]:
        """Types and names of the events since the last time."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.take()]

    def has_ended(self) -> bool:
        """Whether the stream has ended."""
        coroutine = self.stream.__anext__()
        try:
            coroutine.send(None)
        except StopAsyncIteration:
            return True
        except RuntimeError:
            # It waits, for which there is no event loop.
            return False
        return False


def configmap(name: str, data: Mapping[str, str] | None = None, **metadata: Any) -> Obj:
    obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return {**obj, "data": dict(data)} if data else obj


def pod(name: str, **spec: Any) -> Obj:
    containers = [{"name": "c", "image": "app:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str, replicas: int = 1) -> Obj:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def definition(schema: Obj | None = None, **version: Any) -> Obj:
    """A CustomResourceDefinition of things.example.com."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    item = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or free}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [item],
        },
    }


def names(listed: Obj) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]
