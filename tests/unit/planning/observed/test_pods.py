"""The reasons why pods are not ready, counted in bounded text, without a write for normal starts (I11)."""

from typing import Any

import msgspec
import pytest

from uniteddeployment.planning.observed import Pod, WorkloadStatus, tally
from uniteddeployment.planning.observed.pods import SLOW_SECONDS, next_due, summary

NOW = "2026-01-01T00:01:00Z"
JUST_NOW = "2026-01-01T00:00:58Z"
LONG_AGO = "2026-01-01T00:00:00Z"


def pod(
    *containers: Any,
    ready: str = "False",
    begun: str = LONG_AGO,
    scheduled: str = "True",
    inits: list[dict[str, Any] | tuple[dict[str, Any], dict[str, Any], int]] | tuple[Any, ...] = (),
    phase: str = "Pending",
    **condition: Any,
) -> Pod:
    """A pod as a watch event has it; a container is its state, or (state, last state, restarts)."""

    def status(index: int, container: dict[str, Any] | tuple[dict[str, Any], dict[str, Any], int]) -> dict[str, Any]:
        state, last, restarts = container if isinstance(container, tuple) else (container, {}, 0)
        return {"name": f"c{index}", "state": state, "lastState": last, "restartCount": restarts, "ready": False}

    not_ready = {"reason": "ContainersNotReady", "message": "containers with unready status: [c0]", **condition}
    conditions = [
        {"type": "PodScheduled", "status": scheduled, **(condition if scheduled == "False" else {})},
        {"type": "Ready", "status": ready, "lastTransitionTime": begun, **not_ready},
    ]
    document = {
        "metadata": {"name": "web-0"},
        "status": {
            "phase": phase,
            "conditions": conditions[:1] if scheduled == "False" else conditions,
            "containerStatuses": [status(index, one) for index, one in enumerate(containers)],
            "initContainerStatuses": [status(index, one) for index, one in enumerate(inits)],
        },
    }
    return msgspec.json.decode(msgspec.json.encode(document), type=Pod)


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def ended(reason: str, code: int) -> dict[str, Any]:
    return {"terminated": {"reason": reason, "exitCode": code}}


RUNNING = {"running": {"startedAt": LONG_AGO}}


def reasons(*pods: Pod, now: str = NOW) -> str:
    return summary(tally(pods).unready, now)


def test_restarts_of_all_containers_are_counted_up_to_a_limit() -> None:
    """A pod that restarts forever must not change the status of its application forever (I3)."""
    running = pod((RUNNING, {}, 2), (waiting("CrashLoopBackOff"), {}, 3), inits=[(ended("Completed", 0), {}, 1)])
    endless = pod((RUNNING, {}, 2**31 - 1), (RUNNING, {}, 2**31 - 1))
    assert tally([running]).restarts == {"": 6}
    assert tally([endless, endless]).restarts == {"": 200}
    assert tally([pod(RUNNING)]).restarts == {}


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (pod(waiting("ImagePullBackOff", "Back-off pulling app:9")), "1 ImagePullBackOff: Back-off pulling app:9"),
        (pod(waiting("CreateContainerConfigError", 'secret "x" not found')), "CreateContainerConfigError: secret"),
        (
            pod((waiting("CrashLoopBackOff", "back-off 10s, pod uid 123"), ended("OOMKilled", 137), 7)),
            "1 CrashLoopBackOff: container c0 ended with OOMKilled, exit code 137, 7 restarts",
        ),
        (pod(ended("Error", 2)), "1 Error: container c0 ended with Error, exit code 2"),
        (pod(RUNNING, waiting("ErrImagePull", "no such image")), "1 ErrImagePull: no such image"),
        (pod(waiting("PodInitializing"), inits=[waiting("ErrImagePull", "init")]), "1 ErrImagePull: init"),
        (
            pod(scheduled="False", reason="Unschedulable", message="0/3 nodes are available"),
            "1 Unschedulable: 0/3 nodes are available",
        ),
        (pod(RUNNING), "1 ContainersNotReady: containers with unready status: [c0]"),
        (pod(RUNNING, reason="ReadinessGatesNotReady", message="gate"), "1 ReadinessGatesNotReady: gate"),
        (pod(waiting("ContainerCreating")), "1 ContainerCreating"),
        (pod(waiting("PodInitializing"), inits=[ended("Completed", 0)]), "1 PodInitializing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pod_that_is_not_ready_says_why(one: Pod, text: str) -> None:
    assert text in reasons(one)


def test_what_every_pod_goes_through_is_a_reason_only_when_it_lasts() -> None:
    """I3: a rollout costs no status write for it."""
    for state in (RUNNING, waiting("ContainerCreating")):
        young = tally([pod(state, begun=JUST_NOW)])
        assert summary(young.unready, NOW) == ""
        assert next_due(young.unready, NOW) == SLOW_SECONDS - 2
    assert next_due(tally([pod(RUNNING)]).unready, NOW) is None


def test_pods_that_are_ready_gone_or_done_have_no_reason() -> None:
    assert reasons(pod(RUNNING, ready="True"), pod(ended("Completed", 0), phase="Succeeded")) == ""
    assert reasons(pod(ended("Error", 1), phase="Failed")) == ""


def test_a_pod_that_nobody_has_looked_at_has_no_reason() -> None:
    assert (
        reasons(msgspec.json.decode(b'{"metadata": {"name": "web-0"}, "status": {"phase": "Pending"}}', type=Pod)) == ""
    )


def test_pods_are_counted_per_reason_and_the_most_frequent_reasons_are_told() -> None:
    crash = pod((waiting("CrashLoopBackOff"), ended("Error", 1), 2))
    again = pod((waiting("CrashLoopBackOff"), ended("Error", 1), 5))
    pull, config = pod(waiting("ImagePullBackOff", "x")), pod(waiting("CreateContainerError"))
    assert reasons(pull, pull, pull, crash, again, config) == (
        "3 ImagePullBackOff: x; 2 CrashLoopBackOff: container c0 ended with Error, exit code 1, 5 restarts; 1 more"
    )


def test_the_text_of_a_member_is_one_line_of_bounded_length() -> None:
    """I16: a member cannot fill the host's status."""
    text = reasons(pod(waiting("Odd" * 100, "one\ntwo " * 10_000)), pod(waiting("B", "b" * 10_000)))
    assert len(text) < 700
    assert "\n" not in text


def test_only_containers_that_do_not_run_are_kept() -> None:
    """They are cached by the ten thousand."""
    status = pod(RUNNING, waiting("ErrImagePull"), RUNNING, inits=[ended("Completed", 0)]).status
    assert [one.name for one in status.container_statuses] == ["c1"]
    assert status.init_container_statuses == ()


def test_of_the_conditions_of_a_workload_only_failures_are_kept() -> None:
    conditions = [
        {"type": "Available", "status": "True", "message": "fine"},
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: q"},
    ]
    status = msgspec.convert({"conditions": conditions}, WorkloadStatus)
    assert [one.type for one in status.conditions] == ["ReplicaFailure"]
    assert status.failure == "exceeded quota: q"
    conditions[1]["status"] = "False"
    assert msgspec.convert({"conditions": conditions}, WorkloadStatus).failure == ""
