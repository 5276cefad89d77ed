"""The admission webhooks as an API server calls them: over HTTPS, with the published certificate."""

import asyncio
import base64
import io
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tests.support.planning import manifest
from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.demo.embedded import Options
from uniteddeployment.cli.demo.fleet import install
from uniteddeployment.controller import shell, webhook_server
from uniteddeployment.controller.certificates import RENEWAL, VALIDITY
from uniteddeployment.controller.errors import WebhookError
from uniteddeployment.controller.settings import WEBHOOK, Settings
from uniteddeployment.controller.webhook_certificate import CONFIGURATIONS, WebhookCertificate
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, from_values
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import NAMESPACES, SECRETS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names

WEBHOOKS = Path(__file__).parents[3] / "config" / "manager" / "webhooks.yaml"
NAMESPACE = Settings().admission_namespace
RESOURCES = {one.kind: one for one in (SECRETS, *CONFIGURATIONS)}
HOST_NAME = f"{WEBHOOK}.{NAMESPACE}.svc"


class Webhooks:
    """Asks as an API server does."""

    def __init__(self, port: int, client: Client, session: aiohttp.ClientSession) -> None:
        self.port = port
        self.client = client
        self._session = session

    async def bundle(self) -> bytes:
        """The authorities that API servers trust: the same in all webhooks of both configurations."""
        (bundle,) = await self.bundles()
        return bundle

    async def bundles(self) -> set[bytes]:
        """The authorities of every webhook: two while one configuration has been updated and the other has not."""
        configured = [
            msgspec.json.decode(await self.client.get(resource, names.MANAGER, msgspec.Raw))["webhooks"]
            for resource in CONFIGURATIONS
        ]
        return {base64.b64decode(one["clientConfig"]["caBundle"]) for webhooks in configured for one in webhooks}

    async def certificate(self) -> x509.Certificate:
        """The certificate that it serves with, for a client that trusts the bundle as it is now."""
        context = ssl.create_default_context(cadata=(await self.bundle()).decode())
        _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname=HOST_NAME)
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return x509.load_der_x509_certificate(shown)

    async def post(self, path: str, body: bytes) -> tuple[int, str]:
        """Status and text of the answer."""
        context = ssl.create_default_context(cadata=(await self.bundle()).decode())
        url = f"https://127.0.0.1:{self.port}{path}"
        headers = {"content-type": "application/json"}
        async with self._session.post(
            url, data=io.BytesIO(body), headers=headers, ssl=context, server_hostname=HOST_NAME
        ) as response:
            return response.status, await response.text()

    async def review(self, path: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
        status, text = await self.post(path, json.dumps(asked(obj, old)).encode())
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)["response"]
        return found


def asked(obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """An AdmissionReview."""
    plural = f"{obj['kind'].lower()}s"
    return {
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


@asynccontextmanager
async def host() -> AsyncIterator[tuple[Connection, Client]]:
    """A host with the webhook configurations of config/."""
    async with AsyncExitStack() as stack:
        served = await embedded.serve(Options(name="host", nodes=0))
        stack.push_async_callback(served.close)
        connection = from_values(served.server.url, ca=served.server.ca, token=served.token, name="host")
        client = Client(AiohttpTransport(connection), "host")
        stack.push_async_callback(client.close)
        await install(client)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.create(NAMESPACES, namespace, PartialObject)
        for document in configured():
            place = document["metadata"].get("namespace")
            await client.create(RESOURCES[document["kind"]], document, PartialObject, namespace=place)
        yield connection, client


def configured() -> list[dict[str, Any]]:
    """The Secret and the configurations, as they are shipped."""
    return [one for one in yaml.safe_load_all(WEBHOOKS.read_text()) if one["kind"] in RESOURCES]


@asynccontextmanager
async def webhooks(**options: Any) -> AsyncIterator[Webhooks]:
    """A host, and the webhooks as the controller serves them."""
    async with AsyncExitStack() as stack:
        connection, client = await stack.enter_async_context(host())
        settings = Settings(admission=True, admission_host="127.0.0.1", admission_port=0)
        served = await stack.enter_async_context(shell.admission(connection, client, settings, **options))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield Webhooks(served.port, client, session)


async def until(condition: Callable[..., Any]) -> None:
    """Wait for something that comes true by itself."""
    for _ in range(1000):
        if await condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true")


async def test_the_webhooks_refuse_with_the_field_path_and_fill_in_the_finalizer() -> None:
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

        rollout = {
            "apiVersion": names.API_VERSION,
            "kind": names.UNITED_ROLLOUT_KIND,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"targetRef": {"name": "web"}, "steps": [{"replicas": 2}, {"replicas": 1}]},
        }
        answer = await served.review("/validate", rollout)
        assert answer["status"]["message"].startswith("spec.steps[1].replicas: must not be less")


LARGE = 2_900_000
"""Nearly the largest object that an API server takes."""


def large(size: int) -> dict[str, Any]:
    made = {**manifest(), "metadata": {"name": "web", "namespace": "default", "uid": "u1"}}
    made["metadata"]["annotations"] = {"note": "x" * size}
    return made


async def test_reviews_of_the_largest_objects_are_answered_and_larger_ones_are_refused_in_words() -> None:
    """I11: a webhook that cannot be called is no rule at all."""
    async with webhooks() as served:
        assert (await served.review("/validate", large(LARGE), large(LARGE)))["allowed"]
        bad = large(LARGE)
        bad["spec"]["topology"]["subsets"][0]["replicas"] = 99
        assert not (await served.review("/validate", bad))["allowed"]
        status, text = await served.post("/validate", b" " * (webhook_server.REVIEW_BYTES + 1))
        assert (status, text) == (413, "the AdmissionReview has more than 8 MiB: make the object smaller")


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"\xff\xfe", b'{"a":' * 100_000, b"{}", b'{"request": []}'])
async def test_what_is_no_review_is_refused_and_the_next_one_is_answered(body: bytes) -> None:
    async with webhooks() as served:
        status, text = await served.post("/validate", body)
        assert status == 400, text
        good = {**manifest(), "metadata": {"name": "web", "namespace": "default"}}
        assert (await served.review("/validate", good))["allowed"]


def test_kopf_learns_no_uids() -> None:
    """It keeps something for each of them, forever."""
    review = asked(large(1), large(1))
    webhook_server._remove_uids(review)
    assert "uid" not in review["request"]["object"]["metadata"]
    assert "uid" not in review["request"]["oldObject"]["metadata"]
    for odd in ({}, {"request": None}, {"request": {"object": None, "oldObject": {"metadata": "x"}}}):
        webhook_server._remove_uids(odd)


class Clock:
    """A wall clock that a test sets. It starts so early that the first certificate is about to be replaced today."""

    def __init__(self) -> None:
        self.time = datetime.now(UTC) - VALIDITY + RENEWAL - timedelta(days=10)

    def __call__(self) -> datetime:
        return self.time


async def test_the_certificate_is_replaced_while_the_webhooks_are_served() -> None:
    """What API servers trust and what is served change together, and other replicas may serve the old one meanwhile."""
    clock = Clock()
    async with webhooks(now=clock, check_seconds=0.05) as served:
        first, bundle = await served.certificate(), await served.bundle()
        clock.time = datetime.now(UTC)

        async def replaced() -> bool:
            bundles = await served.bundles()
            if len(bundles) > 1 or bundle in bundles:
                return False
            return (await served.certificate()).serial_number != first.serial_number

        await until(replaced)
        second = await served.certificate()
        assert second.not_valid_after_utc > first.not_valid_after_utc
        authorities = x509.load_pem_x509_certificates(await served.bundle())
        for certificate in (first, second):
            assert any(issued(certificate, authority) for authority in authorities)
        good = {**manifest(), "metadata": {"name": "web", "namespace": "default"}}
        assert (await served.review("/validate", good))["allowed"]


def issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, InvalidSignature):
        return False
    return True


async def test_a_configuration_that_was_created_again_is_completed() -> None:
    """As when somebody deletes it and installs it again; the certificate is good, and stays."""
    async with webhooks(check_seconds=0.05) as served:
        bundle = await served.bundle()
        for document in configured():
            if document["kind"] != "Secret":
                await served.client.delete(RESOURCES[document["kind"]], names.MANAGER)
                await served.client.create(RESOURCES[document["kind"]], document, PartialObject)

        async def completed() -> bool:
            try:
                return await served.bundle() == bundle
            except KeyError:
                return False

        await until(completed)


async def test_replicas_share_one_certificate_and_follow_each_other() -> None:
    clock = Clock()
    async with host() as (_, client):
        one, two = (WebhookCertificate(client, NAMESPACE, now=clock) for _ in range(2))
        await asyncio.gather(one.refresh(), two.refresh())
        assert one._serving == two._serving
        clock.time = datetime.now(UTC)
        before = one._serving
        await asyncio.gather(one.refresh(), two.refresh())
        assert one._serving == two._serving != before


async def test_a_certificate_that_cannot_be_replaced_is_a_problem_once_it_has_expired() -> None:
    clock = Clock()
    async with host() as (_, client):
        certificate = WebhookCertificate(client, NAMESPACE, now=clock)
        await certificate.refresh()
        assert certificate.problem == ""
        await client.delete(SECRETS, WEBHOOK, namespace=NAMESPACE)
        clock.time += VALIDITY + timedelta(days=1)
        with pytest.raises(WebhookError, match="not found"):
            await certificate.refresh()
        assert "expired at 2" in certificate.problem


async def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with host() as (connection, client):
            settings = Settings(admission=True, admission_host="127.0.0.1", admission_port=port)
            with pytest.raises(WebhookError, match=f"127.0.0.1:{port}.*choose another --admission-port"):
                async with shell.admission(connection, client, settings):
                    pass
