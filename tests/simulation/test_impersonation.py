"""I15: with spec.impersonate, the RBAC of the member bounds each namespace."""

from typing import Any

import pytest
import yaml

from tests.simulation.test_permission import MERGE, ask, pods, stalled
from tests.support.world import World
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.install import rbac
from uniteddeployment_api import names

RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "system:serviceaccount:shop:tenant"
WORKLOADS = {
    "apiGroups": ["apps"],
    "resources": ["statefulsets", "statefulsets/scale"],
    "verbs": ["create", "patch", "delete"],
}


def impersonate(world: World) -> None:
    """Let the Cluster name the ServiceAccount tenant, in a member that has the namespace shop."""
    world.request(world.clusters["member-1"], "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    path = f"{names.API_PATH}/namespaces/default/{names.CLUSTER_PLURAL}/member-1"
    change = {"allowedNamespaces": {"from": "All"}, "impersonate": {"serviceAccount": "tenant"}}
    world.request(world.host, "PATCH", path, {"spec": change}, **MERGE)


def allow_impersonation(world: World) -> None:
    """Replace the role of the controller in the member by the one that ``ud rbac member --impersonate`` prints."""
    role = yaml.safe_load(rbac.roles("member", "tenant"))
    world.request(world.clusters["member-1"], "PUT", f"{RBAC}/clusterroles/{role['metadata']['name']}", role)


def grant(world: World, *rules: dict[str, Any]) -> None:
    """Grant rights in the namespace shop to its ServiceAccount tenant."""
    member = world.clusters["member-1"]
    world.request(member, "POST", f"{RBAC}/namespaces/shop/roles", {"metadata": {"name": "tenant"}, "rules": rules})
    binding = {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": "shop"}],
    }
    world.request(member, "POST", f"{RBAC}/namespaces/shop/rolebindings", binding)


@pytest.mark.fleet(members=1)
async def test_an_account_that_may_write_workloads_writes_all_of_them(world: World) -> None:
    """The controller writes nothing in the namespace as itself, from the creation to the deletion."""
    writes: list[tuple[str, str]] = []
    member = world.clusters["member-1"]
    member.audit.append(
        lambda event: (
            writes.append((event.attributes.verb, event.user))
            if event.attributes.namespace == "shop"
            and event.attributes.verb in {"create", "patch", "delete"}
            and "uniteddeployment" in event.user_agent
            else None
        )
    )
    impersonate(world)
    allow_impersonation(world)
    grant(world, WORKLOADS)
    ask(world)
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")
    ask(world, replicas=3)
    await world.until(lambda: pods(world) == 3, what="another pod")
    world.delete("web", "shop")
    await world.until(lambda: world.ud("web", "shop") is None and not pods(world), what="deletion")
    assert {verb for verb, _ in writes} >= {"patch", "delete"}
    assert {user for _, user in writes} == {USER}


@pytest.mark.fleet(members=1)
async def test_an_account_without_rights_can_do_nothing_and_the_message_says_what_to_grant(world: World) -> None:
    impersonate(world)
    allow_impersonation(world)
    ask(world)
    await world.until(lambda: stalled(world), what="a refusal")
    for part in ("ServiceAccount tenant in the namespace shop", "create, patch and delete on statefulsets of apps"):
        assert part in stalled(world)
    assert not world.members["member-1"].access.list("statefulsets.apps", "shop")
    grant(world, WORKLOADS)
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")


@pytest.mark.fleet(members=1)
async def test_the_shipped_role_alone_does_not_allow_to_impersonate(world: World) -> None:
    """The controller gets this right only where it is granted, and the message says how."""
    impersonate(world)
    ask(world)
    await world.until(lambda: stalled(world), what="a refusal")
    assert "ud rbac member --impersonate tenant" in stalled(world)
    allow_impersonation(world)
    grant(world, WORKLOADS)
    await world.until(lambda: pods(world) == 2 and not stalled(world), what="pods")


def test_the_role_for_impersonation_is_limited_to_one_name() -> None:
    """Without a name, the controller could act as every ServiceAccount of the member."""
    shipped, extended = (yaml.safe_load(rbac.roles("member", name))["rules"] for name in (None, "tenant"))
    (rule,) = extended[len(shipped) :]
    assert rule == {
        "apiGroups": [""],
        "resources": ["serviceaccounts"],
        "resourceNames": ["tenant"],
        "verbs": ["impersonate"],
    }


@pytest.mark.parametrize(
    ("where", "name"), [("host", "tenant"), ("member", "a\nb"), ("member", "Tenant"), ("member", "")]
)
def test_a_role_that_makes_no_sense_is_not_printed(where: str, name: str) -> None:
    """I11: the name goes into the YAML of a role as it is."""
    with pytest.raises(CommandError, match="--impersonate"):
        rbac.roles(where, name)
