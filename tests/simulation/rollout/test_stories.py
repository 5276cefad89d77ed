"""Rollouts over a real controller, real API servers and their StatefulSets and Deployments, in virtual time.

The numbers are those of the scenarios; what needs no cluster is in tests/unit/rollout.
"""

import asyncio
from typing import Any

import pytest

from tests.simulation.rollout.kit import PATH, STEPS, rollouts
from tests.support.narrowing import present
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

OLD, NEW, NEWER = "app:1", "app:2", "app:3"
SMALL = {"a": 2, "b": 1}


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
async def test_01_to_03_one_pod_then_half_then_all_within_one_budget(kind: str) -> None:
    async with rollouts(kind) as kit:
        assert kit.manual == {"partition": "100%"}
        kit.release(NEW)
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [1, 0, 0]
        assert kit.most_updated == 1
        kit.give("approve")
        await kit.phase("Paused", 2)
        assert kit.running(NEW) == [2, 1, 1]
        assert kit.most_updated == 4
        kit.give("approve")
        await kit.phase("Healthy")
        assert kit.running(NEW) == [4, 2, 2]
        if kind == "statefulSetTemplate":
            # A Deployment may bring further pods up before it takes one away, so readiness says nothing there.
            assert kit.most_down == 1
        await kit.world.until(lambda: kit.manual == {"partition": "100%"})
        assert kit.world.status()["currentRevision"] == kit.status["stableRevision"]
        assert kit.status["history"][0]["outcome"] == "Completed"


@pytest.mark.parametrize(
    ("write", "reached"),
    [(1, False), (1, True), (2, False), (2, True), (3, True), (4, False)],
    ids=lambda value: (
        {False: "before-the-server-has-it", True: "before-the-answer"}.get(value)
        if isinstance(value, bool)
        else str(value)
    ),
)
async def test_05_a_kill_at_any_write_changes_nothing_but_time(write: int, reached: bool) -> None:
    steps = [{"replicas": 1, "pause": {"duration": "60s"}}, {"replicas": "100%"}]
    async with rollouts(subsets=SMALL, steps=steps) as kit:
        present(kit.life).kill_at(write, reached=reached)
        kit.release(NEW)
        await kit.world.until(lambda: present(kit.life).dead, 300)
        assert kit.most_updated <= 3
        await asyncio.sleep(30)
        kit.start()
        await kit.phase("Healthy", seconds=300)
        await kit.world.until(lambda: kit.running(NEW) == [2, 1] and kit.manual == {"partition": "100%"})
        assert kit.most_down == 1
        assert [run["outcome"] for run in kit.status["history"]] == ["Completed"]


async def test_07_a_template_that_is_written_while_all_controllers_are_down_updates_nothing() -> None:
    async with rollouts(subsets=SMALL) as kit:
        kit.kill()
        kit.world.kill_controller()
        kit.release(NEW)
        kit.world.start_controller()
        await asyncio.sleep(60)
        assert kit.running(NEW) == [0, 0]
        kit.start()
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [1, 0]


async def test_08_and_10_an_image_that_cannot_be_pulled_is_rolled_back_when_the_deadline_has_passed() -> None:
    async with rollouts(subsets=SMALL, onFailure="Rollback", progressDeadline="2m") as kit:
        kit.release("pullfail:2")
        await kit.world.until(lambda: "ImagePullBackOff" in kit.status.get("message", ""), 100)
        assert kit.running("pullfail:2") == [1, 0]
        await kit.world.until(lambda: kit.status.get("history"))
        assert kit.running(OLD) == [2, 1]
        run = kit.status["history"][0]
        assert (run["outcome"], run["reason"]) == ("RolledBack", "ProgressDeadlineExceeded")
        await asyncio.sleep(2)
        assert {"ProgressDeadlineExceeded", "RollbackStarted", "RolledBack"} <= set(kit.events())


async def test_16_another_template_in_mid_run_starts_again_and_keeps_the_stable_revision() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        kit.give("approve")
        await kit.phase("Paused", 2)
        stable = kit.status["stableRevision"]
        kit.release(NEWER)
        await kit.world.until(lambda: kit.status.get("runCount") == 2)
        await kit.phase("Paused", 1)
        assert kit.status["stableRevision"] == stable
        assert sum(kit.running(OLD)) >= 4
        assert kit.most_updated == 1
        assert kit.most_down == 1
        kit.give("promote")
        await kit.phase("Healthy")
        assert kit.running(NEWER) == [4, 2, 2]


async def test_11_and_14_the_stable_template_in_mid_run_takes_everything_back() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        kit.give("approve")
        await kit.phase("Paused", 2)
        kit.release(OLD)
        await kit.world.until(lambda: kit.status.get("history"))
        assert kit.running(OLD) == [4, 2, 2]
        assert kit.status["history"][0]["reason"] == "Reverted"
        await kit.phase("Healthy")


async def test_20_a_subset_that_grows_in_mid_run_gets_its_share() -> None:
    async with rollouts(subsets={"a": 4, "b": 2}, steps=STEPS[1:]) as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [2, 1]
        kit.scene.subsets["a"] = 6
        kit.patch_target({"spec": {"topology": kit.scene.document()["spec"]["topology"]}})
        await kit.world.until(lambda: kit.status["replicas"] == 8)
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [3, 1]
        assert kit.most_updated == 4, "at no moment more than half"


async def test_27_a_member_that_is_lost_in_mid_step_and_comes_back_gets_no_step_twice() -> None:
    async with rollouts(steps=[{"replicas": "100%"}]) as kit:
        kit.release(NEW)
        await kit.world.until(lambda: sum(kit.running(NEW)) >= 2, every=0.01)
        member = kit.world.members["member-2"]
        member.faults.set(black_hole=True)
        await kit.world.until(lambda: "cannot be reached" in kit.status["message"], 120)
        held = kit.manual["partitions"]
        await asyncio.sleep(600)
        assert kit.manual["partitions"] == held
        member.faults.clear()
        await kit.phase("Healthy")
        assert kit.running(NEW) == [4, 2, 2]
        assert kit.most_down == 1


async def test_31_a_partition_that_somebody_changed_holds_the_run_and_names_who_did_it() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        kit.patch_target({"spec": {"updateStrategy": {"manualUpdate": {"partitions": {"b": 0}}}}})
        await kit.phase("Degraded")
        assert "the partition of subset b was changed by test from 2 to 0" in kit.status["message"]
        kit.give("retry")
        await kit.phase("Paused", 1)
        assert kit.manual["partitions"]["c"] == 2


async def test_41_a_rollout_that_is_deleted_in_mid_run_freezes_its_target_and_says_so() -> None:
    async with rollouts() as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        kit.world.request(kit.world.host, "DELETE", f"{PATH}/web")
        await asyncio.sleep(600)
        assert kit.running(NEW) == [1, 0, 0]
        assert "RolloutDeleted" in kit.events()
        assert "RolloutDeleted" in kit.events(names.UNITED_DEPLOYMENT_KIND)


async def test_of_two_rollouts_of_a_target_the_older_has_it_until_it_is_deleted() -> None:
    async with rollouts(subsets=SMALL) as kit:
        await asyncio.sleep(2)
        kit.create("younger")
        resource = f"{names.UNITED_ROLLOUT_PLURAL}.{names.GROUP}"

        def phase() -> str | None:
            return (present(kit.world.host.access.get(resource, "default", "younger")).get("status") or {}).get("phase")

        await kit.world.until(lambda: phase() == "Degraded")
        kit.world.request(kit.world.host, "DELETE", f"{PATH}/web")
        await kit.world.until(lambda: phase() == "Healthy")


async def test_a_rollout_created_with_its_target_waits_for_the_first_pods_and_then_holds_the_next_template() -> None:
    async with rollouts(subsets=SMALL, create=False) as kit:
        kit.world.delete()
        await kit.world.until(lambda: kit.world.ud() is None)
        kit.create()
        await kit.phase("Degraded")
        assert kit.status["conditions"][2]["reason"] == "TargetNotFound"
        kit.scene.ask()
        await kit.phase("Healthy")
        kit.release(NEW)
        await kit.phase("Paused", 1)
        assert kit.running(NEW) == [1, 0]


async def test_a_settled_rollout_costs_nothing() -> None:
    """I3: nothing changed, nothing written; and a restart writes nothing either."""
    async with rollouts(subsets=SMALL) as kit:
        kit.release(NEW)
        await kit.phase("Paused", 1)
        await asyncio.sleep(5)
        before = len([request for request in present(kit.transport).sent if request.verb != "watch"])
        await asyncio.sleep(1800)
        assert len([request for request in present(kit.transport).sent if request.verb != "watch"]) == before
        kit.kill()
        kit.start()
        await asyncio.sleep(60)
        assert not [request for request in present(kit.transport).sent if request.verb == "patch"]


@pytest.mark.parametrize("write", ["unitedrollouts", "uniteddeployments"])
async def test_34_a_decision_on_an_object_that_has_changed_meanwhile_is_not_carried_out(write: str) -> None:
    """At the moment of the write, somebody pauses the rollout with a command, or pauses the target."""
    async with rollouts(subsets=SMALL) as kit:
        done: list[Any] = []

        def before(request: Request) -> None:
            if not done and request.verb == "patch" and f"/{write}/" in request.path:
                done.append(request)
                if write == "unitedrollouts":
                    kit.give("pause")
                else:
                    kit.patch_target({"spec": {"paused": True}})

        present(kit.transport).before = before
        kit.release(NEW)
        await kit.phase("Paused", 1)
        await asyncio.sleep(60)
        assert done
        assert kit.running(NEW) == [0, 0]
        assert "partitions" not in kit.manual or sum(kit.manual["partitions"].values()) == 3
        patches = [
            request
            for request in present(kit.transport).sent
            if request.verb == "patch" and "/events" not in request.path
        ]
        assert len(patches) < 12, "refused writes are not repeated all the time"


async def test_each_move_of_pods_costs_one_write_of_the_target() -> None:
    """Six pods, one at a time, and one write that removes the partitions at the end: nothing is written twice."""
    async with rollouts(subsets={"a": 4, "b": 2}, steps=[{"replicas": "100%"}]) as kit:
        sent = len(present(kit.transport).sent)
        kit.release(NEW)
        await kit.world.until(lambda: kit.status.get("history"))
        await asyncio.sleep(5)
        requests = present(kit.transport).sent[sent:]
        written = [one for one in requests if one.verb == "patch" and "/uniteddeployments/" in one.path]
        assert len(written) == 7
        stored = [one for one in requests if one.verb == "patch" and "/unitedrollouts/" in one.path]
        assert len(stored) < 30
