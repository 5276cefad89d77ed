"""Escalation checks: nobody grants rights through a role or a binding that they do not hold."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import Api
from tests.embedded.rbac_kit import CLUSTER, DEFAULT, GROUP, ask_as, binding, give, give_everywhere, role, rule, user
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.rules import described, missing
from uniteddeployment.embedded.http import Response

WRITE = rule("create update patch get", "roles rolebindings", GROUP)
WRITE_ALL = rule("create update patch get", "clusterroles clusterrolebindings", GROUP)


@pytest.fixture
def api() -> Api:
    return Api()


def refused(response: Response) -> bool:
    return response.status == 403


def test_a_role_is_written_by_who_holds_its_rules(api: Api) -> None:
    give(api, "bob", WRITE, rule("get list", "pods"))
    assert ask_as(api, "bob", "POST", f"{DEFAULT}/roles", role("less", rule("get", "pods"))).status == 201
    response = ask_as(api, "bob", "POST", f"{DEFAULT}/roles", role("more", rule("get delete", "pods secrets")))
    assert refused(response)
    assert api.json("GET", f"{DEFAULT}/roles/more", status=404)
    assert ask_as(api, "bob", "POST", f"{DEFAULT}/roles", role("none")).status == 201


def test_the_refusal_lists_what_is_missing_in_the_words_of_a_real_server(api: Api) -> None:
    give(api, "bob", WRITE, rule("get", "pods"))
    more = role("more", rule("get list watch", "pods secrets"), rule("get", "nodes", names=["n"]))
    message = api.json("POST", f"{DEFAULT}/roles", more, headers={"impersonate-user": "bob"}, status=403)
    assert message["message"] == (
        f'roles.{GROUP} "more" is forbidden: user "bob" (groups=["system:authenticated"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], ResourceNames:["n"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}'
    )
    assert message["details"] == {"name": "more", "group": GROUP, "kind": "roles"}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "APPLY"])
def test_every_way_of_writing_a_role_is_checked(api: Api, method: str) -> None:
    give(api, "bob", WRITE)
    api.create(f"{DEFAULT}/roles", role("r"))
    change: dict[str, Any] = {"rules": [rule("*", "*", "*")]}
    whole = {"apiVersion": f"{GROUP}/v1", "kind": "Role", **role("r", *change["rules"])}
    response = {
        "PUT": lambda: ask_as(api, "bob", "PUT", f"{DEFAULT}/roles/r", whole),
        "PATCH": lambda: ask_as(
            api, "bob", "PATCH", f"{DEFAULT}/roles/r", change, content="application/merge-patch+json"
        ),
        "APPLY": lambda: ask_as(
            api,
            "bob",
            "PATCH",
            f"{DEFAULT}/roles/r?fieldManager=m&force=true",
            whole,
            content="application/apply-patch+yaml",
        ),
    }[method]()
    assert refused(response), response.body


def test_revocations_and_metadata_changes_are_checked_except_for_owner_references(api: Api) -> None:
    """As on a real server, a user cannot change a role that grants more than they hold, not even its labels."""
    give(api, "bob", WRITE)
    api.create(f"{DEFAULT}/roles", role("r", rule("get list", "secrets")))
    merge = "application/merge-patch+json"
    less = {"rules": [rule("get", "secrets")]}
    assert refused(ask_as(api, "bob", "PATCH", f"{DEFAULT}/roles/r", less, content=merge))
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert refused(ask_as(api, "bob", "PATCH", f"{DEFAULT}/roles/r", labels, content=merge))
    finalizers = {"metadata": {"finalizers": ["example.com/hold"]}}
    assert ask_as(api, "bob", "PATCH", f"{DEFAULT}/roles/r", finalizers, content=merge).status == 200
    assert ask_as(api, "bob", "PATCH", f"{DEFAULT}/roles/r", {"rules": []}, content=merge).status == 200


def test_escalate_and_bind_allow_it_expressly(api: Api) -> None:
    give(api, "eve", WRITE, rule("escalate", "roles", GROUP))
    assert ask_as(api, "eve", "POST", f"{DEFAULT}/roles", role("all", rule("*", "*", "*"))).status == 201
    give(api, "bob", WRITE, rule("bind", "roles", GROUP, names=["all"]), rule("bind", "clusterroles", GROUP))
    assert ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", binding("b", "all", user("x"))).status == 201
    other = binding("c", "cluster-admin", user("x"), kind="ClusterRole")
    assert ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", other).status == 201
    api.create(f"{DEFAULT}/roles", role("others", rule("get", "secrets")))
    assert refused(ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", binding("d", "others", user("x"))))


def test_a_binding_is_made_by_who_holds_the_rules_of_its_role(api: Api) -> None:
    give(api, "bob", WRITE, rule("get", "pods"))
    api.create(f"{DEFAULT}/roles", role("less", rule("get", "pods")))
    assert ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", binding("a", "less", user("x"))).status == 201
    admin = binding("b", "cluster-admin", user("bob"), kind="ClusterRole")
    response = ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", admin)
    assert refused(response)
    assert b'{APIGroups:[\\"*\\"], Resources:[\\"*\\"], Verbs:[\\"*\\"]}' in response.body
    assert b'{NonResourceURLs:[\\"*\\"], Verbs:[\\"*\\"]}' in response.body
    missing_role = ask_as(api, "bob", "POST", f"{DEFAULT}/rolebindings", binding("c", "gone", user("x")))
    assert missing_role.status == 404
    assert b'role.rbac.authorization.k8s.io \\"gone\\" not found' in missing_role.body


def test_rights_in_one_namespace_are_no_rights_to_give_in_the_cluster(api: Api) -> None:
    give(api, "bob", rule("get", "pods"))
    give_everywhere(api, "bob", WRITE_ALL)
    assert refused(ask_as(api, "bob", "POST", f"{CLUSTER}/clusterroles", role("r", rule("get", "pods"))))
    api.create(f"{CLUSTER}/clusterroles", role("pods", rule("get", "pods")))
    bound = binding("b", "pods", user("x"), kind="ClusterRole")
    assert refused(ask_as(api, "bob", "POST", f"{CLUSTER}/clusterrolebindings", bound))


def test_an_aggregated_role_is_written_by_cluster_administrators_alone(api: Api) -> None:
    give_everywhere(api, "bob", WRITE_ALL)
    aggregated = role("r", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    response = ask_as(api, "bob", "POST", f"{CLUSTER}/clusterroles", aggregated)
    assert refused(response)
    assert b"must have cluster-admin privileges to use the aggregationRule" in response.body
    everything: Obj = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    give_everywhere(api, "eve", rule("*", "*", "*"), everything)
    assert ask_as(api, "eve", "POST", f"{CLUSTER}/clusterroles", aggregated).status == 201


@pytest.mark.parametrize(
    ("held", "wanted", "lacking"),
    [
        (rule("get", "*"), rule("get", "pods pods/log"), ""),
        (rule("get", "*/scale", "apps"), rule("get", "deployments/scale", "apps"), ""),
        (rule("get", "*/scale"), rule("get", "pods"), '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
        (rule("get", "pods"), rule("get", "*"), '{APIGroups:[""], Resources:["*"], Verbs:["get"]}'),
        (rule("get", "pods"), rule("*", "pods"), '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'),
        (rule("get", "pods"), rule("get", "pods", names=["a"]), ""),
        (
            rule("get", "pods", names=["a"]),
            rule("get", "pods", names=["a", "b"]),
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
        ),
        (rule("get", "pods", names=["a"]), rule("get", "pods"), '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
        ({"nonResourceURLs": ["/a/*"], "verbs": ["get"]}, {"nonResourceURLs": ["/a/b", "/a/*"], "verbs": ["get"]}, ""),
        (
            {"nonResourceURLs": ["/a"], "verbs": ["get"]},
            {"nonResourceURLs": ["/a/*"], "verbs": ["get"]},
            '{NonResourceURLs:["/a/*"], Verbs:["get"]}',
        ),
    ],
)
def test_coverage_of_one_rule_by_others(held: Obj, wanted: Obj, lacking: str) -> None:
    assert described(missing([held], [wanted])) == lacking
