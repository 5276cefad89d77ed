"""Gates in a simulated fleet: Jobs, objects and restarts, GateTemplates, and kills at any write."""

import asyncio
from pathlib import Path

import pytest
import yaml

from tests.simulation.rollout.kit import ACCOUNT, NAMESPACE, RBAC, rollouts
from uniteddeployment_api import names

NEW = "app:2"
SMALL = {"a": 2, "b": 1}
GATE_ROLES = Path(__file__).parents[3] / "config" / "rollout" / "gate_roles.yaml"
JOBS = "uniteddeployment-rollout-gate-jobs"


def grant_jobs(kit):
    """What docs/gates.md says: bind the role for Jobs in the namespace."""
    w = kit.world
    for role in yaml.safe_load_all(GATE_ROLES.read_text()):
        w.request(w.host, "POST", f"{RBAC}/clusterroles", role)
    binding = {
        "metadata": {"name": JOBS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": JOBS},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }
    w.request(w.host, "POST", f"{RBAC}/namespaces/default/rolebindings", binding)


def steps(gate):
    return [{"replicas": 1, "gates": [{"name": "check", **gate}]}, {"replicas": "100%"}]


def job(image, **fields):
    container = {"name": "test", "image": image, "args": ["--subset={{subset}}", "--revision={{revision}}"]}
    return {"job": {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}}, **fields}


def jobs(kit):
    return kit.world.host.access.list("jobs.batch", "default")


@pytest.mark.parametrize(("write", "reached"), [(3, True), (4, False), (4, True), (5, False), (5, True)])
async def test_05_a_kill_at_any_write_runs_no_job_of_a_gate_twice(write, reached):
    """The writes: the run starts, the first partition, the pod is ready, the Job, and its result in the status."""
    async with rollouts(subsets=SMALL, steps=steps(job("complete:1", count=2, interval="10s"))) as kit:
        grant_jobs(kit)
        created = []
        kit.world.host.access.subscribe("jobs.batch", lambda event: created.append(event.obj["metadata"]["uid"]))
        kit.life.kill_at(write, reached=reached)
        kit.release(NEW)
        await kit.world.until(lambda: kit.life.dead, 300)
        await asyncio.sleep(30)
        assert kit.most_updated <= 1
        kit.start()
        await kit.phase("Healthy", seconds=300)
        assert kit.running(NEW) == [2, 1]
        assert len(set(created)) == 2, "one for each of two measurements"
        assert [found["status"]["conditions"][-1]["type"] for found in jobs(kit)] == ["Complete", "Complete"]


async def test_35_a_job_that_fails_rolls_back_and_is_deleted_with_its_rollout():
    async with rollouts(subsets=SMALL, steps=steps(job("exit1:1")), onFailure="Rollback") as kit:
        grant_jobs(kit)
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


async def test_a_job_that_does_not_end_is_an_error_that_holds_the_run_and_is_deleted():
    async with rollouts(subsets=SMALL, steps=steps(job("app:1", errorLimit=0))) as kit:
        grant_jobs(kit)
        kit.release(NEW)
        await kit.phase("Degraded", 1, seconds=1200)
        assert "did not end within 10m" in kit.status["message"]
        assert kit.running(NEW) == [1, 0]
        await kit.world.until(lambda: not any("deletionTimestamp" not in found["metadata"] for found in jobs(kit)), 60)


async def test_a_gate_template_that_is_created_later_is_measured_then():
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


async def test_restarts_in_a_member_fail_the_readiness_gate_through_the_status_of_the_united_deployment():
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
