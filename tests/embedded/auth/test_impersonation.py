"""Impersonation with the verbs of 1.36."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, Api
from tests.embedded.rbac_kit import ACCOUNTS, give_everywhere, rule, token_of
from uniteddeployment.embedded.apimachinery.resources import Obj

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
AUTHENTICATION = "authentication.k8s.io"


@pytest.fixture
def api() -> Api:
    created = Api()
    created.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    return created


def give(api: Api, *rules: Obj) -> str:
    """A token of a ServiceAccount with these permissions."""
    give_everywhere(api, "system:serviceaccount:default:sa", *rules)
    return token_of(api, "sa")


def who(api: Api, token: str, **headers: str) -> Any:
    message = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = api.json("POST", WHO, {}, token=token, headers=message)
    return answer["status"]["userInfo"] if answer["kind"] == "SelfSubjectReview" else answer["message"]


def test_impersonation_requires_permission(api: Api) -> None:
    token = give(api)
    refused = api.json("GET", CONFIGMAPS, token=token, headers={"impersonate-user": "bob"}, status=403)
    assert 'cannot impersonate-on:user-info:list resource "configmaps"' in refused["message"]
    assert api.ask("GET", CONFIGMAPS, token=token, headers={"impersonate-user": "bob"}).status == 403


def test_the_old_verb_is_asked_for_each_part_of_the_user(api: Api) -> None:
    token = give(api, rule("impersonate", "users", names=["bob"]), rule("impersonate", "groups", names=["team"]))
    assert who(api, token, impersonate_user="bob") == {"username": "bob", "groups": ["system:authenticated"]}
    assert who(api, token, impersonate_user="bob", impersonate_group="team")["groups"][0] == "team"
    assert "cannot impersonate" in who(api, token, impersonate_user="eve")
    assert 'groups "other" is forbidden' in who(api, token, impersonate_user="bob", impersonate_group="other")
    assert "uids" in who(api, token, impersonate_user="bob", impersonate_uid="1")
    assert "userextras/scope" in who(api, token, impersonate_user="bob", impersonate_extra_scope="s")


def test_service_accounts_are_impersonated_by_namespace_and_name(api: Api) -> None:
    token = give(api, rule("impersonate", "serviceaccounts", names=["other"]))
    result = who(api, token, impersonate_user="system:serviceaccount:kube-system:other")
    assert result["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
        "system:authenticated",
    ]
    assert "forbidden" in who(api, token, impersonate_user="system:serviceaccount:kube-system:more")


def test_constrained_impersonation_needs_the_user_and_the_deed(api: Api) -> None:
    token = give(
        api,
        rule("impersonate:user-info", "users", AUTHENTICATION, names=["bob"]),
        rule("impersonate-on:user-info:list", "configmaps"),
    )
    give_everywhere(api, "bob", rule("list get", "configmaps secrets"))
    bob = {"impersonate-user": "bob"}
    assert api.ask("GET", CONFIGMAPS, token=token, headers=bob).status == 200
    assert api.ask("GET", f"{CONFIGMAPS}/a", token=token, headers=bob).status == 403
    assert api.ask("GET", "/api/v1/secrets", token=token, headers=bob).status == 403
    assert api.ask("GET", CONFIGMAPS, token=token, headers={"impersonate-user": "eve"}).status == 403


def test_constrained_impersonation_never_leads_to_the_masters(api: Api) -> None:
    token = give(
        api,
        rule("impersonate:user-info", "users groups", AUTHENTICATION),
        rule("impersonate-on:user-info:list", "configmaps"),
    )
    masters = {"impersonate-user": "bob", "impersonate-group": "system:masters"}
    refused = api.json("GET", CONFIGMAPS, token=token, headers=masters, status=403)
    assert "impersonating the system:masters group is not allowed" in refused["message"]


def test_the_node_of_a_pod_is_impersonated_by_no_other_pod(api: Api) -> None:
    token = give(
        api,
        rule("impersonate:associated-node", "nodes", AUTHENTICATION),
        rule("impersonate-on:associated-node:create", "selfsubjectreviews", AUTHENTICATION),
    )
    for node in ("n1", "n2"):
        api.create("/api/v1/nodes", {"metadata": {"name": node}})
    spec = {"serviceAccountName": "sa", "nodeName": "n1", "containers": [{"name": "c", "image": "app:1"}]}
    api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
    bound = token_of(api, "sa", boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    assert who(api, bound, impersonate_user="system:node:n1")["groups"] == ["system:nodes", "system:authenticated"]
    assert "forbidden" in who(api, bound, impersonate_user="system:node:n2")
    assert "forbidden" in who(api, token, impersonate_user="system:node:n1")


def test_impersonation_headers_without_a_user_are_a_bad_request(api: Api) -> None:
    refused = api.json("GET", CONFIGMAPS, headers={"impersonate-group": "team"}, status=400)
    assert refused["message"] == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"team"}, Extra:map[string][]string(nil)} without '
        "impersonating a user name"
    )


def test_the_anonymous_user_can_be_impersonated(api: Api) -> None:
    refused = api.json("GET", CONFIGMAPS, headers={"impersonate-user": "system:anonymous"}, status=403)
    assert 'User "system:anonymous" cannot list' in refused["message"]
