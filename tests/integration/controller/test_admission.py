"""The admission webhooks as an API server calls them: over HTTPS, with the published certificate."""

import base64
import json
import socket
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import yaml

from tests.support.planning import manifest
from uniteddeployment.cli import embedded
from uniteddeployment.cli.embedded import Options
from uniteddeployment.cli.fleet import install
from uniteddeployment.controller import shell
from uniteddeployment.controller.certificates import CONFIGURATIONS
from uniteddeployment.controller.settings import WEBHOOK, Settings
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import from_values
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES, SECRETS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names

WEBHOOKS = Path(__file__).parents[3] / "config" / "manager" / "webhooks.yaml"
NAMESPACE = Settings().admission_namespace
HOST_NAME = f"{WEBHOOK}.{NAMESPACE}.svc"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Webhooks:
    """Asks as an API server does."""

    def __init__(self, port: int, bundle: bytes, session: aiohttp.ClientSession) -> None:
        self._port = port
        self._session = session
        self._context = ssl.create_default_context(cadata=bundle.decode())

    async def review(self, path: str, obj: dict, old: dict | None = None) -> dict:
        plural = f"{obj['kind'].lower()}s"
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "1",
                "kind": {"group": names.GROUP, "version": names.VERSION, "kind": obj["kind"]},
                "resource": {"group": names.GROUP, "version": names.VERSION, "resource": plural},
                "operation": "UPDATE" if old else "CREATE",
                "name": obj["metadata"]["name"],
                "namespace": "default",
                "userInfo": {"username": "somebody", "uid": "u", "groups": []},
                "object": obj,
                "oldObject": old,
                "dryRun": False,
            },
        }
        url = f"https://127.0.0.1:{self._port}{path}"
        async with self._session.post(url, json=review, ssl=self._context, server_hostname=HOST_NAME) as response:
            return (await response.json())["response"]


@asynccontextmanager
async def webhooks():
    """A host with the webhook configurations of config/, and the webhooks as the controller serves them."""
    async with AsyncExitStack() as stack:
        served = await embedded.serve(Options(name="host", nodes=0))
        stack.push_async_callback(served.close)
        connection = from_values(served.server.url, ca=served.server.ca, token=served.token, name="host")
        client = Client(AiohttpTransport(connection), "host")
        stack.push_async_callback(client.close)
        await install(client)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.create(NAMESPACES, namespace, PartialObject)
        resources = {one.kind: one for one in (SECRETS, *CONFIGURATIONS)}
        for document in yaml.safe_load_all(WEBHOOKS.read_text()):
            if document["kind"] in resources:
                place = document["metadata"].get("namespace")
                await client.create(resources[document["kind"]], document, PartialObject, namespace=place)
        settings = Settings(admission=True, admission_host="127.0.0.1", admission_port=free_port())
        await stack.enter_async_context(shell.admission(connection, client, settings))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        found = await client.get(CONFIGURATIONS[0], names.MANAGER, msgspec.Raw)
        bundle = msgspec.json.decode(found)["webhooks"][0]["clientConfig"]["caBundle"]
        yield Webhooks(settings.admission_port, base64.b64decode(bundle), session)


async def test_the_webhooks_refuse_with_the_field_path_and_fill_in_the_finalizer():
    """I11"""
    async with webhooks() as served:
        good = {**manifest(), "metadata": {"name": "web", "namespace": "default"}}
        assert (await served.review("/validate", good))["allowed"]

        bad = manifest(shares={"a": 5, "b": 9})
        answer = await served.review("/validate", bad)
        assert not answer["allowed"]
        assert "spec.topology.subsets" in answer["status"]["message"]
        assert answer["status"]["code"] == 422

        mutated = await served.review("/mutate", good)
        (patch,) = json.loads(base64.b64decode(mutated["patch"]))
        assert patch["value"] == [names.FINALIZER] or patch["value"] == {"finalizers": [names.FINALIZER]}

        changed = {**manifest(), "spec": {**manifest()["spec"], "selector": {"matchLabels": {"other": "label"}}}}
        assert "spec.selector" in (await served.review("/validate", changed, good))["status"]["message"]

        cluster = {
            "apiVersion": names.API_VERSION,
            "kind": "Cluster",
            "metadata": {"name": "member-1", "namespace": "default"},
            "spec": {"server": "not a url", "credentials": {"secretRef": {"name": "x"}}},
        }
        assert "spec.server" in (await served.review("/validate", cluster))["status"]["message"]
