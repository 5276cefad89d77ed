"""The commands with the rights of an ordinary user, and their messages if a right is missing."""

from pathlib import Path
from typing import Any

from tests.integration.cli.cli_kit import NAMESPACE, Site, site
from tests.support.planning import manifest
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.kubeconfig import Context

SAMPLE = Path(__file__).parents[3] / "config" / "samples" / "web.yaml"
TOKEN = "token-of-the-user"
RBAC = "rbac.authorization.k8s.io"
UDS = {"apiGroups": ["uniteddeployment.io"], "resources": ["uniteddeployments"], "verbs": ["get", "list", "watch"]}
REVISIONS = {"apiGroups": ["apps"], "resources": ["controllerrevisions"], "verbs": ["list"]}


def user(here: Site, folder: Path, *rules: dict[str, Any]) -> list[str]:
    """The options with which ``ud`` works as a user who has these rights in the namespace of the application."""
    access, server = here.fleet.host.cluster.access, here.fleet.host.server
    role: dict[str, Any] = {"metadata": {"name": "user", "namespace": NAMESPACE}, "rules": list(rules)}
    access.create(f"roles.{RBAC}", role, manager="test")
    binding = {
        "metadata": {"name": "user", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "user"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "user"}],
    }
    access.create(f"rolebindings.{RBAC}", binding, manager="test")
    file = folder / "user"
    here.fleet.host.cluster.tokens[TOKEN] = Identity("user", ("system:authenticated",))
    kubeconfig.write(file, [Context("user", server.url, server.ca, token=TOKEN)])
    return ["--kubeconfig", str(file)]


async def test_the_rights_of_the_documentation_are_enough_to_show_applications(tmp_path: Path) -> None:
    async with site(tmp_path, members=0, control=False) as here:
        await here.apply(manifest(shares={"a": None}, replicas=2))
        options = user(here, tmp_path, UDS, REVISIONS)
        assert "web" in (await here.ud("get", options=options)).stdout
        assert "web" in (await here.ud("get", "web", options=options)).stdout
        assert (await here.ud("history", "web", options=options)).exit_code == 0
        waiting = await here.ud("wait", "web", "--timeout", "0.5s", options=options)
        assert waiting.exit_code == 3
        missing = await here.ud("get", "nope", options=options)
        assert missing.stderr == 'error: uniteddeployments.uniteddeployment.io "nope" not found (namespace default)\n'


COMMANDS = [
    ["get"],
    ["get", "web"],
    ["wait", "web"],
    ["history", "web"],
    ["undo", "web"],
    ["plan", "-f", str(SAMPLE)],
    ["adopt", "web", "--owner-lost"],
    ["adopt", "sts/web", "--name", "web"],
]


async def test_a_missing_right_is_one_line_that_names_it(tmp_path: Path) -> None:
    async with site(tmp_path, members=0, control=False) as here:
        options = user(here, tmp_path)
        for command in COMMANDS:
            result = await here.ud(*command, options=options)
            assert (result.exit_code, result.stdout) == (1, ""), command
            assert result.stderr.startswith("error: ")
            assert result.stderr.count("\n") == 1
            assert 'User "user" cannot' in result.stderr
