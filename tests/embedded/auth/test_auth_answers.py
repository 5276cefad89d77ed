"""Responses of authentication and authorization."""

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, TOKEN, Api
from uniteddeployment.embedded.http import Identity, Request
from uniteddeployment.embedded.serving.tls import identity_of

REVIEWS = "/apis/authorization.k8s.io/v1"


def test_an_unknown_token_is_refused_and_not_repeated() -> None:
    """No error text contains a credential (I12)."""
    response = Api().ask("GET", CONFIGMAPS, token="secret-guess")
    assert response.status == 401
    assert b"secret-guess" not in response.body


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("GET", CONFIGMAPS, 'cannot list resource "configmaps" in API group "" in the namespace "default"'),
        ("GET", f"{CONFIGMAPS}?watch=true", 'cannot watch resource "configmaps"'),
        ("GET", f"{CONFIGMAPS}/a", 'configmaps "a" is forbidden'),
        ("DELETE", "/api/v1/nodes/n", 'cannot delete resource "nodes" in API group "" at the cluster scope'),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/d/scale", 'cannot get resource "deployments/scale"'),
        ("GET", "/api/v1/namespaces/n", 'in the namespace "n"'),
        ("GET", "/apis", 'cannot get path "/apis"'),
    ],
)
def test_an_anonymous_request_is_forbidden_with_a_message(method: str, path: str, text: str) -> None:
    refused = Api().json(method, path, token="", status=403)
    assert text in refused["message"]
    assert "system:anonymous" in refused["message"]


def test_a_client_certificate_is_a_user_with_groups() -> None:
    subject = ((("organizationName", "team"),), (("organizationName", "ops"),), (("commonName", "jane"),))
    assert identity_of({"subject": subject}) == Identity("jane", ("team", "ops"))
    assert identity_of({}) is None
    api = Api()
    assert api.cluster.handle(Request("GET", CONFIGMAPS, peer=Identity("jane"))).status == 403
    assert api.cluster.handle(Request("GET", CONFIGMAPS, peer=Identity("jane", ("system:masters",)))).status == 200


def test_users_may_ask_who_they_are_and_what_they_may() -> None:
    api = Api()
    me = api.json("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, status=201)
    assert me["status"]["userInfo"]["username"] == "admin"
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods"}}
    assert api.json("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec}, status=201)["status"]["allowed"]
    other = {"spec": {"user": "nobody", **spec}}
    assert not api.json("POST", f"{REVIEWS}/subjectaccessreviews", other, status=201)["status"]["allowed"]
    assert api.ask("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {}}).status == 422
    assert api.ask("GET", f"{REVIEWS}/selfsubjectaccessreviews").status == 405


def test_tokens_can_be_reviewed() -> None:
    api = Api()
    url = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert api.json("POST", url, {"spec": {"token": TOKEN}}, status=201)["status"]["authenticated"]
    assert api.json("POST", url, {"spec": {"token": "no"}}, status=201)["status"]["error"] == "invalid bearer token"


def test_an_administrator_can_impersonate_any_user() -> None:
    api = Api()
    jane = {"impersonate-user": "jane", "impersonate-group": "team"}
    refused = api.json("GET", CONFIGMAPS, headers=jane, status=403)
    assert 'User "jane" cannot list resource "configmaps"' in refused["message"]
    assert api.ask("GET", "/apis/apps/v1", headers=jane).status == 200
    me = api.json("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=jane, status=201)
    assert me["status"]["userInfo"] == {"username": "jane", "groups": ["team", "system:authenticated"]}
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods"}}
    requested = api.json("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec}, headers=jane, status=201)
    assert not requested["status"]["allowed"]
    assert api.ask("GET", CONFIGMAPS, headers={**jane, "impersonate-group": "system:masters"}).status == 200
    assert api.ask("GET", CONFIGMAPS, headers=jane, token="").status == 403


@pytest.mark.parametrize(
    ("spec", "status", "text"),
    [
        ({"resourceAttributes": "pods"}, 400, "cannot unmarshal string into Go struct field"),
        ({"user": 5, "resourceAttributes": {}}, 400, "cannot unmarshal number into Go struct field"),
        ({"user": "x", "groups": "team", "resourceAttributes": {}}, 400, "cannot unmarshal string"),
        ({"resourceAttributes": {"verb": "get"}}, 422, "at least one of user or group must be specified"),
        ({"user": "x"}, 422, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
        ({"user": "x", "resourceAttributes": {"fieldSelector": {}}}, 422, "requirements or rawSelector is required"),
    ],
)
def test_invalid_reviews_are_refused(spec: object, status: int, text: str) -> None:
    response = Api().ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
    assert (response.status, text.encode() in response.body) == (status, True), response.body


def test_a_local_review_must_be_in_its_namespace() -> None:
    api = Api()
    url = f"{REVIEWS}/namespaces/default/localsubjectaccessreviews"
    about = {"verb": "list", "resource": "pods", "namespace": "default"}
    body = {"spec": {"user": "x", "resourceAttributes": about}}
    assert api.json("POST", url, body, status=201)["metadata"]["namespace"] == "default"
    assert api.ask("POST", url, body | {"metadata": {"namespace": "other"}}).status == 400
    other = {"spec": {"user": "x", "resourceAttributes": about | {"namespace": "other"}}}
    assert "must match metadata.namespace" in api.json("POST", url, other, status=422)["message"]


def test_unknown_fields_of_a_review_are_warned_of_or_refused() -> None:
    api = Api()
    body = {"spec": {"user": "x", "usr": "y", "resourceAttributes": {"verb": "get"}}}
    assert api.ask("POST", f"{REVIEWS}/subjectaccessreviews", body).warnings == (
        '299 - "unknown field \\"spec.usr\\""',
    )
    assert api.ask("POST", f"{REVIEWS}/subjectaccessreviews?fieldValidation=Strict", body).status == 400


def test_the_rules_of_the_user_are_listed_for_a_namespace() -> None:
    api = Api()
    url = f"{REVIEWS}/selfsubjectrulesreviews"
    status = api.json("POST", url, {"spec": {"namespace": "default"}}, status=201)["status"]
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in status["resourceRules"]
    bob = {"impersonate-user": "bob"}
    status = api.json("POST", url, {"spec": {"namespace": "default"}}, headers=bob, status=201)["status"]
    resources = {resource for item in status["resourceRules"] for resource in item["resources"]}
    assert resources == {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
    assert api.ask("POST", url, {}).status == 400
