"""Gates in a simulated fleet: Jobs, objects and restarts, GateTemplates, and kills at any write."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.simulation.rollout.kit import ACCOUNT, NAMESPACE, RBAC, Rollouts, rollouts
from tests.support import rights
from tests.support.cluster_images import TOKEN
from tests.support.inprocess import InProcessTransport
from tests.support.narrowing import present
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.fleet.access import MemberAccess
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.web import RequestFailed
from uniteddeployment_api import names

NEW = "app:2"
SMALL = {"a": 2, "b": 1}
GATE_ROLES = Path(__file__).parents[3] / "config" / "rollout" / "gate_roles.yaml"
JOBS = "uniteddeployment-rollout-gate-jobs"
MEMBERS = "uniteddeployment-rollout-gate-members"


def grant(kit: Rollouts, name: str) -> None:
    """What docs/gates.md says: bind a role in the namespace."""
    w = kit.world
    for role in yaml.safe_load_all(GATE_ROLES.read_text()):
        if role["metadata"]["name"] == name:
            w.request(w.host, "POST", f"{RBAC}/clusterroles", role)
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    bind(kit, w.host, name, account)


def bind(kit: Rollouts, cluster: Cluster, name: str, subject: dict[str, str]) -> None:
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [subject],
    }
    kit.world.request(cluster, "POST", f"{RBAC}/namespaces/default/rolebindings", binding)


def grant_in_members(kit: Rollouts, user: str) -> None:
    """The fleet's administrator allows a user to run Jobs in the namespace in each member."""
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "delete"]}]
    for member in kit.world.members.values():
        kit.world.request(member, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": JOBS}, "rules": rules})
        bind(kit, member, JOBS, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user})


def steps(gate: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"replicas": 1, "gates": [{"name": "check", **gate}]}, {"replicas": "100%"}]


def job(image: str, **fields: Any) -> dict[str, Any]:
    container = {"name": "test", "image": image, "args": ["--subset={{subset}}", "--revision={{revision}}"]}
    return {"job": {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}, **fields}


def jobs(kit: Rollouts) -> Sequence[dict[str, Any]]:
    return kit.world.host.access.list("jobs.batch", "default")


@pytest.mark.parametrize(("write", "reached"), [(3, True), (4, False), (4, True), (5, False), (5, True)])
async def test_05_a_kill_at_any_write_runs_no_job_of_a_gate_twice(write: int, reached: bool) -> None:
    """The writes: the run starts, the first partition, the pod is ready, the Job, and its result in the status."""
    async with rollouts(subsets=SMALL, steps=steps(job("complete:1", count=2, interval="10s"))) as kit:
        grant(kit, JOBS)
        created = []
        kit.world.host.access.subscribe("jobs.batch", lambda event: created.append(event.obj["metadata"]["uid"]))
        present(kit.life).kill_at(write, reached=reached)
        kit.release(NEW)
        await kit.world.until(lambda: present(kit.life).dead, 300)
        await asyncio.sleep(30)
        assert kit.most_updated <= 1
        kit.start()
        await kit.phase("Healthy", seconds=300)
        assert kit.running(NEW) == [2, 1]
        assert len(set(created)) == 2, "one for each of two measurements"
        assert [found["status"]["conditions"][-1]["type"] for found in jobs(kit)] == ["Complete", "Complete"]


async def test_35_a_job_that_fails_rolls_back_and_is_deleted_with_its_rollout() -> None:
    async with rollouts(subsets=SMALL, steps=steps(job("exit1:1")), onFailure="Rollback") as kit:
        grant(kit, JOBS)
        kit.release(NEW)
        await kit.world.until(lambda: kit.status.get("history"), 600)
        assert kit.running(NEW) == [0, 0]
        assert kit.status["history"][0]["reason"] == "GateFailed"
        (found,) = jobs(kit)
        assert found["spec"]["template"]["spec"]["containers"][0]["args"][0] == "--subset=a"
        assert "{{" not in str(found["spec"])
        kit.world.request(
            kit.world.host, "DELETE", f"{names.API_PATH}/namespaces/default/{names.UNITED_ROLLOUT_PLURAL}/web"
        )
        await kit.world.until(lambda: not jobs(kit), 120)


async def test_a_job_that_does_not_end_is_an_error_that_holds_the_run_and_is_deleted() -> None:
    async with rollouts(subsets=SMALL, steps=steps(job("app:1", errorLimit=0))) as kit:
        grant(kit, JOBS)
        kit.release(NEW)
        await kit.phase("Degraded", 1, seconds=1200)
        assert "did not end within 10m" in kit.status["message"]
        assert kit.running(NEW) == [1, 0]
        await kit.world.until(lambda: not any("deletionTimestamp" not in found["metadata"] for found in jobs(kit)), 60)


async def test_a_gate_template_that_is_created_later_is_measured_then() -> None:
    gate = {"templateRef": {"name": "exists"}, "args": [{"name": "who", "value": "web"}]}
    async with rollouts(subsets=SMALL, steps=steps(gate)) as kit:
        kit.release(NEW)
        await kit.phase("Degraded", 1)
        assert "there is no GateTemplate exists" in kit.status["message"]
        spec = {
            "args": [{"name": "who"}],
            "object": {
                "apiVersion": names.API_VERSION,
                "kind": names.UNITED_DEPLOYMENT_KIND,
                "name": "{{args.who}}",
                "jsonPath": ".spec.topology.subsets[0].name",
                "value": "a",
            },
        }
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.GATE_TEMPLATE_KIND,
            "metadata": {"name": "exists"},
            "spec": spec,
        }
        path = f"{names.API_PATH}/namespaces/default/{names.GATE_TEMPLATE_PLURAL}"
        kit.world.request(kit.world.host, "POST", path, document)
        await kit.phase("Healthy", seconds=300)


async def test_restarts_in_a_member_fail_the_readiness_gate_through_the_status_of_the_united_deployment() -> None:
    gate = {"readiness": {"maxRestarts": 1}, "count": 20, "interval": "5s"}
    async with rollouts(subsets=SMALL, steps=steps(gate)) as kit:
        kit.release(NEW)
        await kit.world.until(lambda: kit.status.get("stepState") == "Measuring")
        member = kit.world.members["member-1"]
        pods = member.access.list("pods", "default")
        (pod,) = [each for each in pods if each["spec"]["containers"][0]["image"] == NEW]
        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
        for image in ("app:2-1", "app:2-2"):
            # Another image in a pod restarts its container.
            patch = {"spec": {"containers": [{**pod["spec"]["containers"][0], "image": image}]}}
            kit.world.request(member, "PATCH", path, patch, content_type="application/merge-patch+json")
            await asyncio.sleep(5)
        await kit.phase("Degraded", 1)
        assert "containers of updated pods restarted 2 times" in kit.status["message"]
        row = kit.status["subsets"][0]
        assert row["revision"] != row["stableRevision"]
        assert {row["revision"], row["stableRevision"]} == {
            shown["revision"] for shown in kit.world.status()["subsetStatuses"][0]["revisions"]
        }


def in_members(image: str, **fields: Any) -> list[dict[str, Any]]:
    gate = job(image, **fields)
    gate["job"] |= {"scope": "Subset", "runIn": "Member"}
    return [{"replicas": 2, "gates": [{"name": "check", **gate}]}, {"replicas": "100%"}]


def jobs_in(kit: Rollouts, member: str) -> Sequence[dict[str, Any]]:
    return kit.world.members[member].access.list("jobs.batch", "default")


async def test_jobs_run_in_the_cluster_of_each_subset_with_what_the_member_grants() -> None:
    async with rollouts(subsets=SMALL, steps=in_members("complete:1"), maxUnavailable=2) as kit:
        grant(kit, MEMBERS)
        kit.release(NEW)
        await kit.phase("Degraded", 1, seconds=600)
        assert "it is not allowed to create Jobs in the namespace default" in kit.status["message"]
        for asked in kit.world.asked.values():
            asked.refused.clear()  # that it is refused is what this test is about
        grant_in_members(kit, rights.identity("member").name)
        await kit.phase("Healthy", seconds=600)
        args = [
            [found["spec"]["template"]["spec"]["containers"][0]["args"][0] for found in jobs_in(kit, member)]
            for member in ("member-1", "member-2", "member-3")
        ]
        assert args == [["--subset=a"], ["--subset=b"], []]
        assert not jobs(kit), "nothing runs on the host"


async def test_a_cluster_that_does_not_allow_the_namespace_runs_no_jobs_and_impersonation_bounds_them() -> None:
    """Whoever may write rollouts gains nothing in members that the fleet's administrator did not grant (I15)."""
    async with rollouts(subsets=SMALL, steps=in_members("complete:1"), maxUnavailable=2) as kit:
        host = Client(InProcessTransport(kit.world.host, TOKEN, "host"), "host")
        access = MemberAccess(host, partial(kit._member, present(kit.life)))
        path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
        with pytest.raises(RequestFailed, match="namespace other may not use this Cluster"):
            async with access.client("default/member-1", "other"):
                pass
        kit._merge(path, {"spec": {"suspended": True}})
        with pytest.raises(RequestFailed, match="Cluster default/member-1 is not Running"):
            async with access.client("default/member-1", "default"):
                pass
        with pytest.raises(RequestFailed, match="there is no Cluster default/none"):
            async with access.client("default/none", "default"):
                pass
        kit._merge(path, {"spec": {"suspended": None, "impersonate": {"serviceAccount": "deployer"}}})
        stored = kit.world.host.access
        clusters = f"{names.CLUSTER_PLURAL}.{names.GROUP}"
        await kit.world.until(
            lambda: present(stored.get(clusters, "default", "member-1"))["status"].get("phase") == "Running"
        )
        async with access.client("default/member-1", "default") as client:
            assert client._user == "system:serviceaccount:default:deployer"
        kit._merge(f"{path}/status", {"status": {"clusterUID": "00000000-0000-0000-0000-000000000000"}})
        with pytest.raises(RequestFailed, match="another cluster answers"):
            async with access.client("default/member-1", "default"):
                pass
