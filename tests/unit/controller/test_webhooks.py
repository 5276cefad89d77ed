"""The answers of the webhooks: what they refuse and fill in, and what they say to requests that are no reviews."""

import asyncio
import socket
from typing import Any, cast

import kopf
import msgspec
import pytest
from aiohttp import web

from tests.support import planning as make
from uniteddeployment.controller import shell, webhook_server
from uniteddeployment.controller.shell import guard, refuse_cluster, refuse_gate_template, refuse_united_deployment
from uniteddeployment.controller.shell import refuse_united_rollout as refuse_rollout
from uniteddeployment.controller.webhook_server import LARGE_BYTES, WebhookServer
from uniteddeployment_api import names

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("meta", "finalizers"),
    [
        (None, [names.FINALIZER]),
        ({}, [names.FINALIZER]),
        ({"finalizers": None}, [names.FINALIZER]),
        ({"finalizers": ["a"]}, ["a", names.FINALIZER]),
        ({"finalizers": ["a", names.FINALIZER]}, None),
        ({"finalizers": ["a"], **DELETED}, None),
    ],
)
def test_the_finalizer_is_added_beside_those_of_others_unless_the_object_is_being_deleted(
    meta: Any, finalizers: list[str] | None
) -> None:
    patch: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}}
    guard(cast("kopf.Body", {} if meta is None else {"metadata": meta}), patch)
    kept = {"labels": {"a": "b"}}
    assert patch == {"metadata": {**kept, "finalizers": finalizers} if finalizers else kept}
    bare: dict[str, Any] = {}
    guard(cast("kopf.Body", {"metadata": {}}), bare)
    assert bare == {"metadata": {"finalizers": [names.FINALIZER]}}


ROLLOUT = {
    "apiVersion": names.API_VERSION,
    "kind": names.UNITED_ROLLOUT_KIND,
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"targetRef": {"name": "web"}, "steps": [{"replicas": 2}, {"replicas": 1}]},
}
CLUSTER = {
    "apiVersion": names.API_VERSION,
    "kind": names.CLUSTER_KIND,
    "metadata": {"name": "m", "namespace": "default"},
    "spec": {"server": "no url", "credentials": {"secretRef": {"name": "x"}}},
}
TEMPLATE = {
    "apiVersion": names.API_VERSION,
    "kind": names.GATE_TEMPLATE_KIND,
    "metadata": {"name": "x", "namespace": "default"},
    "spec": {"prometheus": {"address": "no url", "query": "up"}},
}
BAD = make.manifest(shares={"a": 5, "b": 9})


@pytest.mark.parametrize(
    ("refuse", "obj", "path"),
    [
        (refuse_united_deployment, BAD, "spec.topology.subsets"),
        (refuse_rollout, ROLLOUT, "spec.steps[1].replicas"),
        (refuse_gate_template, TEMPLATE, "spec.prometheus"),
        (refuse_cluster, CLUSTER, "spec.server"),
    ],
)
def test_what_is_not_valid_is_refused_with_the_path_unless_it_is_being_deleted(
    refuse: Any, obj: dict[str, Any], path: str
) -> None:
    """I11"""
    with pytest.raises(kopf.AdmissionError) as raised:
        refuse(obj, None)
    assert path in str(raised.value)
    assert raised.value.code == 422
    if refuse is not refuse_cluster:
        refuse({**obj, "metadata": {**obj["metadata"], **DELETED}}, None)


def test_valid_objects_pass_whatever_their_status_says() -> None:
    good = {**make.manifest(), "status": {"replicas": "many"}}
    refuse_united_deployment(good, None)
    refuse_united_deployment(good, good)
    rollout = {**ROLLOUT, "spec": {"targetRef": {"name": "web"}, "steps": [{"replicas": 2}]}, "status": 3}
    refuse_rollout(rollout, None)
    cluster = {**CLUSTER, "spec": {**CLUSTER["spec"], "server": "https://m:6443"}, "status": 3}  # type: ignore[dict-item]
    refuse_cluster(cluster, None)


def test_a_change_is_judged_by_the_old_object_unless_that_is_not_valid() -> None:
    """Else nobody could correct it."""
    good = make.manifest()
    changed = {**good, "spec": {**good["spec"], "selector": {"matchLabels": {"app": "web", "b": "c"}}}}
    changed["spec"]["template"] = make.manifest()["spec"]["template"]
    pod = changed["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]
    pod["metadata"]["labels"] = {"app": "web", "b": "c"}
    refuse_united_deployment(changed, None)
    with pytest.raises(kopf.AdmissionError, match=r"spec\.selector"):
        refuse_united_deployment(changed, good)
    refuse_united_deployment(changed, {**good, "spec": {}})


def test_all_errors_are_listed() -> None:
    wrong = make.manifest(shares={"a": {"targetCluster": {"name": "A_"}}, "b": {"targetCluster": {"name": "B_"}}})
    with pytest.raises(kopf.AdmissionError) as raised:
        refuse_united_deployment(wrong, None)
    assert "subsets[0]" in str(raised.value)
    assert "; spec.topology.subsets[1]" in str(raised.value)


def test_kopf_neither_writes_nor_watches() -> None:
    server = cast("Any", object())
    settings = shell._settings(server)
    assert settings.posting.enabled is False
    assert settings.scanning.disabled is True
    assert settings.process.ultimate_exiting_timeout is None
    assert settings.persistence.finalizer == "uniteddeployment.io/never"
    assert settings.admission.server is server


class Asked:
    """A request to the server."""

    def __init__(self, body: bytes | Exception, size: int | None = 10) -> None:
        self.match_info, self.headers = {"id": "validate"}, {"a": "b"}
        self.body, self.content_length = body, size

    async def read(self) -> bytes:
        if isinstance(self.body, Exception):
            raise self.body
        return self.body


REVIEW = {
    "request": {
        "uid": "review",
        "object": {"metadata": {"uid": "u", "name": "x"}},
        "oldObject": {"metadata": {"uid": "u"}},
    }
}


def server() -> WebhookServer:
    return WebhookServer(cast("Any", None), cast("Any", None), lambda: None)


async def answered(asked: Asked, review: Any) -> tuple[int, str, str]:
    response = await server()._answer(review, cast("web.Request", asked))
    assert isinstance(response.body, bytes)
    return response.status, response.content_type, response.body.decode()


async def test_a_review_is_answered_in_json_and_kopf_learns_no_uid() -> None:
    seen: list[Any] = []

    async def review(asked: Any, **options: Any) -> Any:
        seen.append((asked, options))
        return {"response": {"allowed": True}}

    found = await answered(Asked(msgspec.json.encode(REVIEW)), review)
    assert found == (200, "application/json", '{"response":{"allowed":true}}')
    request = {"uid": "review", "object": {"metadata": {"name": "x"}}, "oldObject": {"metadata": {}}}
    assert seen == [({"request": request}, {"webhook": "validate", "headers": {"a": "b"}})]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (
            web.HTTPRequestEntityTooLarge(1, 2),
            413,
            "the AdmissionReview has more than 8 MiB: make the object smaller",
        ),
        (b"[", 400, "the body is not an AdmissionReview in JSON"),
        (b"[]", 400, "the body is not an AdmissionReview in JSON"),
        (b"\xff\xfe", 400, "the body is not an AdmissionReview in JSON"),
        (b"{}", 400, "the AdmissionReview cannot be answered: KeyError"),
    ],
)
async def test_what_is_no_review_is_refused_in_words(body: Any, status: int, text: str) -> None:
    async def review(_asked: Any, **_options: Any) -> Any:
        raise KeyError("secret")

    assert await answered(Asked(body), review) == (status, "text/plain", text)


@pytest.mark.parametrize(
    ("size", "at_once"), [(LARGE_BYTES - 1, 2), (LARGE_BYTES, 1), (LARGE_BYTES + 1, 1), (None, 1), (0, 2)]
)
async def test_large_reviews_are_processed_one_at_a_time(size: int | None, at_once: int) -> None:
    running = most = 0

    async def review(_asked: Any, **_options: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return {}

    one = server()
    large = cast("web.Request", Asked(b"{}", size))
    await asyncio.gather(*(one._answer(review, large) for _ in range(2)))  # type: ignore[arg-type]  # it takes any keywords
    assert most == at_once


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("", None)])
def test_the_webhooks_listen_where_they_are_told(host: str, family: Any) -> None:
    with webhook_server.listen(host, 0) as found:
        port = found.getsockname()[1]
        if family is not None:
            assert (found.family, found.getsockname()[0]) == (family, host)
        with socket.create_connection(("127.0.0.1", port), 5):
            pass
        with pytest.raises(OSError, match="in use"), webhook_server.listen(host, port):
            pass
