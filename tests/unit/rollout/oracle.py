"""What must hold after each pass of a rollout, whatever happened before: its invariants, checked from outside.

They have the numbers of the reference: I1 no step updates more pods than it asks for, I2 nothing is reverted without a
rollback, I3 not more pods are down than allowed, I4 nothing is lowered on a state that is failed or unknown, I6 the
stable revision is kept, I7 all partitions are written. (I5, decisions are derivable from the status, is checked in
``Controller.decide``.)
"""

from datetime import datetime
from typing import Any

from tests.unit.rollout.fleet import Controller, Fleet
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.int_or_percent import percent_of
from uniteddeployment_rollout import Target, TargetWrite
from uniteddeployment_rollout.steps import goal, steps_of
from uniteddeployment_rollout.target import HOLD_ALL


def most_down(value: int | str, replicas: int) -> int:
    """The budget, computed again."""
    return max(1, value if isinstance(value, int) else percent_of(value) * replicas // 100)


class Oracle:
    """Follows one rollout from pass to pass."""

    def __init__(self, fleet: Fleet, controller: Controller) -> None:
        self.fleet, self.controller = fleet, controller
        self.stables = {fleet.current}
        self.granted: dict[str, int] = {}
        """Subset -> the most updated pods that the rollout allows. Empty while others have changed partitions."""
        self.approved: set[tuple[str, int]] = set()
        self.ready_since: tuple[str, int, datetime] | None = None
        """Run, step, and since when its pods are ready without interruption."""
        self.runs: set[str] = set()
        self.foreign: dict[str, int] = {}
        """Subset -> the partition that somebody else has written during the present run."""

    def edited_manually(self, name: str, partition: int) -> None:
        """Somebody else has changed what the rollout writes."""
        status = self.controller.status
        self.granted = {}
        ours = (status.partitions.get(name), status.previous_partitions.get(name), None)
        if status.partitions and self.fleet.applies and partition not in ours and None not in ours[:1]:
            self.foreign[name] = partition

    def spec(self) -> Any:
        return self.controller.rollout.spec

    def at_any_time(self) -> None:
        """Nobody but the rollout allows more pods to be updated, and every stable revision was complete once."""
        fleet = self.fleet
        self.stables.add(fleet.current)
        assert self.controller.status.stable_revision in {*self.stables, ""}
        if fleet.applies and fleet.template != fleet.current:
            for name, most in self.granted.items():
                if name in fleet.sizes:
                    assert fleet.sizes[name] - fleet.held(name) <= most, (
                        f"{name} may have more than {most} updated pods"
                    )

    def passed(self, before: Any, target: Target, commands: dict[str, Any], write: TargetWrite | None) -> None:
        """A pass has decided on ``target`` from the status ``before``, and has written if ``write`` is given."""
        status = self.controller.status
        self._commands(before, commands)
        self._runs(before, target)
        if status.phase == "Healthy" and target.observed:
            assert status.stable_revision == target.updated_revision
        self._steps(before, target, commands)
        if set(status.reverted) - set(before.reverted):
            assert self.spec().on_failure == "RollbackCluster", "I2"
        retried = any(command.verb == "retry" for command in commands.values())
        if retried or before.run_id != status.run_id or status.rollback is not None or self.spec().disabled:
            self.foreign = {}
        if write is not None:
            self._write(before, target, write)

    def _commands(self, before: Any, commands: dict[str, Any]) -> None:
        status = self.controller.status
        assert not status.commands
        known = {answer.id for answer in before.answers}
        done = [answer for answer in status.answers if answer.id in commands and answer.id not in known]
        assert len(done) == len(commands.keys() - known), "each command is answered once"
        for answer in done:
            command = commands[answer.id]
            if answer.result == "Done" and command.verb == "approve":
                assert (command.run_id, command.step) not in self.approved, "a step is approved twice"
                self.approved.add((command.run_id, command.step))

    def _runs(self, before: Any, target: Target) -> None:
        status = self.controller.status
        known = {run.run_id for run in before.history}
        for run in status.history:
            if run.run_id in known:
                continue
            assert run.run_id not in self.runs, "a run ends twice"
            self.runs.add(run.run_id)
            expected = {"Completed": run.update_revision, "RolledBack": run.stable_revision}.get(run.outcome)
            if expected is not None:
                assert target.observed
                assert target.updated_revision == target.current_revision == expected
                assert all(subset.reachable and subset.updated_ready >= subset.replicas for subset in target.subsets)

    def _steps(self, before: Any, target: Target, commands: dict[str, Any]) -> None:
        """A step is over only when its pods are ready, and its bake time and its pause are over."""
        status, now, spec = self.controller.status, self.controller.now, self.spec()
        if not target.observed or not status.run_id or status.rollback is not None or spec.disabled:
            self.ready_since = None
            return
        same = before.run_id == status.run_id and before.step and not before.full
        first = before.step if same else 1
        if status.full or status.steps != len(steps_of(spec)) or (same and before.steps != status.steps):
            self.ready_since = None
            return
        skipped = {command.step for command in commands.values() if command.verb == "skip"}
        skipped |= {before.step} if before.skipped else set()
        there = {subset.name: subset.staying for subset in target.subsets}
        for number in range(first, status.step + 1):
            wanted = goal(spec, number, target.sizes, there, target.labels).updated
            ready = all(
                subset.updated_ready >= max(wanted[subset.name], subset.updated)
                for subset in target.subsets
                if subset.reachable
            )
            known = self.ready_since
            if not ready:
                self.ready_since = None
            elif known is None or known[:2] != (status.run_id, number):
                self.ready_since = (status.run_id, number, now)
            if number < status.step:
                assert ready, f"step {number} is over although its pods are not ready"
                assert number in skipped or self._waited(status.run_id, steps_of(spec)[number - 1], number)
                assert not spec.paused
                assert not status.paused_by

    def _waited(self, run: str, step: Any, number: int) -> bool:
        assert self.ready_since is not None
        waited = (self.controller.now - self.ready_since[2]).total_seconds()
        if step.bake is not None and waited < seconds(step.bake):
            return False
        if step.pause is None or (run, number) in self.approved:
            return True
        return step.pause.duration is not None and waited >= seconds(step.pause.duration)

    def _write(self, before: Any, target: Target, write: TargetWrite) -> None:
        status, spec, fleet = self.controller.status, self.spec(), self.fleet
        self.granted = {}
        if spec.disabled:
            assert not status.run_id, "a run is not completed by disabling the rollout"
            return
        assert write.default == HOLD_ALL
        if write.restore:
            assert status.rollback is not None or not status.run_id, "the template changes only on a rollback"
        if not status.run_id or status.rollback is not None:
            assert not write.revert
            return
        assert set(write.partitions) == set(fleet.sizes), "I7"
        assert write.revision == status.update_revision == target.updated_revision
        for name, partition in self.foreign.items():
            assert target.partitions.get(name) != partition, "partitions of others are kept until a retry"
        self.foreign = {}
        if write.revert:
            assert status.failure is not None, "I2"
        self._opened(target)

    def _opened(self, target: Target) -> None:
        """I1, I3 and I4: how far partitions were lowered, on which state."""
        status, spec, fleet = self.controller.status, self.spec(), self.fleet
        old = {subset.name: subset for subset in target.subsets}
        new = {subset.name: subset for subset in fleet.target().subsets}
        there = {name: subset.staying for name, subset in old.items()}
        rejected = status.failure is not None and status.failure.reason == "RolledBackBefore"
        number = 0 if rejected else status.step
        wanted = goal(spec, number, target.sizes, there, target.labels)
        full = status.full
        self.granted = {name: fleet.max_updated[name] for name in new if not full and name not in wanted.whole}
        for name, most in self.granted.items():
            # Where nobody can see, it stays at what it was: nobody knows how many pods were updated meanwhile.
            before = old[name].max_updated or 0 if old[name].reachable else old[name].allowed
            assert most <= max(wanted.updated[name], before), "I1"
        opened = [name for name in new if new[name].allowed > old[name].allowed]
        if not opened:
            return
        for name in opened:
            assert new[name].allowed <= (target.sizes if full else wanted.updated)[name], "I1"
            assert old[name].reachable, "I4"
        assert target.observed, "I4"
        assert spec.on_unreachable == "Skip" or all(subset.reachable for subset in target.subsets), "I4"
        assert not any(subset.state == "Stalled" for subset in target.subsets), "I4"
        assert status.failure is None, "I4"
        assert not any((spec.paused, status.paused_by, target.paused))
        restarted = [name for name in opened if new[name].allowed > old[name].staying]
        if all(old[name].ready == old[name].updated_ready == old[name].updated for name in restarted):
            return  # no ready pod is restarted
        down = sum(subset.unavailable + subset.pending for subset in new.values())
        assert down <= most_down(spec.max_unavailable, target.replicas), "I3"
