"""How the rules of the roles are put together."""

from uniteddeployment.controller import rights
from uniteddeployment.controller.rights import Rule
from uniteddeployment.kube.resource import NAMESPACES, NODES, PODS, SERVICEACCOUNTS


def test_a_rule_has_each_verb_on_each_resource() -> None:
    rule = rights._rule("why", "get  list", PODS, NODES)
    assert rule == Rule("why", "", ("pods", "nodes"), ("get", "list"))
    assert rights.rights([rule]) == {
        ("", "pods", "get"),
        ("", "pods", "list"),
        ("", "nodes", "get"),
        ("", "nodes", "list"),
    }
    assert rights._rule("why", "create", SERVICEACCOUNTS, subresource="token", only="us") == Rule(
        "why", "", ("serviceaccounts/token",), ("create",), ("us",)
    )
    assert rights._rule("why", "get", NAMESPACES, only="n").names == ("n",)


def test_workloads_have_a_rule_for_each_api_group_and_one_to_scale_them() -> None:
    verbs = ("get", "list", "watch", "create", "patch", "delete")
    kinds = (
        ("apps", ("statefulsets", "deployments")),
        ("apps.kruise.io", ("clonesets", "statefulsets")),
    )
    found = {(rule.why, rule.group): rule for rule in rights._workloads()}
    assert len(found) == 4
    for group, plurals in kinds:
        manage, scale = found[f"Manage the workloads of {group}.", group], found["Scale them.", group]
        assert (sorted(manage.resources), manage.verbs, manage.names) == (sorted(plurals), verbs, ())
        assert sorted(scale.resources) == sorted(f"{plural}/scale" for plural in plurals)
        assert (scale.verbs, scale.names) == (("patch",), ())


def test_the_rules_that_depend_on_the_fleet_are_for_one_name_only() -> None:
    """The controller may write no other Secret, and act as no other account."""
    assert rights.token_storage("m-token") == Rule(
        "Store new tokens for the member.", "", ("secrets",), ("patch",), ("m-token",)
    )
    assert rights.impersonation("deployer") == Rule(
        "Write the workloads of applications as this ServiceAccount of their namespaces.",
        "",
        ("serviceaccounts",),
        ("impersonate",),
        ("deployer",),
    )
