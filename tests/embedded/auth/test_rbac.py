"""Authorization by stored roles and bindings."""

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, DEPLOYMENTS, MERGE, Api, configmap, definition, deployment
from tests.embedded.rbac_kit import CLUSTER, DEFAULT, account, ask_as, binding, give, give_everywhere, role, rule, user

SECRETS = "/api/v1/namespaces/default/secrets"
OTHER = "/api/v1/namespaces/kube-public/configmaps"


def allowed(api: Api, name: str, method: str, url: str, **how: object) -> bool:
    return ask_as(api, name, method, url, **how).status != 403


def test_a_user_without_a_role_may_find_out_what_is_served_and_no_more() -> None:
    api = Api()
    assert not allowed(api, "bob", "GET", CONFIGMAPS)
    assert not allowed(api, "bob", "GET", "/metrics")
    for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/version", "/healthz", "/openapi/v3"):
        assert allowed(api, "bob", "GET", path), path


def test_each_verb_stands_for_itself() -> None:
    api = Api()
    api.configmap("a")
    give(api, "bob", rule("get patch", "configmaps"))
    answers = {
        "get": ask_as(api, "bob", "GET", f"{CONFIGMAPS}/a").status,
        "patch": ask_as(api, "bob", "PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "v"}}, content=MERGE).status,
        "update": ask_as(api, "bob", "PUT", f"{CONFIGMAPS}/a", configmap("a")).status,
        "delete": ask_as(api, "bob", "DELETE", f"{CONFIGMAPS}/a").status,
        "list": ask_as(api, "bob", "GET", CONFIGMAPS).status,
        "watch": ask_as(api, "bob", "GET", f"{CONFIGMAPS}?watch=true").status,
        "create": ask_as(api, "bob", "POST", CONFIGMAPS, configmap("b")).status,
        "deletecollection": ask_as(api, "bob", "DELETE", CONFIGMAPS).status,
        "elsewhere": ask_as(api, "bob", "GET", f"{OTHER}/a").status,
    }
    assert {verb: status for verb, status in answers.items() if status != 403} == {"get": 200, "patch": 200}


@pytest.mark.parametrize(
    ("resources", "path", "may"),
    [
        ("deployments", "web", True),
        ("deployments", "web/scale", False),
        ("deployments/scale", "web/scale", True),
        ("deployments/scale", "web", False),
        ("*/scale", "web/scale", True),
        ("*/scale", "web", False),
        ("*", "web", True),
        ("*", "web/scale", True),
        ("statefulsets", "web", False),
    ],
)
def test_resources_of_a_rule_name_subresources_one_by_one(resources: str, path: str, may: bool) -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("web"))
    give(api, "bob", rule("get", resources, "apps"))
    assert allowed(api, "bob", "GET", f"{DEPLOYMENTS}/{path}") is may


def test_the_group_of_a_rule_counts_and_a_star_is_every_group() -> None:
    api = Api()
    give(api, "bob", rule("list", "deployments", ""))
    assert not allowed(api, "bob", "GET", DEPLOYMENTS)
    give(api, "eve", rule("list", "deployments", "*"))
    assert allowed(api, "eve", "GET", DEPLOYMENTS)


def test_names_restrict_what_is_named_and_selected_by_name_and_allow_no_creation() -> None:
    api = Api()
    give(api, "bob", rule("*", "configmaps", names=["a"]))
    assert allowed(api, "bob", "GET", f"{CONFIGMAPS}/a")
    assert not allowed(api, "bob", "GET", f"{CONFIGMAPS}/b")
    assert not allowed(api, "bob", "GET", CONFIGMAPS)
    assert allowed(api, "bob", "GET", f"{CONFIGMAPS}?fieldSelector=metadata.name=a")
    assert allowed(api, "bob", "GET", f"{CONFIGMAPS}?watch=true&fieldSelector=metadata.name==a")
    assert not allowed(api, "bob", "GET", f"{CONFIGMAPS}?fieldSelector=metadata.name=b")
    assert not allowed(api, "bob", "GET", f"{CONFIGMAPS}?fieldSelector=metadata.name!=a")
    assert not allowed(api, "bob", "DELETE", f"{CONFIGMAPS}?fieldSelector=metadata.name=a")
    assert not allowed(api, "bob", "POST", CONFIGMAPS, body=configmap("a"))


def test_an_apply_and_a_put_that_create_need_the_verb_create() -> None:
    api = Api()
    give(api, "bob", rule("patch update", "configmaps limitranges"))
    apply = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
    refused = ask_as(
        api, "bob", "PATCH", f"{CONFIGMAPS}/new?fieldManager=m", apply, content="application/apply-patch+yaml"
    )
    assert refused.status == 403
    assert b'cannot create resource \\"configmaps\\"' in refused.body
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": []}}
    assert ask_as(api, "bob", "PUT", "/api/v1/namespaces/default/limitranges/l", limits).status == 403
    assert api.ask("GET", f"{CONFIGMAPS}/new").status == 404


def test_a_cluster_role_counts_where_it_is_bound() -> None:
    api = Api()
    api.create(f"{CLUSTER}/clusterroles", role("reader", rule("list", "configmaps nodes")))
    api.create(f"{DEFAULT}/rolebindings", binding("b", "reader", user("bob"), kind="ClusterRole"))
    assert allowed(api, "bob", "GET", CONFIGMAPS)
    assert not allowed(api, "bob", "GET", OTHER)
    assert not allowed(api, "bob", "GET", "/api/v1/nodes")
    api.create(f"{CLUSTER}/clusterrolebindings", binding("b", "reader", user("bob"), kind="ClusterRole"))
    assert allowed(api, "bob", "GET", OTHER)
    assert allowed(api, "bob", "GET", "/api/v1/nodes")
    assert allowed(api, "bob", "GET", "/api/v1/configmaps")


def test_paths_are_allowed_by_name_or_by_what_they_begin_with() -> None:
    api = Api()
    give_everywhere(api, "bob", {"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]})
    may = {path: allowed(api, "bob", "GET", path) for path in ("/metrics", "/metrics/x", "/debug/a/b", "/debug")}
    assert may == {"/metrics": True, "/metrics/x": False, "/debug/a/b": True, "/debug": False}
    assert not allowed(api, "bob", "POST", "/metrics")


def test_subjects_are_users_groups_and_service_accounts() -> None:
    api = Api()
    api.create(f"{DEFAULT}/roles", role("r", rule("list", "configmaps")))
    group = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "team"}
    api.create(f"{DEFAULT}/rolebindings", binding("b", "r", user("bob"), group, account("sa")))
    assert allowed(api, "bob", "GET", CONFIGMAPS)
    assert allowed(api, "x", "GET", CONFIGMAPS, headers={"impersonate-group": "other,team"})
    assert allowed(api, "system:serviceaccount:default:sa", "GET", CONFIGMAPS)
    assert not allowed(api, "team", "GET", CONFIGMAPS)
    assert not allowed(api, "system:serviceaccount:kube-system:sa", "GET", CONFIGMAPS)


def test_a_change_of_roles_and_bindings_counts_at_once() -> None:
    """Rules are cached between requests; revoked permissions must not be."""
    api = Api()
    give(api, "bob", rule("list", "configmaps"))
    assert allowed(api, "bob", "GET", CONFIGMAPS)
    api.patch(f"{DEFAULT}/roles/bob", {"rules": [rule("list", "secrets")]})
    assert not allowed(api, "bob", "GET", CONFIGMAPS)
    assert allowed(api, "bob", "GET", SECRETS)
    api.ask("DELETE", f"{DEFAULT}/roles/bob")
    refused = ask_as(api, "bob", "GET", SECRETS)
    assert b'RBAC: role.rbac.authorization.k8s.io \\"bob\\" not found' in refused.body
    api.create(f"{DEFAULT}/roles", role("bob", rule("list", "secrets")))
    assert allowed(api, "bob", "GET", SECRETS)
    api.ask("DELETE", f"{DEFAULT}/rolebindings/bob")
    assert not allowed(api, "bob", "GET", SECRETS)


def test_the_default_roles_for_people_are_there_and_aggregated() -> None:
    api = Api(controllers=True)
    for name in ("view", "edit", "admin"):
        api.create(f"{DEFAULT}/rolebindings", binding(name, name, user(name), kind="ClusterRole"))
    may = {
        name: [
            allowed(api, name, "GET", DEPLOYMENTS),
            allowed(api, name, "GET", SECRETS),
            allowed(api, name, "POST", f"{DEFAULT}/roles", body=role(f"of-{name}")),
        ]
        for name in ("view", "edit", "admin")
    }
    assert may == {"view": [True, False, False], "edit": [True, True, False], "admin": [True, True, True]}
    assert allowed(api, "x", "GET", "/api/v1/nodes", headers={"impersonate-group": "system:masters"})


def test_an_aggregated_role_follows_the_roles_that_it_gathers() -> None:
    api = Api(controllers=True)
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    more = role("things-view", rule("list", "things", "example.com"))
    more["metadata"]["labels"] = labels
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.create(f"{DEFAULT}/rolebindings", binding("b", "view", user("bob"), kind="ClusterRole"))
    api.clock.advance(5)
    things = "/apis/example.com/v1/namespaces/default/things"
    assert not allowed(api, "bob", "GET", things)
    api.create(f"{CLUSTER}/clusterroles", more)
    api.clock.advance(1)
    assert allowed(api, "bob", "GET", things)
    api.patch(f"{CLUSTER}/clusterroles/things-view", {"metadata": {"labels": {next(iter(labels)): None}}})
    api.clock.advance(1)
    assert not allowed(api, "bob", "GET", things)


def test_a_refusal_does_not_reveal_whether_an_object_exists() -> None:
    """A user without read access to a namespace cannot find out which objects exist in it."""
    api = Api()
    api.configmap("there")
    message = [ask_as(api, "bob", "GET", f"{CONFIGMAPS}/{name}").body for name in ("there", "nota")]
    assert message[0].replace(b"there", b"") == message[1].replace(b"nota", b"")
