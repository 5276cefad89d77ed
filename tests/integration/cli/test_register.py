"""``ud clusters register``: what it creates, what it refuses, and that it leaves nothing half-done."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.cli_kit import NAMESPACE
from tests.integration.cli.clusters_kit import ACCOUNT, KINDS, SYSTEM, Outside, outside, system_namespace
from tests.support.narrowing import present
from uniteddeployment.cli.clusters import registration
from uniteddeployment.cli.clusters.documents import Wish
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.connect import opened
from uniteddeployment.controller.rights import MEMBER
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.kubeconfig import Context
from uniteddeployment.fleet import account
from uniteddeployment.fleet.account import Token
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.resource import Resource
from uniteddeployment_api import names

SECRET = "member-1-member-token"


def nothing_is_left(here: Outside, member: str = "member-1") -> bool:
    return not here.in_member(member) and not here.on_host("clusters") and not here.on_host("secrets")


async def test_a_registered_member_is_connected_with_a_bound_token_and_the_shipped_role(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1", control=True) as here:
        options = ("--labels", "region=eu,tier=prod", "--allow-namespaces", "selector=team=shop", "-o", "json")
        result = await here.register("member-1", *options)
        assert result.exit_code == 0, result.output
        said = json.loads(result.stdout)
        await here.site.until(lambda: here.phase("member-1") == "Running", "the member is connected")

        member = here.clusters["member-1"]
        cluster = here.cluster_object("member-1")
        assert cluster["metadata"]["labels"] == {"region": "eu", "tier": "prod"}
        assert cluster["spec"]["allowedNamespaces"] == {
            "from": "Selector",
            "selector": {"matchLabels": {"team": "shop"}},
        }
        assert cluster["spec"]["server"] == member.server.url == said["server"]
        assert cluster["status"]["clusterUID"] == said["clusterUID"]

        secret = present(here.host.access.get("secrets", NAMESPACE, SECRET))
        assert secret["type"] == names.TOKEN_SECRET_TYPE
        for kind in ("secrets", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"):
            (owner,) = present(here.host.access.get(kind, NAMESPACE, SECRET))["metadata"]["ownerReferences"]
            assert owner["uid"] == cluster["metadata"]["uid"], f"{kind} goes with the Cluster"

        role = present(member.cluster.access.get(*KINDS["clusterroles"]))
        granted = {
            (group, resource, verb, *rule.get("resourceNames", []))
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        assert granted == {(*right, *rule.names) for rule in MEMBER for right in rule.rights()}
        annotations = system_namespace(member.cluster)["metadata"]["annotations"]
        assert annotations[names.ANNOTATION_CLUSTER] == "default/member-1"
        assert annotations[names.ANNOTATION_HOST] == here.site.fleet.host.server.url


async def test_the_same_registration_again_repairs_it_and_keeps_what_users_set(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1") as here:
        first = await here.register("member-1", "--labels", "region=eu", "--allow-namespaces", "all")
        assert first.exit_code == 0, first.output
        before = present(here.host.access.get("secrets", NAMESPACE, SECRET))
        uid = here.cluster_object("member-1")["metadata"]["uid"]
        member = here.clusters["member-1"].cluster
        member.access.delete(*KINDS["clusterroles"])
        await here.site.until(lambda: here.in_member("member-1") == ["namespaces"], "the account goes with its role")

        again = await here.register("member-1")
        assert again.exit_code == 0, again.output
        assert "registered again" in again.stdout
        assert here.in_member("member-1") == list(KINDS)
        cluster = here.cluster_object("member-1")
        assert cluster["metadata"]["uid"] == uid
        assert cluster["metadata"]["labels"] == {"region": "eu"}
        assert cluster["spec"]["allowedNamespaces"] == {"from": "All"}
        assert present(here.host.access.get("secrets", NAMESPACE, SECRET))["data"] != before["data"]


async def test_another_name_and_another_host_are_refused_with_the_first_named(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1", "member-2") as here:
        assert (await here.register("member-1")).exit_code == 0
        twice = await here.register("other", context="member-1")
        assert twice.exit_code == 1
        assert "registered as the Cluster default/member-1" in twice.stderr
        taken = await here.register("member-1", context="host")
        assert taken.exit_code == 1
        assert "the host itself" in taken.stderr
        assert here.on_host("clusters") == ["member-1"]

        namespace = {
            "metadata": {
                "name": SYSTEM,
                "annotations": {
                    names.ANNOTATION_HOST: "https://other:6443",
                    names.ANNOTATION_HOST_UID: "0b4fd3f6",
                    names.ANNOTATION_CLUSTER: "fleet/east",
                },
            }
        }
        owned = here.clusters["member-2"].cluster
        owned.access.create("namespaces", namespace, manager="test")
        refused = await here.register("member-2")
        assert refused.exit_code == 1
        assert "belongs to another host: https://other:6443" in refused.stderr
        assert "Cluster fleet/east" in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert here.in_member("member-2") == ["namespaces"]
        assert (await here.register("member-2", "--owner-lost")).exit_code == 0
        mark = system_namespace(owned)["metadata"]["annotations"]
        assert mark[names.ANNOTATION_CLUSTER] == "default/member-2"
        assert names.ANNOTATION_CREATED not in mark, "the namespace was there before"


async def test_a_kubeconfig_without_rights_is_told_which_are_missing(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1") as here:
        rule = {"apiGroups": [""], "resources": ["namespaces", "pods"], "verbs": ["get", "list"]}
        refused = await here.register("member-1", *here.user("member-1", rule), context="")
        assert refused.exit_code == 1
        assert refused.stderr.count("\n") == 1
        for missing in (
            "watch, create, patch, delete namespaces",
            "create serviceaccounts/token",
            "create, patch, delete clusterroles.rbac.authorization.k8s.io",
            "watch, delete pods",
            "statefulsets.apps",
        ):
            assert missing in refused.stderr
        assert nothing_is_left(here)


async def test_whoever_may_bind_and_escalate_needs_no_right_of_the_role(tmp_path: Path) -> None:
    """RBAC lets them grant rights that they do not have, on real API servers and on embedded ones."""
    async with outside(tmp_path, "member-1") as here:
        rbac = ["clusterroles", "clusterrolebindings"]
        rules = (
            {
                "apiGroups": [""],
                "resources": ["namespaces", "serviceaccounts", "serviceaccounts/token"],
                "verbs": ["*"],
            },
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": rbac, "verbs": ["*"]},
        )
        registered = await here.register("member-1", *here.user("member-1", *rules), context="")
        assert registered.exit_code == 0, registered.output
        assert here.in_member("member-1") == list(KINDS)


async def test_a_registration_that_fails_deletes_what_it_made_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write fails in turn, in a member where the namespace and the account exist already."""
    create, failing = Client.create, ""

    async def failing_create(self: Client, resource: Resource, *args: Any, **options: Any) -> Any:
        step = "/".join(filter(None, (resource.plural, options.get("subresource"))))
        if step == failing and not options.get("dry_run"):
            raise Unreachable(self.name, "cut off")
        return await create(self, resource, *args, **options)

    monkeypatch.setattr(Client, "create", failing_create)
    async with outside(tmp_path, "member-1") as here:
        member = here.clusters["member-1"].cluster
        member.access.create("namespaces", {"metadata": {"name": SYSTEM}}, manager="test")
        existing = {"metadata": {"name": ACCOUNT, "namespace": SYSTEM}}
        member.access.create("serviceaccounts", existing, manager="test")
        for failing in ("clusterroles", "clusterrolebindings", "serviceaccounts/token", "secrets", "clusters", "roles"):
            refused = await here.register("member-1")
            assert refused.exit_code == 1, failing
            assert refused.stderr.splitlines()[-1].endswith("cut off"), failing
            assert here.in_member("member-1") == ["namespaces", "serviceaccounts"], failing
            assert names.ANNOTATION_HOST_UID not in (system_namespace(member)["metadata"].get("annotations") or {})
            assert not here.on_host("clusters"), failing
            assert not here.on_host("secrets"), failing
            assert not here.on_host("roles"), failing
        failing = ""

        async def useless(_client: Client) -> Token:
            return Token("useless", datetime.now(UTC))

        for name, value, said in (
            ("TOKEN_SECONDS", 600, "issues tokens for 10 minutes only"),
            ("issue_token", useless, "the new account does not work in the member"),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(account if name == "TOKEN_SECONDS" else registration, name, value)
                patch.setattr(registration, "PROOF_SECONDS", 0.5)
                refused = await here.register("member-1")
            assert refused.exit_code == 1
            assert said in refused.stderr.splitlines()[-1]
            assert here.in_member("member-1") == ["namespaces", "serviceaccounts"], name
            assert not here.on_host("secrets"), name


class Interrupting(Progress):
    """Interrupts a registration as Ctrl-C does, when the account in the member exists."""

    def done(self, text: str) -> None:
        task = asyncio.current_task()
        if text.startswith("account ") and task is not None:
            task.cancel()


async def test_a_registration_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1") as here:
        on_host, in_member = here.site.fleet.host.connection(), here.clusters["member-1"].connection()
        async with opened(on_host) as host, opened(in_member) as member:
            wish = Wish(NAMESPACE, "member-1", in_member.server, in_member.ca)
            interrupted = registration.Registration(
                host, member, wish, host_address=on_host.server, connection=in_member, progress=Interrupting()
            )
            with pytest.raises(asyncio.CancelledError):
                await interrupted.run()
        await here.site.until(lambda: nothing_is_left(here), "everything is deleted")


async def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1") as here:
        served = here.clusters["member-1"]
        plain, dead = tmp_path / "plain", tmp_path / "dead"
        kubeconfig.write(plain, [Context("m", served.server.url.replace("https", "http"), b"", token="t")])
        kubeconfig.write(dead, [Context("m", "https://127.0.0.1:1", served.server.ca, token="t")])
        wrong = tmp_path / "wrong"
        kubeconfig.write(wrong, [Context("m", served.server.url, served.server.ca, token="t")])
        for options, code, said in (
            (["Member_1", "--context", "member-1"], 2, "not a valid name"),
            (["a.b", "--context", "member-1"], 2, "not a valid name"),
            (["m"], 2, "select the member"),
            (["m", "--context", "nope"], 1, "no context 'nope'"),
            (["m", "--context", "member-1", "--labels", "a=b=c"], 2, "not a label"),
            (["m", "--context", "member-1", "--allow-namespaces", "some"], 2, "same, all or selector="),
            (["m", "--context", "member-1", "-n", "nope"], 1, 'namespaces "nope" not found'),
            (
                ["m", "--context", "member-1", "--server", "https://["],
                2,
                "--server: the address of the API server must be",
            ),
            (["m", "--kubeconfig", str(plain)], 1, "begin with https://"),
            (["m", "--kubeconfig", str(dead)], 1, "cannot be reached: cannot connect to 127.0.0.1:1"),
            (["m", "--kubeconfig", str(wrong)], 1, "refuses the credentials"),
        ):
            place = ["--host-kubeconfig", str(here.kubeconfig)]
            place += [] if "--kubeconfig" in options or options == ["m"] else ["--kubeconfig", str(here.kubeconfig)]
            result = await here.site.ud("clusters", "register", *options, options=place)
            assert (result.exit_code, result.stderr.count("\n")) == (code, 1), result.output
            assert said in result.stderr
        assert nothing_is_left(here)
