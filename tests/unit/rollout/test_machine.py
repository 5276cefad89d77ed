"""Scenario 51: whatever users, clusters and crashes do in whatever order, the invariants of a rollout hold.

I1 no step updates more pods than it asks for, I3 not more pods down than allowed, I4 nothing is lowered on what is not
known, I5 decisions are derivable from status (checked in ``Controller.decide``), I6 the stable revision is kept, I7 all
partitions are written.
"""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.unit.rollout.fleet import Controller, Fleet
from uniteddeployment_rollout.budget import limit
from uniteddeployment_rollout.steps import goal
from uniteddeployment_rollout.target import HOLD_ALL

NAMES = ("a", "b", "c")
PLANS = [
    [{"replicas": 1, "pause": {}}, {"replicas": "50%"}, {"replicas": "100%"}],
    [{"replicas": "25%", "bake": "30s"}, {"replicas": 3}, {"replicas": "75%", "pause": {"duration": "1m"}}],
    [{"wave": {}, "replicas": 1}, {"wave": {"subsets": ["b"]}, "replicas": "100%", "pause": {}}],
    [{"replicas": "100%", "maxConcurrentClusters": 1}],
]
subsets = st.sampled_from(NAMES)


class Rollouts(RuleBasedStateMachine):
    """One application, its clusters, its users, and a controller that stops now and then."""

    @initialize(
        sizes=st.tuples(*[st.integers(0, 5)] * 3),
        plan=st.sampled_from(PLANS),
        most=st.sampled_from([1, 2, "50%"]),
        unreachable=st.sampled_from(["Hold", "Skip"]),
        failure=st.sampled_from(["Hold", "Rollback"]),
        distribution=st.sampled_from(["Even", "FirstCanaryEverywhere", "LargestFirst"]),
    )
    def begin(self, *, sizes, plan, most, unreachable, failure, distribution):
        self.fleet = Fleet(dict(zip(NAMES, sizes, strict=True)))
        self.stables = {"v1"}
        self.controller = Controller(
            self.fleet,
            steps=plan,
            maxUnavailable=most,
            onUnreachable=unreachable,
            onFailure=failure,
            distribution=distribution,
            progressDeadline="2m",
        )

    @rule(revision=st.sampled_from(["v1", "v2", "v3"]))
    def release(self, revision):
        self.fleet.release(revision)

    @rule(name=subsets, size=st.integers(0, 6))
    def scale(self, name, size):
        self.fleet.scale(**{name: size})

    @rule(name=subsets)
    def lose(self, name):
        self.fleet.lose(name)

    @precondition(lambda self: self.fleet.lost)
    @rule()
    def find(self):
        self.fleet.find(*NAMES)

    @rule(revision=st.sampled_from(["v1", "v2", "v3"]))
    def spoil(self, revision):
        self.fleet.bad ^= {revision}

    @rule(name=subsets, data=st.data())
    def fail(self, name, data):
        pods = self.fleet.pods[name]
        if pods:
            data.draw(st.sampled_from(pods)).ready = False

    @rule(name=subsets, partition=st.integers(0, 5))
    def meddle(self, name, partition):
        self.fleet.partitions[name] = partition
        self.fleet.changed()

    @rule(verb=st.sampled_from(["approve", "approve", "retry", "retry", "abort", "promote", "skip", "undo", "pause"]))
    def give(self, verb):
        self.controller.give(f"{len(self.controller.events)}-{self.controller.now}", verb)

    @rule()
    def resume(self):
        self.controller.give(f"{len(self.controller.events)}-{self.controller.now}", "resume")

    @rule(seconds=st.sampled_from([1, 45, 130]))
    def pass_time(self, seconds):
        self.controller.now += type(self.controller.now - self.controller.now)(seconds=seconds)

    @rule(count=st.integers(1, 12))
    def tick(self, count):
        for _ in range(count):
            self.fleet.tick()

    @rule(dies=st.booleans())
    def step(self, dies):
        fleet, controller = self.fleet, self.controller
        before = fleet.target()
        controller.step(dies_before_write=dies)
        status, written = controller.status, controller.writes[-1:]
        if not dies and written and fleet.generation != before.generation:
            self._check_write(before, status, written[0])

    @rule(count=st.integers(2, 10))
    def work(self, count):
        for _ in range(count):
            self.step(dies=False)
            self.fleet.tick()

    def _check_write(self, before, status, write):
        assert write.default == HOLD_ALL
        if not status.run_id or status.rollback is not None:
            return
        assert set(write.partitions) == set(NAMES)
        old = {subset.name: subset for subset in before.subsets}
        new = {subset.name: subset for subset in self.fleet.target().subsets}
        spec = self.controller.rollout.spec
        step = (
            before.sizes
            if status.full
            else goal(spec, status.step, before.sizes, {name: subset.staying for name, subset in old.items()}).updated
        )
        opened = [name for name in NAMES if new[name].allowed > old[name].allowed]
        for name in opened:
            assert new[name].allowed <= step[name]
            assert name not in self.fleet.lost
        if opened:
            assert before.observed
            assert spec.on_unreachable == "Skip" or not self.fleet.lost
            down = sum(subset.unavailable + subset.pending for subset in new.values())
            assert down <= limit(spec.max_unavailable, before.replicas)
            assert not spec.paused
            assert not status.paused_by
            assert status.failure is None

    @invariant()
    def the_stable_revision_was_complete_once(self):
        if hasattr(self, "fleet"):
            self.stables.add(self.fleet.current)
            assert self.controller.status.stable_revision in self.stables

    def teardown(self):
        """When all is well again, a promotion or a retry brings it to an end."""
        if not hasattr(self, "fleet"):
            return
        fleet, controller = self.fleet, self.controller
        fleet.find(*NAMES)
        fleet.bad.clear()
        if not any(fleet.sizes.values()):
            fleet.scale(a=2)
        for number in range(6):
            for verb in ("resume", "retry", "promote"):
                controller.give(f"end-{number}-{verb}", verb)
                controller.step()
            controller.settle()
        assert controller.status.phase == "Healthy"
        assert fleet.current == fleet.template == controller.status.stable_revision
        assert fleet.not_ready == 0


TestRollouts = Rollouts.TestCase
TestRollouts.settings = settings(
    max_examples=int(os.environ.get("UD_ROLLOUT_EXAMPLES", "40")), stateful_step_count=25, deadline=None
)
