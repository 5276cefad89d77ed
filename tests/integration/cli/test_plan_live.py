"""``ud plan`` on live clusters: it reports what blocks a plan, and writes nothing (I3, I11)."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.integration.cli.cli_kit import NAMESPACE, Site, site
from tests.support.applications import DEPLOYMENT, application
from tests.support.planning import manifest
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube.resource import SECRETS, STATEFULSETS, Resource

BLOCKED = 4
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


def two_members(name: str = "web", **changes: Any) -> dict[str, Any]:
    document = application(**changes)
    document["metadata"]["name"] = name
    subsets = [{"name": one, "targetCluster": {"name": one}} for one in ("member-1", "member-2")]
    document["spec"]["topology"]["subsets"] = subsets
    return document


def container(document: dict[str, Any]) -> dict[str, Any]:
    (template,) = document["spec"]["template"].values()
    found: dict[str, Any] = template["spec"]["template"]["spec"]["containers"][0]
    return found


async def planned(made: Site, document: dict[str, Any], code: int = 0) -> dict[str, Any]:
    result = await made.ud("plan", "-f", "-", "-o", "json", stdin=yaml.safe_dump(document))
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)[0]
    return found


async def troubles(made: Site, document: dict[str, Any]) -> dict[str, str]:
    """Subset -> why it cannot be planned."""
    found = await planned(made, document, BLOCKED)
    return {one["subset"]: one["message"] for one in found["troubles"]}


def versions(made: Site) -> dict[str, list[str]]:
    """The resource versions of workloads, namespaces and applications, which planning must not change."""
    kinds = ("statefulsets.apps", "deployments.apps", "namespaces", "uniteddeployments.uniteddeployment.io")
    found = {}
    for cluster in made.clients:
        access = made.served(cluster).cluster.access
        present = [kind for kind in kinds if cluster == "host" or "united" not in kind]
        objects = [obj for kind in present for obj in access.list(kind)]
        found[cluster] = [f"{obj['metadata']['name']} {obj['metadata']['resourceVersion']}" for obj in objects]
    return found


async def test_each_problem_is_reported_with_its_subset_and_nothing_is_written(tmp_path: Path) -> None:
    async with site(tmp_path, members=2, control=False) as made:
        taken: dict[str, Any] = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "taken-member-1"},
            "spec": application()["spec"]["template"]["statefulSetTemplate"]["spec"]
            | {"selector": {"matchLabels": {"app": "web"}}, "replicas": 0},
        }
        await made.clients["member-1"].create(STATEFULSETS, taken, dict[str, Any], namespace=NAMESPACE)
        before = versions(made)

        assert (await planned(made, two_members()))["troubles"] == []

        found = await troubles(made, two_members("taken"))
        assert list(found) == ["member-1"]
        assert "StatefulSet taken-member-1 exists in default/member-1" in found["member-1"]

        wrong = two_members("typo", kind=DEPLOYMENT)
        container(wrong)["ports"] = [{"containerPort": "http"}]
        found = await troubles(made, wrong)
        assert list(found) == ["member-1", "member-2"]
        assert "containerPort" in found["member-2"]

        invalid = two_members("invalid")
        container(invalid)["imagePullPolicy"] = "Sometimes"
        assert "imagePullPolicy" in (await troubles(made, invalid))["member-1"]

        clone = two_members("clone")
        clone["spec"]["template"] = {"cloneSetTemplate": clone["spec"]["template"]["statefulSetTemplate"]}
        del clone["spec"]["template"]["cloneSetTemplate"]["spec"]["serviceName"]
        assert "does not serve CloneSet" in (await troubles(made, clone))["member-1"]

        unknown = two_members("unknown")
        unknown["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "nowhere"}
        found = await troubles(made, unknown)
        assert found == {"member-2": "default/nowhere: there is no Cluster object of this name"}

        text = await made.ud("plan", "-f", "-", stdin=yaml.safe_dump(unknown))
        assert text.exit_code == BLOCKED
        assert "✖ default/nowhere: there is no Cluster object of this name" in text.stdout
        assert text.stderr == "error: 1 part of the plan cannot be carried out\n"
        assert versions(made) == before


async def test_an_unreachable_member_is_reported(tmp_path: Path) -> None:
    """I8"""
    async with site(tmp_path, members=2, control=False) as made:
        credentials = {"data": {"token": "bm90LWEtdG9rZW4="}}
        await made.host.merge_patch(SECRETS, "member-2-credentials", credentials, dict[str, Any], namespace=NAMESPACE)
        await made.host.merge_patch(
            CLUSTERS, "member-1", {"spec": {"suspended": True}}, dict[str, Any], namespace=NAMESPACE
        )
        found = await troubles(made, two_members())
        assert "suspended" in found["member-1"]
        assert "refuse" in found["member-2"] or "Unauthorized" in found["member-2"]


async def test_a_namespace_that_a_member_lacks_is_no_problem(tmp_path: Path) -> None:
    """The controller creates it together with the first workload."""
    async with site(tmp_path, members=1, control=False) as made:
        document = two_members()
        document["metadata"]["namespace"] = "shop"
        for subset in document["spec"]["topology"]["subsets"]:
            subset["targetCluster"] = {"namespace": NAMESPACE, "name": "member-1"}
        await made.host.create(
            Resource("", "v1", "namespaces", "Namespace", namespaced=False),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
            dict[str, Any],
        )
        refused = (await troubles(made, document)).values()
        assert all("spec.allowedNamespaces" in message for message in refused)
        assert refused
        labels = {"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}
        allowed = {"spec": {"allowedNamespaces": labels}}
        await made.host.merge_patch(CLUSTERS, "member-1", allowed, dict[str, Any], namespace=NAMESPACE)
        assert (await planned(made, document))["troubles"] == []


async def test_a_change_is_validated_against_the_existing_object(tmp_path: Path) -> None:
    """Changes of immutable fields are refused, and annotations of the manifest count."""
    async with site(tmp_path, members=2) as made:
        await made.apply(two_members())
        await made.wait_settled()
        assert "Nothing to do." in await made.said("plan", "-f", "-", stdin=yaml.safe_dump(two_members()))

        other = two_members()
        other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
        pods = other["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]
        pods["metadata"]["labels"] = {"app": "other"}
        result = await made.ud("plan", "-f", "-", stdin=yaml.safe_dump(other))
        assert result.exit_code == 2
        assert "spec.selector: the selector is immutable" in result.stderr

        grown = two_members(replicas=12)
        assert [step["do"] for step in (await planned(made, grown))["steps"]] == ["scale", "scale"]
        grown["metadata"]["annotations"] = {"uniteddeployment.io/ignore-differences": "spec.replicas"}
        found = await planned(made, grown)
        assert [one["replicas"] for one in found["subsets"]] == [4, 4]
        assert "ignore-differences" in found["subsets"][0]["reason"]


async def test_the_loss_of_a_member_is_planned_for_applications_of_the_host(tmp_path: Path) -> None:
    """Nothing is written, whatever is assumed."""
    async with site(tmp_path, members=2) as here:
        await here.apply(manifest(shares={"member-1": 3, "member-2": None}, replicas=5))
        await here.wait_settled()
        before = here.ud_object()
        (plan,) = await here.json("plan", "web", "--without", "member-2")
        assert plan["without"] == ["default/member-2"]
        reach = {subset["name"]: subset["reach"] for subset in plan["subsets"]}
        assert reach == {"member-1": "Ready", "member-2": "Offline"}
        assert not plan["troubles"]
        shown = await here.said("plan", "--without", "member-1", "--without", "default/member-2")
        assert "If default/member-1 and default/member-2 were lost for longer than the grace period:" in shown
        assert (await here.json("plan", "web"))[0]["subsets"][1]["reach"] == "Ready"
        for arguments, code, said in (
            (["web", "--without", "membr-2"], 2, "did you mean"),
            (["wep"], 1, "did you mean web?"),
            (["--offline", "--without", "member-1", "-f", "x"], 2, "--offline"),
            (["web", "-f", "x"], 2, "not both"),
            ([], 2, "--without CLUSTER"),
        ):
            refused = await here.ud("plan", *arguments)
            assert (refused.exit_code, refused.stderr.count("\n")) == (code, 1), refused.output
            assert said in refused.stderr
        assert here.ud_object() == before
