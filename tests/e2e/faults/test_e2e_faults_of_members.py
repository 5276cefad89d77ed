"""Faults of single members, as processes: what users see of each, and how it ends.

After each, the application is what a fresh plan says. No ordinal has run twice, no pod of a healthy member was lost,
and not more than one pod that runs was missing at a time (I4, I7-I10).
"""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.applications import DEPLOYMENT, STATEFUL_SET
from tests.support.at_once import STEADY, Stage, story
from tests.support.control_planes import ControlPlane
from tests.support.drill import DISJOINT, Drill, ends_as_planned, evenly, fails_over, starts
from tests.support.fault_proxy import FaultProxy, through
from tests.support.forwarder import Forwarder
from uniteddeployment.embedded.serving.tls import Authority

pytestmark = pytest.mark.timeout(300)  # of all stories, which the first test waits for
LOST = "member-3"


def lost_and_back(
    drill: Drill, lost: str, begin: Callable[[], object], end: Callable[[], object]
) -> tuple[str, str, str]:
    """A fault from its beginning to its end; returns status, reason and message of the member meanwhile."""
    starts(drill, *STEADY, lost)
    kept = drill.truth.uids(*STEADY)
    begin()
    health = drill.until_offline(lost)
    fails_over(drill, lost)
    end()
    drill.until(lambda: drill.phase(lost) == "Running", "it is back")
    ends_as_planned(drill, *STEADY, lost, kept=kept)
    assert drill.phases[lost] == ["Running", "Offline", "Running"]
    return health


@story
def test_a_frozen_member_is_lost_by_silence_and_keeps_what_must_not_run_twice(stage: Stage) -> None:
    """The pods of an application with ordinals of its own stay with it, and the status says why. An update of that
    goes on in the other members, and ends when it is back (I7, I8, I10).
    """
    with stage.embedded("frozen") as frozen:
        drill = stage.drill("silence", frozen)
        stays = evenly("stays", *STEADY, "frozen", kind=STATEFUL_SET, **DISJOINT)
        stays["spec"]["failover"] |= {"statefulSets": "Never"}
        drill.apply(stays)
        drill.until_settled("stays")

        def thaw() -> None:
            drill.until(lambda: "its ordinals are its own" in drill.entry("frozen", "stays")["reason"], "why they stay")
            assert drill.numbers("replicas", "stays") == {"member-1": 2, "member-2": 2, "frozen": 2}
            assert drill.condition("Ready", "stays")[0] == "Unknown"
            drill.set_image("app:2", "stays")
            updated = {"member-1": 2, "member-2": 2, "frozen": 0}
            drill.until(lambda: drill.numbers("updatedReadyReplicas", "stays") == updated, "the others are updated")
            frozen.answer_again()

        status, reason, message = lost_and_back(drill, "frozen", frozen.stop_answering, thaw)
        assert (status, reason) == ("Unknown", "Unreachable")
        assert "no answer within 5 s" in message
        drill.until_settled("stays")
        assert set(drill.numbers("updatedReadyReplicas", "stays").values()) == {2}


@story
def test_a_member_in_a_black_hole_is_lost_by_silence(stage: Stage) -> None:
    with stage.reached_through("silence", LOST) as (drill, wire):
        status, reason, message = lost_and_back(drill, LOST, wire.swallow, wire.open)
    assert (status, reason) == ("Unknown", "Unreachable")
    assert "no answer within 5 s" in message


@story
def test_a_member_that_answers_after_two_seconds_is_as_good_as_others(stage: Stage) -> None:
    """It is never Offline, and delays only its own subset (I10)."""
    with stage.reached_through("latency", LOST) as (drill, wire):
        starts(drill, *STEADY, LOST)
        wire.delay = 1.0
        drill.set_image("app:2")
        drill.until(lambda: all(drill.truth.images(name) == {"app:2": 2} for name in STEADY), "the others are updated")
        drill.until(lambda: drill.truth.images(LOST) == {"app:2": 2}, "it is updated")
        drill.until_settled()
        wire.delay = 0.0  # ud plan does not wait as long
        ends_as_planned(drill, *STEADY, LOST, lowest=0)
        assert drill.phases[LOST] == ["Running"]


@story
def test_a_member_that_answers_503_is_sick(stage: Stage) -> None:
    with FaultProxy(stage.members[LOST]) as proxy:
        drill = stage.drill("errors", stage.members[LOST], proxy.config)
        status, reason, message = lost_and_back(drill, LOST, lambda: proxy.answer(503), lambda: proxy.answer(0))
    assert (status, reason) == ("False", "NotHealthy")
    assert "it answers 503" in message


@story
def test_a_member_with_a_wrong_certificate_is_back_with_the_right_authority_in_its_secret(stage: Stage) -> None:
    with stage.embedded("signed") as member, FaultProxy(member) as proxy:
        drill = stage.drill("errors", member, proxy.config)
        status, reason, message = lost_and_back(
            drill,
            "signed",
            lambda: proxy.present(Authority("other")),
            lambda: drill.scene.new_secret("signed", proxy.config),
        )
    assert (status, reason) == ("Unknown", "Unreachable")
    assert "certificate" in message


@story
def test_a_member_that_refuses_the_token_is_back_with_a_new_secret(stage: Stage) -> None:
    """401 from the API server itself: the ServiceAccount of the token is gone."""
    member = stage.members[LOST]
    scene = stage.shared("refusals", *STEADY)
    accounts = scene.path("serviceaccounts", group="/api/v1")

    def account() -> dict[str, Any]:
        member.ask("POST", accounts, {"metadata": {"name": "controller"}})
        return member.as_service_account(scene.namespace, "controller")

    binding = {
        "metadata": {"name": "refused"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "controller", "namespace": scene.namespace}],
    }
    member.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    drill = stage.drill("refusals", member, account())
    status, reason, message = lost_and_back(
        drill,
        LOST,
        lambda: member.ask("DELETE", f"{accounts}/controller"),
        lambda: scene.new_secret(LOST, account()),
    )
    assert (status, reason) == ("Unknown", "Unauthorized")
    assert "401" in message


def set_agents(member: ControlPlane, *, running: bool) -> None:
    """Stop the agents of all nodes, whose status then says that they are not ready, or start them again."""
    for node in member.read("/api/v1/nodes")["items"]:
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        agent = "running" if running else "stopped"
        member.ask("PATCH", path, {"metadata": {"annotations": {"embedded/agent": agent}}})
        if not running:
            present = node["status"]["conditions"]
            conditions = [one | {"status": "False"} if one["type"] == "Ready" else one for one in present]
            member.ask("PATCH", f"{path}/status", {"status": {"conditions": conditions}})


@story
def test_a_member_without_a_ready_node_is_empty(stage: Stage) -> None:
    """It answers, so its pods are managed as before: they go when they have replacements."""
    with stage.embedded("nodes") as member:
        drill = stage.drill("nodes", member, capacity="Enabled")
        starts(drill, *STEADY, "nodes")
        kept = drill.truth.uids(*STEADY)
        set_agents(member, running=False)
        assert drill.until_offline("nodes")[:2] == ("False", "NoReadyNodes")
        drill.until_ready({"member-1": 3, "member-2": 3}, "the pods have replacements")
        set_agents(member, running=True)
        drill.until(lambda: drill.phase("nodes") == "Running", "it is back")
        ends_as_planned(drill, *STEADY, "nodes", kept=kept, lowest=4)


@story
def test_a_killed_member_that_an_empty_cluster_replaces_is_not_taken_for_it(stage: Stage) -> None:
    """Its address has another certificate, then another cluster; nothing is written there until it is registered."""
    with stage.embedded("killed") as killed:
        drill = stage.drill("latency", killed)
        starts(drill, *STEADY, "killed", kind=DEPLOYMENT)
        assert killed.process is not None
        killed.process.stop(signal.SIGKILL)
        drill.truth.forget("killed")
        status, reason, message = drill.until_offline("killed")
        assert (status, reason) == ("Unknown", "Unreachable")
        assert "cannot connect" in message
        fails_over(drill, "killed")
        with stage.embedded("empty", "--port", str(killed.address[1])) as empty:
            drill.until(lambda: "certificate" in drill.health("killed")[2], "its certificate is not trusted")
            drill.scene.new_secret("killed", empty.config)
            drill.until(lambda: drill.health("killed")[1] == "ClusterReplaced", "it is another cluster")
            assert drill.health("killed")[0] == "False"
            assert drill.numbers("possiblyRunning")["killed"] == 2
            assert {asked.verb for asked in empty.requests()} <= {"get", "list", "watch"}, "nothing is written there"
            drill.scene.enter(empty)
            drill.scene.host.ask("DELETE", drill.scene.path("clusters", "killed"))
            drill.until(lambda: not drill.phase("killed"), "the Cluster is gone")
            drill.scene.create_cluster("killed")
            ends_as_planned(drill, *STEADY, "killed", lowest=4)


@story
def test_a_member_that_fails_every_20_seconds_is_lost_once(stage: Stage) -> None:
    """A short failure moves nothing; failures that go on do, although it answers in between."""
    with stage.embedded("flapping") as member, Forwarder(*member.address) as wire:
        health = {"offlineAfter": "22s", "recoverAfter": "5s"}
        drill = stage.drill("refusals", member, through(member.config, wire.port), health=health)
        starts(drill, *STEADY, "flapping")
        everywhere = drill.truth.uids(*STEADY, "flapping")
        begun = time.monotonic()
        wire.shut()
        drill.sleep_until(begun + 4)
        wire.open()
        drill.until(lambda: "has failed repeatedly" in drill.health("flapping")[2], "it answers")
        drill.sleep_until(begun + 20)
        assert drill.phases["flapping"] == ["Running"]
        assert drill.truth.uids(*STEADY, "flapping") == everywhere
        wire.shut()
        assert drill.until_offline("flapping")[:2] == ("Unknown", "Unreachable")
        fails_over(drill, "flapping")
        wire.open()
        drill.until(lambda: drill.phase("flapping") == "Running", "it is back")
        ends_as_planned(drill, *STEADY, "flapping")
        assert drill.phases["flapping"] == ["Running", "Offline", "Running"]


@story
def test_the_clock_of_a_member_decides_nothing(stage: Stage) -> None:
    """Pods that cannot be scheduled move after the time that was asked for, wherever they are."""
    with stage.embedded("ahead", ahead=3600) as ahead, stage.embedded("behind", ahead=-3600) as behind:
        drill, patient = stage.drill("clocks", ahead), stage.drill("clocks", behind)
        for each, member, seconds in ((patient, "behind", 600), (drill, "ahead", 2)):
            document = evenly(each.name, "member-1", member)
            topology = document["spec"]["topology"]
            topology["subsets"][1]["patch"] = {"spec": {"template": {"spec": {"nodeSelector": {"no": "node"}}}}}
            topology["scheduleStrategy"]["adaptive"] = {"rescheduleCriticalSeconds": seconds}
            each.apply(document)
        drill.until_ready({"member-1": 4}, "the pods of the member that is ahead run elsewhere")
        patient.until_ready({"member-1": 2}, "the others run")
        assert patient.numbers("replicas") == {"member-1": 2, "behind": 2}
