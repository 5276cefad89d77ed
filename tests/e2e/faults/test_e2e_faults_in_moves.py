"""Members that are lost while something else goes on, and a controller that is killed while it moves their replicas."""

import dataclasses
import os
import signal
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.support.at_once import STEADY, Stage, story
from tests.support.control_planes import ControlPlane
from tests.support.drill import Drill, ends_as_planned, fails_over, starts
from tests.support.fault_proxy import FaultProxy, through
from tests.support.forwarder import Forwarder

pytestmark = pytest.mark.timeout(300)  # of all stories, which the first test waits for
LOST = "member-3"


@story
def test_nothing_moves_while_three_of_four_members_are_lost(stage: Stage) -> None:
    """The condition Moving says why; all pods run on, and are found as they were."""
    with ExitStack() as stack:
        planes = {**stage.members, "fourth": stack.enter_context(stage.embedded("fourth"))}
        scene = stage.shared("many-at-once", "member-1")
        scene.enter(planes["fourth"])
        wires = {
            name: stack.enter_context(Forwarder(*plane.address)) for name, plane in planes.items() if name != "member-1"
        }
        for name, wire in wires.items():
            # The first that is Running again must not release the brake before the others answer.
            health = {"offlineAfter": "1s", "recoverAfter": "6s"}
            scene.register(name, through(planes[name].config, wire.port), health=health)
        drill = Drill(scene, "web")
        everywhere = starts(drill, *planes, gracePeriod="5s")
        for wire in wires.values():
            wire.shut()
        drill.until(lambda: drill.condition("Moving") == ("False", "Stopped"), "the brake")
        assert {name: drill.phase(name) for name in wires} == dict.fromkeys(wires, "Offline")
        assert drill.numbers("replicas") == dict.fromkeys(planes, 2)
        assert drill.condition("Ready")[0] == "Unknown"
        for wire in wires.values():
            wire.open()
        drill.until(lambda: all(drill.phase(name) == "Running" for name in wires), "they are back")
        ends_as_planned(drill, *planes, kept=everywhere, lowest=8)


@story
def test_a_member_that_is_lost_in_mid_canary_gets_replacements_at_the_right_revisions(stage: Stage) -> None:
    """Half of each subset is held, wherever the pods run (I6)."""
    with stage.reached_through("moves", LOST) as (drill, wire):
        starts(drill, *STEADY, LOST)
        drill.set_image("app:2", partition="50%")
        drill.until(lambda: "app:2" in drill.truth.images(LOST), "the canary has begun there")
        wire.shut()
        drill.until_offline(LOST)
        fails_over(drill, LOST)
        half = {"app:1": 2, "app:2": 1}
        drill.until(lambda: all(drill.truth.images(name) == half for name in STEADY), "the replacements")
        assert drill.truth.images(LOST) == {"app:1": 1, "app:2": 1}
        wire.open()
        drill.until(lambda: drill.phase(LOST) == "Running", "it is back")
        ends_as_planned(drill, *STEADY, LOST, lowest=3)
        assert [drill.truth.images(name) for name in (*STEADY, LOST)] == [{"app:1": 1, "app:2": 1}] * 3


@story
def test_a_member_that_is_lost_while_it_is_drained_is_drained_when_it_is_back(stage: Stage) -> None:
    with stage.embedded("drained") as member, Forwarder(*member.address) as wire:
        drill = stage.drill("moves", member, through(member.config, wire.port))
        starts(drill, *STEADY, "drained")
        kept = drill.truth.uids(*STEADY)
        drain = {"key": "uniteddeployment.io/drain", "effect": "NoExecute"}
        drill.scene.change("clusters", "drained", taints=[drain])
        drill.until(lambda: drill.condition("Moving")[0] == "True", "the drain has begun")
        wire.shut()
        drill.until_offline("drained")
        drill.until_ready({"member-1": 3, "member-2": 3}, "the replacements")
        wire.open()
        drill.until(lambda: drill.phase("drained") == "Running", "it is back")
        drill.until(lambda: not drill.truth.uids("drained"), "it is drained")
        drill.until_settled()
        assert drill.planned() == {"member-1": 3, "member-2": 3, "drained": 0}
        drill.scene.change("clusters", "drained", taints=None)
        ends_as_planned(drill, *STEADY, "drained", kept=kept)


@dataclass
class Kill:
    """Kills a process at one of its writes: before it is passed on, or when its answer comes."""

    pid: int = 0
    write: int = 0
    answered: bool = False
    seen: int = 0

    def __call__(self, answered: bool) -> None:
        if self.pid and answered is self.answered:
            self.seen += 1
            if self.seen == self.write:
                os.kill(self.pid, signal.SIGKILL)
                self.pid = 0


@story
def test_a_controller_that_is_killed_at_a_write_of_a_failover_ends_in_the_same_state(stage: Stage) -> None:
    """The next process finds out what is done and what is not (I9). The simulation tries all writes."""
    kill = Kill()
    with ExitStack() as stack:

        def watched(plane: ControlPlane) -> ControlPlane:
            proxy = stack.enter_context(FaultProxy(plane, kill))
            return dataclasses.replace(plane, config=proxy.config)

        scene = stack.enter_context(stage.scene("kills", seen_from=watched))
        for name in STEADY:
            scene.register(name, watched(stage.members[name]).config)
        wire = stack.enter_context(FaultProxy(stage.members[LOST], kill))
        scene.register(LOST, wire.config)
        drill = Drill(scene, "web")
        controllers = stack.enter_context(ExitStack())
        controller = controllers.enter_context(scene.site.controller("--no-leader-elect"))
        kept = starts(drill, *STEADY, LOST, failback="Immediate") & drill.truth.uids(*STEADY)
        killed = 0
        for write in range(1, 4):
            for fault in (wire.shut, wire.open):
                kill.answered, kill.seen, kill.write = bool(write % 2), 0, write
                kill.pid = controller.process.popen.pid
                fault()
                lost = fault == wire.shut

                def done(lost: bool = lost) -> bool:
                    ready, moved = drill.numbers("readyReplicas"), drill.entry(LOST).get("movedReplicas", 0)
                    back = set(ready.values()) == {2} and drill.settled()
                    return ready.items() >= {"member-1": 3, "member-2": 3}.items() and moved == 2 if lost else back

                drill.until(lambda done=done: not kill.pid or done(), "the kill, or the end")
                if not kill.pid:
                    killed += 1
                    controllers.close()
                    controller = controllers.enter_context(scene.site.controller("--no-leader-elect", ready=False))
                kill.pid = 0
                drill.until(done, f"the end after a kill at write {write}")
        assert killed >= 5
        ends_as_planned(drill, *STEADY, LOST, kept=kept)
