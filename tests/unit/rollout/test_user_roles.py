"""The roles for users: who may look at rollouts, who may change their plans, and who may give commands."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.api.host_kit import Host
from tests.unit.rollout.test_api import EXAMPLE, PATH
from uniteddeployment.embedded.http import Identity, Request

ROLES = Path(__file__).parents[3] / "config" / "rollout" / "user_roles.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PREFIX = "uniteddeployment-rollout-"
COMMAND = {"status": {"commands": {"1": {"verb": "pause"}}}}
PLAN = {"spec": {"steps": [{"replicas": "100%"}]}}


@pytest.fixture(scope="module")
def host() -> Host:
    """A host with a rollout, and a user for each role who has this role and no other in the namespace."""
    host = Host()
    for role in yaml.safe_load_all(ROLES.read_text()):
        assert host.ask("POST", f"{RBAC}/clusterroles", role)[0] == 201
        name = role["metadata"]["name"]
        user = name.removeprefix(PREFIX)
        host._cluster.tokens[user] = Identity(user, ("system:authenticated",))
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }
        assert host.ask("POST", f"{RBAC}/namespaces/default/rolebindings", binding)[0] == 201
    assert host.ask("POST", PATH, EXAMPLE)[0] == 201
    return host


def asked(host: Host, user: str, method: str, path: str, body: dict[str, Any] | None = None) -> int:
    headers = {"authorization": f"Bearer {user}", "content-type": "application/merge-patch+json"}
    encoded = b"" if body is None else json.dumps(body).encode()
    return host._cluster.handle(Request(method, path, (), headers, encoded)).status


@pytest.mark.parametrize(
    ("user", "reads", "changes_the_plan", "gives_commands"),
    [("view", 200, 403, 403), ("edit", 403, 200, 403), ("commands", 200, 403, 200)],
)
def test_each_role_allows_what_it_is_for_and_nothing_else(
    host: Host, user: str, reads: int, changes_the_plan: int, gives_commands: int
) -> None:
    """Kubernetes' own roles edit and admin include view, so edit needs no rights to read."""
    assert asked(host, user, "GET", f"{PATH}/web") == reads
    assert asked(host, user, "PATCH", f"{PATH}/web", PLAN) == changes_the_plan
    assert asked(host, user, "PATCH", f"{PATH}/web/status", COMMAND) == gives_commands


def test_a_command_with_the_right_to_edit_is_ignored(host: Host) -> None:
    """The main resource does not accept a status, so the permission to edit is no permission to approve."""
    assert asked(host, "edit", "PATCH", f"{PATH}/web", {"status": {"commands": {"9": {"verb": "pause"}}}}) == 200
    assert "9" not in host.ask("GET", f"{PATH}/web")[1].get("status", {}).get("commands", {})


def test_commands_are_part_of_admin_and_not_of_edit() -> None:
    labels = {role["metadata"]["name"]: role["metadata"]["labels"] for role in yaml.safe_load_all(ROLES.read_text())}
    aggregated = {
        name.removeprefix(PREFIX): {key.rpartition("-")[2] for key, value in entries.items() if value == "true"}
        for name, entries in labels.items()
    }
    assert aggregated == {"view": {"view"}, "edit": {"edit", "admin"}, "commands": {"admin"}}
