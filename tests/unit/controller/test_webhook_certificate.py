"""The Secret with the certificate of the webhooks, and where its authority is published."""

import base64
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, status_answer
from uniteddeployment.controller import certificates
from uniteddeployment.controller.certificates import VALIDITY, Serving
from uniteddeployment.controller.errors import WebhookError
from uniteddeployment.controller.webhook_certificate import WebhookCertificate
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer

NAME = "uniteddeployment-webhook.system.svc"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
GOOD = certificates.make(NAME, NOW)
SECRET = "/api/v1/namespaces/system/secrets/uniteddeployment-webhook"
CONFIGURATIONS = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/uniteddeployment"
    for kind in ("validating", "mutating")
)


def text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def data(serving: Serving) -> dict[str, str]:
    return {"ca.crt": text(serving.authorities), "tls.crt": text(serving.certificate), "tls.key": text(serving.key)}


class Host:
    """A host with a Secret and two configurations. Writes fail with what is in ``refusals`` first."""

    def __init__(self, secret: dict[str, str] | None = None, *, bundles: list[str | None] | None = None) -> None:
        self.secret: dict[str, str] | None = {} if secret is None else secret
        self.bundles = dict.fromkeys(CONFIGURATIONS, bundles if bundles is not None else [None, None])
        self.refusals: list[Answer] = []
        self.written: list[tuple[str, str, Any]] = []
        self.reads = 0
        self.time = NOW
        self.certificate = WebhookCertificate(
            Client(FakeTransport(self._answer), "host"), "system", now=lambda: self.time
        )

    def _answer(self, request: Request) -> Answer:
        if request.method == "PATCH":
            if self.refusals:
                return self.refusals.pop(0)
            body = msgspec.json.decode(request.body)
            self.written.append((request.path, request.headers["content-type"], body))
            if request.path == SECRET:
                self.secret = body["data"]
            return json_answer({"metadata": {"name": "x"}})
        self.reads += 1
        if request.path == SECRET:
            if self.secret is None:
                return status_answer(404, "NotFound", "it is not there")
            return json_answer({"metadata": {"name": "s", "resourceVersion": "7"}, "data": self.secret})
        found = self.bundles.get(request.path)
        if found is None:
            return status_answer(404, "NotFound")
        webhooks = [{"clientConfig": {"caBundle": bundle} if bundle else {}} for bundle in found]
        return json_answer({"metadata": {"name": "c", "resourceVersion": "9"}, "webhooks": webhooks})

    def to(self, path: str) -> list[Any]:
        return [body for where, _, body in self.written if where == path]


async def test_a_missing_certificate_is_made_stored_at_the_version_read_and_published() -> None:
    host = Host()
    await host.certificate.refresh()
    ((written),) = host.to(SECRET)
    assert written["metadata"] == {"resourceVersion": "7"}
    assert written["data"].keys() == {"ca.crt", "tls.crt", "tls.key"}
    stored = Serving(*(base64.b64decode(written["data"][key]) for key in ("ca.crt", "tls.crt", "tls.key")))
    assert stored.valid(NAME, NOW)
    bundle = written["data"]["ca.crt"]
    for path in CONFIGURATIONS:
        assert host.to(path) == [
            [
                {"op": "replace", "path": "/metadata/resourceVersion", "value": "9"},
                {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle},
                {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": bundle},
            ]
        ]
    assert [where for where, *_ in host.written] == [SECRET, *CONFIGURATIONS]
    assert {kind for where, kind, _ in host.written if where != SECRET} == {"application/json-patch+json"}


async def test_a_good_certificate_is_used_and_only_stale_bundles_are_replaced() -> None:
    bundle = text(GOOD.authorities)
    host = Host(data(GOOD), bundles=[bundle, "old", bundle])
    await host.certificate.refresh()
    assert not host.to(SECRET)
    for path in CONFIGURATIONS:
        ((operations),) = host.to(path)
        assert operations[1:] == [{"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": bundle}]
    settled = Host(data(GOOD), bundles=[bundle])
    await settled.certificate.refresh()
    assert settled.written == []


async def test_a_configuration_that_does_not_exist_is_no_error() -> None:
    host = Host(data(GOOD))
    del host.bundles[CONFIGURATIONS[0]]
    await host.certificate.refresh()
    assert [where for where, *_ in host.written] == [CONFIGURATIONS[1]]


@pytest.mark.parametrize("odd", [{"tls.crt": "no base64!"}, {"ca.crt": "AAAA"}, {"other": "AAAA"}])
async def test_what_somebody_else_put_into_the_secret_is_replaced(odd: dict[str, str]) -> None:
    host = Host({**data(GOOD), **odd} if "other" not in odd else odd)
    await host.certificate.refresh()
    assert len(host.to(SECRET)) == 1


async def test_of_two_replicas_one_takes_the_certificate_of_the_other() -> None:
    host = Host()
    host.refusals = [status_answer(409, "Conflict")]
    asked = host._answer

    def faster(request: Request) -> Answer:
        answer = asked(request)
        if answer.status == 409:
            host.secret = data(GOOD)
        return answer

    host.certificate._client = Client(FakeTransport(faster), "host")
    await host.certificate.refresh()
    assert not host.to(SECRET)
    assert host.to(CONFIGURATIONS[0])[0][1]["value"] == text(GOOD.authorities)


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ({}, "Secret system/uniteddeployment-webhook changes too often"),
        (data(GOOD), "ValidatingWebhookConfiguration uniteddeployment changes too often"),
    ],
)
async def test_what_changes_all_the_time_is_given_up_after_five_tries(secret: dict[str, str], message: str) -> None:
    host = Host(secret)
    host.refusals = [status_answer(409, "Conflict")] * 5
    with pytest.raises(WebhookError) as raised:
        await host.certificate.refresh()
    assert str(raised.value) == message
    assert not host.refusals
    four = Host(secret)
    four.refusals = [status_answer(409, "Conflict")] * 4
    await four.certificate.refresh()


async def test_a_host_that_refuses_is_the_reason() -> None:
    host = Host()
    host.secret = None
    with pytest.raises(WebhookError, match=r"^cannot set up the admission webhooks: it is not there$"):
        await host.certificate.refresh()
    with pytest.raises(WebhookError, match=r"^the certificate was not loaded yet$"):
        host.certificate.context()


async def test_an_expired_certificate_is_a_problem_with_its_time() -> None:
    host = Host(data(GOOD))
    assert host.certificate.problem == ""
    await host.certificate.refresh()
    assert host.certificate.problem == ""
    host.time = NOW + VALIDITY - timedelta(seconds=1)
    assert host.certificate.problem == ""
    host.time = NOW + VALIDITY
    expected = f"the certificate of the webhooks expired at {NOW + VALIDITY:%Y-%m-%dT%H:%M:%SZ}"
    assert host.certificate.problem == expected


async def test_a_renewed_certificate_leaves_the_authority_of_the_one_before_in_use() -> None:
    """Other replicas serve with that one until they look at the Secret again."""
    host = Host(data(GOOD))
    host.time = NOW + VALIDITY - timedelta(hours=1)
    await host.certificate.refresh()
    ((written),) = host.to(SECRET)
    assert GOOD.authorities in base64.b64decode(written["data"]["ca.crt"])
    assert base64.b64decode(written["data"]["tls.crt"]) != GOOD.certificate


async def test_each_handshake_uses_the_newest_certificate() -> None:
    host = Host(data(GOOD))
    await host.certificate.refresh()
    outer = host.certificate.context()
    first = host.certificate._context
    host.secret = {}
    await host.certificate.refresh()
    second = host.certificate._context
    assert second is not first

    class Handshake:
        context: ssl.SSLContext | None = None

    handshake: Any = Handshake()
    assert outer.sni_callback is not None
    outer.sni_callback(handshake, "", outer)
    assert handshake.context is second
