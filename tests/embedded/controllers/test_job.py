"""The Job controller: completions, failures, indexes, deletion."""

import pytest

from tests.embedded.workload_kit import World, counts, reasons, template
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.job.indexes import Indexes

JOBS = "jobs.batch"


def job(image: str, **spec: object) -> Obj:
    """A Job as admission leaves it, with a generated selector."""
    labels = {"controller-uid": "1", "batch.kubernetes.io/job-name": "j", "job-name": "j"}
    pod_template = template(image, **labels)
    pod_template["spec"]["restartPolicy"] = "Never"
    selector = {"selector": {"matchLabels": {"controller-uid": "1"}}, "manualSelector": True}
    return {"metadata": {"name": "j"}, "spec": {"template": pod_template, **selector, **spec}}


def started(image: str, **spec: object) -> World:
    world = World()
    world.create(JOBS, job(image, **spec))
    world.run(5)
    return world


def test_a_job_runs_its_completions_and_says_so() -> None:
    world = started("complete:1", completions=2)
    result = world.get(JOBS, "j")
    assert reasons(result) == {
        "Complete": "True CompletionsReached",
        "SuccessCriteriaMet": "True CompletionsReached",
    }
    status = result["status"]
    assert status.keys() == {
        "completionTime",
        "conditions",
        "ready",
        "startTime",
        "succeeded",
        "terminating",
        "uncountedTerminatedPods",
    }
    assert (status["succeeded"], status["ready"], status["terminating"]) == (2, 0, 0)
    pods = world.all("pods")
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded", "Succeeded"]
    assert not any("finalizers" in pod["metadata"] for pod in pods)
    assert world.messages("Completed") == ["Job completed"]


def test_a_job_fails_when_its_backoff_limit_is_exceeded() -> None:
    world = started("exit1:1", backoffLimit=0)
    result = world.get(JOBS, "j")
    assert reasons(result) == {
        "Failed": "True BackoffLimitExceeded",
        "FailureTarget": "True BackoffLimitExceeded",
    }
    assert counts(result, "failed", "active", "ready", "terminating") == [1, 0, 0, 0]
    assert len(world.all("pods")) == 1


def test_failures_are_tried_again_after_growing_delays() -> None:
    world = started("exit1:1", backoffLimit=3)
    assert len(world.all("pods")) == 1
    world.run(10)
    assert len(world.all("pods")) == 2
    world.run(14)
    assert len(world.all("pods")) == 2
    world.run(100)
    assert counts(world.get(JOBS, "j"), "failed") == [4]
    assert reasons(world.get(JOBS, "j"))["Failed"] == "True BackoffLimitExceeded"


def test_an_indexed_job_gives_each_pod_an_index() -> None:
    world = started("complete:1", completions=3, parallelism=3, completionMode="Indexed")
    result = world.get(JOBS, "j")
    assert (result["status"]["completedIndexes"], result["status"]["succeeded"]) == ("0-2", 3)
    pods = sorted(world.all("pods"), key=lambda pod: pod["metadata"]["name"])
    label = "batch.kubernetes.io/job-completion-index"
    assert [pod["metadata"]["labels"][label] for pod in pods] == ["0", "1", "2"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["j-0", "j-1", "j-2"]
    assert pods[0]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


def test_a_finished_job_goes_when_its_time_is_over() -> None:
    world = started("complete:1", ttlSecondsAfterFinished=100)
    assert world.get(JOBS, "j")["status"]["succeeded"] == 1
    world.run(100)
    deleted = world.access.get(JOBS, "ns", "j")
    assert deleted is None or deleted["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_lowering_parallelism_deletes_pods_without_counting_them() -> None:
    world = started("app:1", completions=2, parallelism=2)
    assert counts(world.get(JOBS, "j"), "active", "ready", "terminating") == [2, 2, 0]
    world.set(JOBS, "j", "spec.parallelism", 0)
    world.run(5)
    assert world.all("pods") == []
    assert counts(world.get(JOBS, "j"), "active", "failed") == [0, 0]


def test_a_pod_that_is_deleted_counts_as_failed_and_is_not_held() -> None:
    world = started("app:1")
    world.delete("pods", world.all("pods")[0]["metadata"]["name"])
    world.run(60)
    assert counts(world.get(JOBS, "j"), "active", "failed") == [1, 1]


def test_a_job_over_its_deadline_fails_and_its_pods_go() -> None:
    world = started("app:1", activeDeadlineSeconds=20)
    world.run(30)
    result = world.get(JOBS, "j")
    assert reasons(result) == {"Failed": "True DeadlineExceeded", "FailureTarget": "True DeadlineExceeded"}
    assert world.all("pods") == []


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    world = started("app:1", suspend=True)
    result = world.get(JOBS, "j")
    assert reasons(result) == {"Suspended": "True JobSuspended"}
    assert "startTime" not in result["status"]
    assert world.all("pods") == []
    world.set(JOBS, "j", "spec.suspend", False)
    world.run(5)
    assert reasons(world.get(JOBS, "j")) == {"Suspended": "False JobResumed"}
    assert counts(world.get(JOBS, "j"), "active") == [1]


def test_pods_of_a_job_that_is_gone_are_not_held() -> None:
    world = started("app:1")
    world.delete(JOBS, "j")
    world.run(5)
    assert not any("finalizers" in pod["metadata"] for pod in world.all("pods"))


@pytest.mark.parametrize("text", ["", "0", "0-2", "0-2,5", "1,3,7-9"])
def test_indexes_are_written_as_runs(text: str) -> None:
    assert str(Indexes.read(text)) == text


def test_a_settled_job_writes_nothing() -> None:
    world = started("complete:1")
    before = len(world.history)
    for controller in world.controllers:
        controller.enqueue(("ns", "j"))
    world.run(3600)
    assert len(world.history) == before
