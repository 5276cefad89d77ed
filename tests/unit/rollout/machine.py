"""Scenario 51 as a state machine: users, clusters and crashes in whatever order, over the pure model of a fleet."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.unit.rollout.fleet import Controller, Fleet
from tests.unit.rollout.oracle import Oracle

NAMES = ("a", "b", "c")
PLANS = [
    [{"replicas": 1, "pause": {}}, {"replicas": "50%"}, {"replicas": "100%"}],
    [{"replicas": "25%", "bake": "30s"}, {"replicas": 3}, {"replicas": "75%", "pause": {"duration": "1m"}}],
    [{"wave": {}, "replicas": 1}, {"wave": {"subsets": ["b"]}, "replicas": "100%", "pause": {}}],
    [{"wave": {"clusterSelector": {"matchLabels": {"zone": "a"}}}, "replicas": "50%"}, {"replicas": "60%"}],
    [{"replicas": "100%", "maxConcurrentClusters": 1}],
]
REVISIONS = ["v1", "v2", "v3"]
subsets = st.sampled_from(NAMES)


def happens(**strategies: Any) -> Callable[[Callable[..., None]], Any]:
    """A rule: something happens, and then the controllers may work for a while."""

    def wrap(function: Callable[..., None]) -> Any:
        def then(self: "Rollouts", passes: int, **values: Any) -> None:
            function(self, **values)
            self.work(passes)

        then.__name__ = function.__name__
        decorate: Any = rule(passes=st.sampled_from([0, 1, 9, 30]), **strategies)
        return decorate(then)

    return wrap


class Rollouts(RuleBasedStateMachine):
    """One application, its clusters, its users, and a controller that may stop between any two writes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.told = 0

    @initialize(
        sizes=st.tuples(*[st.integers(0, 5)] * 3),
        plan=st.sampled_from(PLANS),
        most=st.sampled_from([1, 2, "50%"]),
        unreachable=st.sampled_from(["Hold", "Skip"]),
        failure=st.sampled_from(["Hold", "RollbackCluster", "Rollback"]),
        distribution=st.sampled_from(["Even", "FirstCanaryEverywhere", "LargestFirst"]),
        released=st.integers(0, 3),
    )
    def begin(
        self,
        *,
        sizes: tuple[int, int, int],
        plan: list[dict[str, Any]],
        most: int | str,
        unreachable: str,
        failure: str,
        distribution: str,
        released: int,
    ) -> None:
        self.fleet = Fleet(dict(zip(NAMES, sizes, strict=True)))
        self.fleet.labels = {name: {"zone": name} for name in NAMES}
        self.controller = Controller(
            self.fleet,
            steps=plan,
            maxUnavailable=most,
            onUnreachable=unreachable,
            onFailure=failure,
            distribution=distribution,
            progressDeadline="2m",
        )
        self.oracle = Oracle(self.fleet, self.controller)
        if released:
            self.fleet.release("v2")
            self.work(6 * released)

    @happens(revision=st.sampled_from(REVISIONS))
    def release(self, revision: str) -> None:
        self.fleet.release(revision)

    @happens(name=subsets, size=st.integers(0, 8))
    def scale(self, name: str, size: int) -> None:
        if name in self.fleet.sizes:
            self.fleet.scale(**{name: size})

    @happens(name=subsets, size=st.integers(0, 4))
    def add_or_remove(self, name: str, size: int) -> None:
        """Users may remove a subset only together with its entries."""
        fleet = self.fleet
        if name not in fleet.sizes:
            fleet.sizes[name], fleet.pods[name] = size, []
        elif len(fleet.sizes) > 1:
            for entries in (fleet.sizes, fleet.pods, fleet.partitions, fleet.max_updated, fleet.shown, fleet.states):
                entries.pop(name, None)
            fleet.lost.discard(name)
            fleet.revert.discard(name)
        fleet.changed()

    @happens(name=subsets)
    def lose(self, name: str) -> None:
        if name in self.fleet.sizes:
            self.fleet.lose(name)

    @precondition(lambda self: self.fleet.lost)
    @happens()
    def find(self) -> None:
        self.fleet.find(*NAMES)

    @happens(name=subsets, stalled=st.booleans())
    def stall(self, name: str, stalled: bool) -> None:
        self.fleet.states[name] = "Stalled" if stalled else "Progressing"

    @happens(revision=st.sampled_from(REVISIONS))
    def release_a_broken_one(self, revision: str) -> None:
        """Its pods do not become ready in time."""
        self.fleet.bad.add(revision)
        self.fleet.release(revision)
        self.work(30)
        self.pass_time(0, seconds=130)

    @happens(revision=st.sampled_from(REVISIONS))
    def spoil(self, revision: str) -> None:
        self.fleet.bad ^= {revision}

    @happens(name=subsets, data=st.data())
    def fail(self, name: str, data: st.DataObject) -> None:
        if pods := self.fleet.pods.get(name):
            data.draw(st.sampled_from(pods)).ready = False

    @happens(name=subsets, partition=st.integers(0, 5), most=st.none() | st.integers(0, 5))
    def manual_edit(self, name: str, partition: int, most: int | None) -> None:
        """Somebody else changes partitions of the target."""
        if name in self.fleet.sizes:
            self.fleet.partitions[name] = partition
            self.fleet.max_updated.pop(name, None)
            if most is not None:
                self.fleet.max_updated[name] = most
            self.fleet.changed()
            self.oracle.edited_manually(name, partition)

    @happens(name=subsets)
    def manual_edit_in_member(self, name: str) -> None:
        self.count += 1
        self.fleet.drifts[name] = (f"2026-01-01T00:{self.count // 60:02}:{self.count % 60:02}Z", "put back spec")

    @happens()
    def lag(self) -> None:
        """The spec has changed, and the controller of the target has not seen it yet."""
        self.fleet.generation += 1

    @happens(change=st.sampled_from([{"paused": True}, {"paused": False}, {"disabled": True}, {"disabled": False}]))
    def switch(self, change: dict[str, bool]) -> None:
        self.controller.edit(**change)

    @happens(plan=st.sampled_from(PLANS), failure=st.sampled_from(["Hold", "RollbackCluster", "Rollback"]))
    def edit(self, plan: list[dict[str, Any]], failure: str) -> None:
        self.controller.edit(steps=plan, onFailure=failure)

    @happens(
        verb=st.sampled_from(["approve", "approve", "retry", "abort", "promote", "skip", "undo", "pause", "resume"]),
        earlier=st.integers(0, 5),
        clients=st.integers(1, 2),
    )
    def give(self, verb: str, earlier: int, clients: int) -> None:
        """Clients give a command, in some cases for an earlier step."""
        for _ in range(clients):
            self._give(verb, earlier)

    @precondition(lambda self: self.controller.status.step_state == "Paused")
    @happens(clients=st.integers(1, 2))
    def approve(self, clients: int) -> None:
        """Clients approve the present step, perhaps at the same time."""
        for _ in range(clients):
            self._give("approve")

    def _give(self, verb: str, earlier: int = 0) -> None:
        self.told += 1
        self.controller.give(f"{self.told:04}", verb, step=max(0, self.controller.status.step - earlier // 5))

    @happens(seconds=st.sampled_from([1, 45, 130]))
    def pass_time(self, seconds: int) -> None:
        self.controller.now += timedelta(seconds=seconds)

    @rule(count=st.integers(1, 12))
    def tick(self, count: int) -> None:
        for _ in range(count):
            self.fleet.tick()
            self.oracle.at_any_time()

    @rule(dies=st.booleans())
    def step(self, dies: bool) -> None:
        """One pass of the rollout controller."""
        self._pass(dies)

    def _pass(self, dies: bool) -> bool:
        fleet, controller = self.fleet, self.controller
        target, before, writes = fleet.target(), controller.status, len(controller.writes)
        changed = controller.step(dies_before_write=dies)
        write = controller.writes[-1] if len(controller.writes) > writes else None
        self.oracle.passed(before, target, before.commands, write)
        return changed

    def work(self, count: int) -> None:
        """The controllers of the target and of the rollout work by turns."""
        if count:
            self.fleet.observed = self.fleet.generation
        for _ in range(count):
            changed = self._pass(dies=False)
            happened = self.fleet.tick()
            self.oracle.at_any_time()
            if not changed and not happened:
                break

    @invariant()
    def nobody_else_updates_pods(self) -> None:
        if hasattr(self, "oracle"):
            self.oracle.at_any_time()

    def teardown(self) -> None:
        """When all is well again, a promotion or a retry brings it to an end."""
        if not hasattr(self, "oracle"):
            return
        fleet, controller = self.fleet, self.controller
        fleet.find(*NAMES)
        fleet.bad.clear()
        fleet.states.clear()
        fleet.changed()
        controller.edit(paused=False, disabled=False, steps=PLANS[0])
        if not any(fleet.sizes.values()):
            fleet.scale(**{next(iter(fleet.sizes)): 2})
        for _ in range(6):
            controller.settle()
            if controller.status.phase == "Healthy":
                break
            for verb in ("resume", "retry", "promote"):
                self._give(verb)
                self._pass(dies=False)
        assert controller.status.phase == "Healthy", controller.status.message
        assert fleet.current == fleet.template == controller.status.stable_revision
        assert fleet.not_ready == 0
