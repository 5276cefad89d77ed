"""Rights and their record, with real kubectl: RBAC, tokens of ServiceAccounts, the audit log."""

import os
import subprocess
from pathlib import Path

from tests.support import control_planes
from tests.support.kubectl import kubectl


def run(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "KUBECONFIG": str(config)}
    return subprocess.run([kubectl(), *arguments], env=env, capture_output=True, text=True, check=False)


def test_a_service_account_may_do_what_its_role_says_and_each_request_is_on_record(tmp_path: Path) -> None:
    """What tests of the shipped rights stand on: the rights are enforced, and no request is missing in the record."""
    with control_planes.all_embedded(["one"], tmp_path) as (plane,):
        admin = tmp_path / "admin"
        control_planes.write(admin, plane.config)
        for command in (
            "create serviceaccount robot",
            "create role reader --verb=get,list,watch --resource=pods",
            "create rolebinding reader --role=reader --serviceaccount=default:robot",
        ):
            done = run(admin, *command.split())
            assert done.returncode == 0, done.stderr

        robot = tmp_path / "robot"
        control_planes.write(robot, plane.as_service_account("default", "robot"))
        assert run(robot, "get", "pods").returncode == 0
        assert "system:serviceaccount:default:robot" in run(robot, "auth", "whoami").stdout
        assert run(robot, "auth", "can-i", "list", "pods").stdout == "yes\n"
        assert run(robot, "auth", "can-i", "delete", "pods").stdout == "no\n"
        assert (
            run(admin, "auth", "can-i", "list", "pods", "--as", "system:serviceaccount:default:other").stdout == "no\n"
        )
        refused = run(robot, "get", "secrets")
        assert refused.returncode == 1
        assert 'User "system:serviceaccount:default:robot" cannot list resource "secrets"' in refused.stderr

        asked = [one for one in plane.requests() if one.user == "system:serviceaccount:default:robot" and one.resource]
        rules = {(one.rule, one.status) for one in asked if one.group == ""}
        assert rules == {(("", "pods", "list"), 200), (("", "secrets", "list"), 403)}
