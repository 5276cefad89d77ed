"""``ud adopt``: workloads on the host or in members are taken over without a restart."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.cli.cli_kit import NAMESPACE, Site, site
from tests.support.narrowing import present
from uniteddeployment.kube.resource import CONFIGMAPS, DEPLOYMENTS, STATEFULSETS, Resource
from uniteddeployment_api import names

NAME = {"metadata": {"name": "web"}}
TITLE = "uniteddeployments.uniteddeployment.io/web"
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
RESOURCES = {"sts": STATEFULSETS, "deploy": DEPLOYMENTS}


def workload(word: str, *, replicas: int = 3, name: str = "web", **metadata: Any) -> dict[str, Any]:
    resource = RESOURCES[word]
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web", "team": "shop"}},
            "spec": {"containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 80}]}]},
        },
    }
    if word == "sts":
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "zonal",
            },
        }
        spec |= {"serviceName": "web", "volumeClaimTemplates": [claim], "podManagementPolicy": "Parallel"}
    return {
        "apiVersion": "apps/v1",
        "kind": resource.kind,
        "metadata": {"name": name, "labels": {"team": "shop"}, **metadata},
        "spec": spec,
    }


async def run(here: Site, cluster: str, word: str) -> None:
    """Create the workload and the StorageClass of its volumes."""
    storage = {"metadata": {"name": "zonal"}, "provisioner": "embedded/zonal"}
    await here.clients[cluster].create(STORAGE_CLASSES, storage, dict)
    await here.run(cluster, RESOURCES[word], workload(word))


@pytest.mark.parametrize("word", ["sts", "deploy"])
@pytest.mark.parametrize("place", ["host", "member-1"])
async def test_a_workload_is_taken_over_and_then_rolled_out(tmp_path: Path, word: str, place: str) -> None:
    """I13: no pod restarts."""
    async with site(tmp_path) as here:
        await run(here, place, word)
        before = here.uids(place)
        where = [] if place == "host" else ["--cluster", place]
        done = await here.ud("adopt", f"{word}/web", "--name", "web", "--apply", *where)
        assert done.stdout == f"{TITLE} created\n", done.output
        await here.wait_settled()
        assert here.uids(place) == before
        status = here.ud_object()["status"]
        assert status["readyReplicas"] == status["updatedReplicas"] == 3
        taken = present(here.served(place).cluster.access.get(f"{RESOURCES[word].plural}.apps", NAMESPACE, "web"))
        assert taken["metadata"]["annotations"][names.ANNOTATION_OWNER] == "default/web"

        changed = copy.deepcopy(here.ud_object())
        field = "statefulSetTemplate" if word == "sts" else "deploymentTemplate"
        changed["spec"]["template"][field]["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
        wanted = {key: changed[key] for key in ("apiVersion", "kind", "spec")}
        await here.apply({**wanted, **NAME})
        await here.wait_settled()
        assert {pod["spec"]["containers"][0]["image"] for pod in here.pods(place)} == {"app:2"}
        assert len(here.pods(place)) == 3


async def test_the_printed_object_is_the_one_that_apply_creates(tmp_path: Path) -> None:
    async with site(tmp_path, control=False) as here:
        await run(here, "member-1", "sts")
        printed = yaml.safe_load(await here.said("adopt", "sts/web", "--name", "shop", "--cluster", "member-1"))
        assert printed["metadata"] == {"name": "shop", "namespace": "default"}
        assert printed["spec"]["topology"] == {
            "subsets": [{"name": "member-1", "targetCluster": {"name": "member-1"}, "adopt": {"name": "web"}}]
        }
        assert printed["spec"]["replicas"] == 3
        assert here.ud_object("shop") is None
        await here.said("adopt", "sts/web", "--name", "shop", "--cluster", "member-1", "--apply")
        stored = here.ud_object("shop")
        assert stored["spec"]["template"] == printed["spec"]["template"], "nothing of it is unknown to the host"
        again = await here.ud("adopt", "sts/web", "--name", "shop", "--cluster", "member-1", "--apply")
        assert again.exit_code == 1
        assert again.stderr == (
            "error: uniteddeployments.uniteddeployment.io/shop exists already; choose another --name\n"
        )


async def test_a_workload_that_cannot_be_taken_over_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with site(tmp_path, control=False) as here:
        above = {"metadata": {"name": "owner"}}
        made = await here.clients["host"].create(CONFIGMAPS, above, dict, namespace=NAMESPACE)
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": made["metadata"]["uid"]}
        owned = workload("sts", name="owned", ownerReferences=[{**owner, "controller": True}])
        await here.clients["host"].create(STATEFULSETS, owned, dict, namespace=NAMESPACE)
        paused = workload("deploy", name="paused")
        paused["spec"]["paused"] = True
        await here.clients["host"].create(DEPLOYMENTS, paused, dict, namespace=NAMESPACE)

        async def problem(*arguments: Any) -> tuple[int, str]:
            result = await here.ud("adopt", *arguments, "--name", "x")
            assert result.stdout == ""
            return result.exit_code, result.stderr

        assert await problem("sts/owned") == (
            1,
            "error: StatefulSet owned cannot be adopted: it is controlled by ConfigMap owner\n",
        )
        resume = "kubectl rollout resume deployment/paused"
        assert await problem("deploy/paused") == (
            1,
            f"error: Deployment paused cannot be adopted: it is paused: run {resume} first\n",
        )
        assert await problem("sts/none") == (
            1,
            'error: statefulsets.apps "none" not found (namespace default of host)\n',
        )
        code, said = await problem("ds/web")
        assert code == 2
        assert "name a StatefulSet (sts/NAME) or a Deployment (deploy/NAME)" in said
        code, said = await problem("sts/web", "--cluster", "nowhere")
        assert (code, said) == (1, 'error: clusters.uniteddeployment.io "nowhere" not found (namespace default)\n')


async def test_the_partition_of_a_workload_is_taken_over_and_holds_the_next_template(tmp_path: Path) -> None:
    """I6"""
    async with site(tmp_path) as here:
        held = workload("sts")
        del held["spec"]["volumeClaimTemplates"]
        held["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await here.run("member-1", STATEFULSETS, held)
        before = here.uids("member-1")
        await here.said("adopt", "sts/web", "--name", "web", "--cluster", "member-1", "--subset", "a", "--apply")
        await here.wait_settled()
        assert here.uids("member-1") == before
        spec = copy.deepcopy(here.ud_object()["spec"])
        assert spec["updateStrategy"]["manualUpdate"]["partitions"] == {"a": 2}

        spec["template"]["statefulSetTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
        await here.apply({"apiVersion": names.API_VERSION, "kind": "UnitedDeployment", "spec": spec, **NAME})
        await here.wait_settled()
        images = [pod["spec"]["containers"][0]["image"] for pod in here.pods("member-1")]
        assert sorted(images) == ["app:1", "app:1", "app:2"]
        listed = (await here.json("history", "web"))["revisions"]
        assert [one["subsets"][0]["replicas"] for one in listed] == [2, 1]

        refused = await here.ud("adopt", "sts/web", "--name", "other", "--cluster", "member-1")
        assert refused.stderr == (
            "error: StatefulSet web in member-1 cannot be adopted: it belongs to the UnitedDeployment default/web\n"
        )


async def test_the_same_workload_of_several_members_becomes_one_application(tmp_path: Path) -> None:
    """I13: no pod restarts, and each subset keeps its replicas."""
    async with site(tmp_path, members=2) as here:
        for member, replicas in (("member-1", 3), ("member-2", 1)):
            await here.run(member, DEPLOYMENTS, workload("deploy", replicas=replicas))
        before = {member: here.uids(member) for member in ("member-1", "member-2")}
        clusters = ["--cluster", "member-1", "--cluster", "member-2"]
        await here.said("adopt", "deploy/web", "--name", "web", *clusters, "--apply")
        await here.wait_settled()
        assert {member: here.uids(member) for member in before} == before

        spec = copy.deepcopy(here.ud_object()["spec"])
        spec["replicas"] = 8
        await here.apply({"apiVersion": names.API_VERSION, "kind": "UnitedDeployment", "spec": spec, **NAME})
        await here.wait_settled()
        assert [len(here.pods(member)) for member in before] == [6, 2]
        assert all(before[member] <= here.uids(member) for member in before)
