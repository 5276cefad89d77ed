"""A UnitedDeployment and its pods in a few lines, and a rollout controller around ``advance`` that may be killed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from uniteddeployment_api.int_or_percent import held_back
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.rollout import parse_united_rollout
from uniteddeployment_rollout import Decision, Target, TargetSubset, TargetWrite, advance
from uniteddeployment_rollout.status import Event
from uniteddeployment_rollout.target import HOLD_ALL

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
V2 = "v2"
HALF = [{"replicas": "50%", "pause": {}}]
STEPS = [{"replicas": 1, "pause": {}}, {"replicas": "50%", "pause": {}}, {"replicas": "100%"}]


@dataclass
class Pod:
    revision: str
    ready: bool = True


class Fleet:
    """Pods by subset, the highest ordinals last. ``tick`` lets every cluster do one thing, as a StatefulSet does."""

    def __init__(self, sizes: dict[str, int], revision: str = "v1") -> None:
        self.sizes = dict(sizes)
        self.pods = {name: [Pod(revision) for _ in range(size)] for name, size in sizes.items()}
        self.template = self.current = revision
        self.default: int | str = 0
        self.partitions: dict[str, int | str] = {}
        self.revision = ""
        self.max_updated: dict[str, int] = {}
        self.revert: set[str] = set()
        self.labels: dict[str, dict[str, str]] = {}
        """Labels of the clusters, by subset."""
        self.clusters: dict[str, str] = {}
        """Clusters by subset; each has its own if it is not here."""
        self.drifts: dict[str, tuple[str, str]] = {}
        """Subset -> time and message of the last change of others that was reverted."""
        self.bad: set[str] = set()
        """Revisions whose pods never become ready."""
        self.lost: set[str] = set()
        """Subsets whose cluster cannot be reached; their pods run on."""
        self.states: dict[str, str] = {}
        self.shown: dict[str, list[Pod]] = {}
        """What status knows of lost subsets."""
        self.generation = self.observed = 1
        self.paused = False
        self.partitions_by = ""

    def partition_all(self, partition: int | str) -> None:
        """A user changes the default partition."""
        self.default = partition
        self.changed()

    def release(self, revision: str) -> None:
        """A user changes the template."""
        self.template = revision
        self.changed()

    def scale(self, **sizes: int) -> None:
        self.sizes |= sizes
        self.changed()

    def changed(self) -> None:
        """The spec has another generation, and its controller has seen it."""
        self.generation += 1
        self.observed = self.generation

    def lose(self, *names: str) -> None:
        for name in names:
            self.lost.add(name)
            self.shown[name] = [Pod(pod.revision, pod.ready) for pod in self.pods[name]]

    def find(self, *names: str) -> None:
        self.lost -= set(names)

    def write(self, write: TargetWrite) -> None:
        assert {*write.partitions, *write.max_updated, *write.revert} <= self.sizes.keys(), "the API server refuses it"
        self.default = write.default
        self.partitions = dict(write.partitions)
        self.revision = write.revision
        self.max_updated = dict(write.max_updated)
        self.revert = set(write.revert)
        self.template = write.restore or self.template
        self.changed()

    def held(self, name: str) -> int:
        size = self.sizes[name]
        if not self.applies:
            return held_back(self.default, size)
        if name in self.revert:
            return size
        held = held_back(self.partitions.get(name, self.default), size)
        return max(held, size - self.max_updated.get(name, size))

    @property
    def applies(self) -> bool:
        """Whether what is there for single subsets applies: for another revision, only the default partition does."""
        return self.revision in ("", self.template)

    def tick(self) -> bool:
        """One action in each cluster that can be reached; returns whether anything happened."""
        acted = [self._act(name) for name in self.sizes if name not in self.lost]
        happened = any(acted)
        pods = [pod for name in self.sizes for pod in self.pods[name]]
        if pods and not self.lost and all(pod.revision == self.template and pod.ready for pod in pods):
            happened |= self.current != self.template
            self.current = self.template
        return happened

    def _act(self, name: str) -> bool:
        pods, size, held = self.pods[name], self.sizes[name], self.held(name)
        if len(pods) > size:
            del pods[size:]
            return True
        if len(pods) < size:
            # As the UnitedDeployment controller sees to it: held pods are born at the stable revision.
            old = sum(pod.revision != self.template for pod in pods)
            pods.append(Pod(self.current if old < held else self.template, ready=False))
            return True
        for pod in pods:
            if not pod.ready and pod.revision not in self.bad and pod.revision:
                pod.ready = True
                return True
        reverts = self.applies and name in self.revert
        template = self.current if reverts else self.template
        others = [pod for pod in pods if pod.revision != template]
        back = template == self.current
        # A broken pod that the partition does not hold is replaced even if others are not ready.
        may = all(pod.ready for pod in pods) or any(not pod.ready for pod in others)
        if others and (back or (len(others) > held and may)):
            last = next((pod for pod in reversed(others) if not pod.ready), others[-1])
            last.revision, last.ready = template, False
            return True
        return False

    def target(self) -> Target:
        return Target(
            name="web",
            generation=self.generation,
            observed_generation=self.observed,
            paused=self.paused,
            current_revision=self.current,
            updated_revision=self.template,
            default_partition=self.default,
            partitions=dict(self.partitions),
            partitions_revision=self.revision,
            max_updated=dict(self.max_updated),
            revert=tuple(sorted(self.revert)),
            subsets=tuple(self._subset(name) for name in self.sizes),
            partitions_by=self.partitions_by,
        )

    def _subset(self, name: str) -> TargetSubset:
        pods = self.shown[name] if name in self.lost else self.pods[name]
        updated = [pod for pod in pods if pod.revision == self.template]
        broken = sum(not pod.ready for pod in updated)
        return TargetSubset(
            name=name,
            cluster=self.clusters.get(name, f"default/{name}"),
            replicas=self.sizes[name],
            observed=len(pods),
            ready=sum(pod.ready for pod in pods),
            updated=len(updated),
            updated_ready=sum(pod.ready for pod in updated),
            state="Unknown" if name in self.lost else self.states.get(name, "Progressing"),
            reason=f"ImagePullBackOff: {broken}" if broken else "",
            last_observed="2026-01-01T00:00:00Z" if name in self.lost else "",
            partition=self.partitions.get(name) if self.applies else None,
            default=self.default,
            max_updated=self.max_updated.get(name) if self.applies else None,
            reverted=self.applies and name in self.revert,
            labels=self.labels.get(name, {}),
            drift_time=self.drifts.get(name, ("", ""))[0],
            drift=self.drifts.get(name, ("", ""))[1],
        )

    def updated(self, revision: str = "") -> dict[str, int]:
        wanted = revision or self.template
        return {name: sum(pod.revision == wanted for pod in self.pods[name]) for name in self.sizes}

    @property
    def not_ready(self) -> int:
        return sum(self.sizes[name] - sum(pod.ready for pod in self.pods[name]) for name in self.sizes)


class Controller:
    """Stores each decision's status, then writes to the target, as the loop does."""

    def __init__(self, fleet: Fleet, **spec: Any) -> None:
        self.fleet = fleet
        self.now = EPOCH
        document = {"targetRef": {"name": "web"}, "maxUnavailable": 1, "steps": STEPS, **spec}
        self.rollout = parse_united_rollout({"metadata": {"name": "web", "generation": 1}, "spec": document})
        self.events: list[Event] = []
        self.writes: list[TargetWrite] = []
        self.worst = 0
        """The most pods that were not ready at one time."""
        self.settle()

    @property
    def status(self) -> Any:
        return self.rollout.status

    def edit(self, **spec: Any) -> None:
        """A user edits the rollout."""
        document = self.rollout.model_dump(by_alias=True, exclude_none=True)
        document["spec"] |= spec
        document["metadata"]["generation"] += 1
        self.rollout = parse_united_rollout(document)

    def give(self, id_: str, verb: str, *, run: str | None = None, step: int | None = None, by: str = "ann") -> None:
        """A client adds a command, for the present run and step unless it says otherwise."""
        command = {
            "verb": verb,
            "runID": self.status.run_id if run is None else run,
            "step": self.status.step if step is None else step,
            "by": by,
        }
        document = self.rollout.model_dump(by_alias=True, exclude_none=True)
        document["status"].setdefault("commands", {})[id_] = command
        self.rollout = parse_united_rollout(document)

    def answer(self, id_: str) -> Any:
        return next(answer for answer in self.status.answers if answer.id == id_)

    def decide(self) -> Decision:
        """A decision for what is there now. Made again from what it stored, it has to be the same (I5)."""
        target = self.fleet.target()
        decision = advance(self.rollout, target, self.now)
        if decision.status == self.rollout.status:
            return decision
        stored = stored_again(self.rollout, decision)
        again = advance(stored, target, self.now)
        assert (again.status, again.write) == (decision.status, decision.write)
        return decision

    def step(self, *, dies_before_write: bool = False) -> bool:
        """One pass; returns whether it changed anything."""
        decision = self.decide()
        changed = decision.status != self.rollout.status
        if changed:
            self.rollout = stored_again(self.rollout, decision)
        changed |= decision.write is not None
        self.events += decision.events
        if decision.write is not None and not dies_before_write:
            assert decision.write.default == HOLD_ALL or decision.status.phase == "Disabled"
            if decision.status.run_id and not decision.write.restore:
                assert set(decision.write.partitions) == set(self.fleet.sizes)  # I7
            self.writes.append(decision.write)
            self.fleet.write(decision.write)
        return changed

    def settle(self, *, most: int = 2000) -> None:
        """Pass and tick until nothing changes any more while time stands still."""
        for _ in range(most):
            changed = self.step()
            happened = self.fleet.tick()
            self.worst = max(self.worst, self.fleet.not_ready)
            if not changed and not happened:
                return
        raise AssertionError(f"it does not come to rest: {self.status}")

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.settle()

    def approve(self) -> None:
        self.give(f"c{len(self.status.answers)}", "approve")
        self.settle()

    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]


def stored_again(rollout: UnitedRollout, decision: Decision) -> UnitedRollout:
    """The rollout as the next process reads it from the API server."""
    document = rollout.model_dump(by_alias=True, exclude_none=True)
    document["status"] = decision.status.model_dump(by_alias=True, exclude_none=True)
    return parse_united_rollout(document)


def canary(sizes: dict[str, int] | None = None, **spec: Any) -> tuple[Fleet, Controller]:
    """Four, two and two pods in three clusters, all at v1, and a rollout in three steps."""
    fleet = Fleet(sizes or {"a": 4, "b": 2, "c": 2})
    return fleet, Controller(fleet, **spec)


def released(sizes: dict[str, int] | None = None, *, to: str = V2, **spec: Any) -> tuple[Fleet, Controller]:
    """A fleet in which a user has changed the template, as far as that goes without an approval."""
    fleet, controller = canary(sizes, **spec)
    fleet.release(to)
    controller.settle()
    return fleet, controller


def at_half(**spec: Any) -> tuple[Fleet, Controller]:
    """The same after the first approval: half of the pods are updated."""
    fleet, controller = released(**spec)
    controller.approve()
    assert fleet.updated() == {"a": 2, "b": 1, "c": 1}
    return fleet, controller
