"""Tokens of ServiceAccounts: their users, lifetimes and bound objects."""

import base64
import json
from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, Api, pod
from tests.embedded.rbac_kit import ACCOUNTS, DEFAULT, account, binding, role, rule, token_of
from uniteddeployment.embedded.apimachinery.resources import Obj

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
def api() -> Api:
    created = Api()
    created.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    return created


def status_of(api: Api, token: str) -> int:
    """The status of a request with this token: 403 for an authenticated user without permissions, 401 otherwise."""
    return api.ask("GET", CONFIGMAPS, token=token).status


def claims_of(token: str) -> Obj:
    payload = token.split(".")[1]
    result: Obj = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return result


def review(api: Api, token: str, **spec: Any) -> Obj:
    result: Obj = api.json("POST", REVIEWS, {"spec": {"token": token, **spec}}, status=201)["status"]
    return result


def test_a_token_is_its_service_account_and_has_its_rights(api: Api) -> None:
    token = token_of(api, "sa")
    assert status_of(api, token) == 403
    api.create(f"{DEFAULT}/roles", role("r", rule("list", "configmaps")))
    api.create(f"{DEFAULT}/rolebindings", binding("r", "r", account("sa")))
    assert status_of(api, token) == 200
    me = api.json("POST", WHO, {}, token=token)["status"]["userInfo"]
    assert me["username"] == "system:serviceaccount:default:sa"
    assert me["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert me["uid"] == api.get(f"{ACCOUNTS}/sa")["metadata"]["uid"]


@pytest.mark.parametrize("change", [lambda t: t + "x", lambda t: t[:-4] + "AAAA", lambda t: "x" + t, lambda _: "a.b.c"])
def test_a_modified_token_is_invalid(api: Api, change: Any) -> None:
    token = token_of(api, "sa")
    assert status_of(api, change(token)) == 401
    assert status_of(api, token) == 403


def test_claims_that_were_changed_are_noticed(api: Api) -> None:
    head, payload, signature = token_of(api, "sa").split(".")
    claims = claims_of(f"{head}.{payload}.{signature}") | {"sub": "system:serviceaccount:default:other"}
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    assert status_of(api, f"{head}.{forged}.{signature}") == 401


def test_a_token_of_another_cluster_is_invalid(api: Api) -> None:
    other = Api(seed=2)
    other.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    token_of(api, "sa")
    assert status_of(api, token_of(other, "sa")) == 401


def test_a_token_ends_after_its_time_and_the_leeway_of_a_minute(api: Api) -> None:
    token = token_of(api, "sa", expirationSeconds=600)
    claims = claims_of(token)
    assert claims["exp"] - claims["iat"] == 600
    api.clock.advance(659)
    assert status_of(api, token) == 403
    api.clock.advance(20)
    assert status_of(api, token) == 401
    assert review(api, token)["error"] == "[invalid bearer token, service account token has expired]"


def test_a_token_ends_with_its_account_and_a_new_one_of_the_same_name_does_not_bring_it_back(api: Api) -> None:
    token, unused = token_of(api, "sa"), token_of(api, "sa")
    assert status_of(api, token) == 403
    api.ask("DELETE", f"{ACCOUNTS}/sa")
    assert status_of(api, unused) == 401
    api.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    assert status_of(api, unused) == 401
    assert status_of(api, token) == 403, "a real server remembers an accepted token for ten seconds"
    api.clock.advance(10)
    assert status_of(api, token) == 401


@pytest.mark.parametrize(
    ("kind", "url", "obj"),
    [
        ("Secret", SECRETS, {"metadata": {"name": "bound"}}),
        ("Pod", "/api/v1/namespaces/default/pods", pod("bound", serviceAccountName="sa")),
        ("Node", "/api/v1/nodes", {"metadata": {"name": "bound"}}),
    ],
)
def test_a_bound_token_ends_with_its_object(api: Api, kind: str, url: str, obj: Obj) -> None:
    api.create(url, obj)
    token = token_of(api, "sa", boundObjectRef={"kind": kind, "apiVersion": "v1", "name": "bound"})
    assert status_of(api, token) == 403
    api.ask("DELETE", f"{url}/bound?gracePeriodSeconds=0")
    api.create(url, obj)
    api.clock.advance(11)
    assert status_of(api, token) == 401
    assert review(api, token)["error"] == "[invalid bearer token, service account token has been invalidated]"


def test_a_token_of_a_pod_names_its_node(api: Api) -> None:
    node = api.create("/api/v1/nodes", {"metadata": {"name": "n1"}})
    api.create("/api/v1/namespaces/default/pods", pod("p", serviceAccountName="sa", nodeName="n1"))
    token = token_of(api, "sa", boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    extra = api.json("POST", WHO, {}, token=token)["status"]["userInfo"]["extra"]
    assert extra["authentication.kubernetes.io/node-name"] == ["n1"]
    assert extra["authentication.kubernetes.io/node-uid"] == [node["metadata"]["uid"]]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]


def test_a_token_for_another_audience_is_invalid_here(api: Api) -> None:
    token = token_of(api, "sa", audiences=["vault", "registry"])
    assert status_of(api, token) == 401
    assert 'token audiences ["vault" "registry"] is invalid for the target' in review(api, token)["error"]
    result = review(api, token, audiences=["registry", "other"])
    assert (result["authenticated"], result["audiences"]) == (True, ["registry"])
    assert "authenticated" not in review(api, token, audiences=["other"])


@pytest.mark.parametrize(
    ("request_", "status", "text"),
    [
        ({"spec": {"expirationSeconds": 599}}, 422, "may not specify a duration less than 10 minutes"),
        ({"spec": {"expirationSeconds": 1 << 40}}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"spec": {"expirationSeconds": "1h"}}, 400, "cannot unmarshal string"),
        ({"metadata": {"name": "other"}}, 422, "must match the service account name if specified"),
        ({"metadata": {"uid": "x"}}, 409, "does not match the UID of the service account"),
        ({"spec": {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "Pod", "name": "p"}}}, 400, "apps/v1, Kind=Pod"),
        ({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "gone"}}}, 404, 'nodes \\"gone\\"'),
    ],
)
def test_invalid_token_requests_are_refused(api: Api, request_: Obj, status: int, text: str) -> None:
    response = api.ask("POST", f"{ACCOUNTS}/sa/token", request_)
    assert (response.status, text.encode() in response.body) == (status, True), response.body


def test_a_pod_of_another_account_gives_no_token(api: Api) -> None:
    """A user who may create tokens of one account cannot get those of another through a pod."""
    api.create("/api/v1/namespaces/default/pods", pod("p", serviceAccountName="other"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    assert api.ask("POST", f"{ACCOUNTS}/sa/token", {"spec": {"boundObjectRef": reference}}).status == 400


def test_nothing_of_a_token_is_in_a_refusal(api: Api) -> None:
    """No error text contains a credential (I12)."""
    token = token_of(api, "sa", audiences=["vault"])
    response = api.ask("GET", CONFIGMAPS, token=token)
    assert token.split(".")[2].encode() not in response.body
    assert token not in json.dumps(review(api, token))


def token_secret(name: str, account_name: str = "sa") -> Obj:
    annotations = {"kubernetes.io/service-account.name": account_name}
    return {"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"}


@pytest.fixture
def running() -> Api:
    """With controllers, which fill in and delete token Secrets."""
    created = Api(controllers=True)
    created.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    return created


def held(api: Api, name: str) -> dict[str, str]:
    api.clock.advance(1)
    data = api.get(f"{SECRETS}/{name}").get("data") or {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def test_a_secret_of_the_type_for_tokens_is_filled_in_and_its_token_lasts(running: Api) -> None:
    """config/member relies on this behavior."""
    running.cluster.trust(b"PEM")
    running.create(SECRETS, token_secret("t"))
    result = held(running, "t")
    assert (result["namespace"], result["ca.crt"]) == ("default", "PEM")
    running.clock.advance(10_000_000)
    me = running.json("POST", WHO, {}, token=result["token"])["status"]["userInfo"]
    assert me["username"] == "system:serviceaccount:default:sa"
    assert "extra" not in me
    annotations = running.get(f"{SECRETS}/t")["metadata"]["annotations"]
    assert annotations["kubernetes.io/service-account.uid"] == me["uid"]


def test_a_lasting_token_ends_with_its_secret_its_text_and_its_account(running: Api) -> None:
    for name in ("a", "b", "c"):
        running.create(SECRETS, token_secret(name))
    tokens = {name: held(running, name)["token"] for name in ("a", "b", "c")}
    assert {status_of(running, token) for token in tokens.values()} == {403}
    running.ask("DELETE", f"{SECRETS}/a")
    running.patch(f"{SECRETS}/b", {"data": {"token": None}})
    running.clock.advance(11)
    assert {name: status_of(running, token) for name, token in tokens.items()} == {"a": 401, "b": 401, "c": 403}
    assert status_of(running, held(running, "b")["token"]) == 403, "an emptied Secret gets a new token"
    running.ask("DELETE", f"{ACCOUNTS}/sa")
    running.clock.advance(11)
    assert status_of(running, tokens["c"]) == 401
    assert running.get(SECRETS)["items"] == []


def test_a_secret_for_an_account_that_is_not_there_goes(running: Api) -> None:
    running.create(SECRETS, token_secret("t", "nobody"))
    running.clock.advance(1)
    assert running.ask("GET", f"{SECRETS}/t").status == 404
