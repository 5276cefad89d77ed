"""A fleet without clusters: plans are carried out on numbers, in virtual time, with a status that is stored between."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support import planning as make
from uniteddeployment.planning.observed import ClusterFacts, FleetFacts, MemberView, Observed, Reach, Taint
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment.planning.replicas.pace import floor
from uniteddeployment.planning.steps import Apply, Delete, Scale
from uniteddeployment.planning.stored import NO_STATUS, StoredStatus, StoredSubset, read_status, to_document
from uniteddeployment_api.int_or_percent import rounded_down

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Member:
    """One member with the workload of one subset: the number that it is asked for, and its pods."""

    asked: int | None = None
    ready: int = 0
    reach: Reach = Reach.READY
    broken: bool = False
    """Whether its pods never become ready."""


@dataclass
class Fleet:
    """An application of which each subset runs in a member of the same name."""

    document: dict[str, Any]
    members: dict[str, Member]
    seconds: int = 0
    status: StoredStatus = NO_STATUS
    facts: dict[str, ClusterFacts] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    moved: Counter[str] = field(default_factory=Counter)
    """Cluster -> replicas that began to move away from it."""
    first: Any = None
    """The application as it was at first."""
    lowest: int = 0
    """The fewest pods beyond the floor that were ready after any write; negative if the budget was exceeded."""

    @property
    def now(self) -> str:
        return self.time(self.seconds)

    @staticmethod
    def time(seconds: int) -> str:
        return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    # --- What happens to it ---

    def lose(self, *names: str) -> None:
        """Cut members off. Their pods go on."""
        for name in names:
            self.members[name].reach = Reach.OFFLINE
            self.facts[name] = ClusterFacts((Taint("uniteddeployment.io/unreachable", time_added=self.now),), self.now)

    def answers(self, name: str) -> None:
        """The member can be read again. Its phase is still Offline."""
        self.members[name].reach = Reach.READY
        self.facts[name] = replace(self.facts[name], recovering=True)

    def recovers(self, name: str) -> None:
        """The member is Running again."""
        self.answers(name)
        del self.facts[name]

    def taint(self, name: str, effect: str = "NoExecute") -> None:
        self.facts[name] = ClusterFacts((Taint("maintenance", "", effect, self.now),))

    # --- What the controller does ---

    def one_pass(self, *, writes: int | None = None) -> Plan:
        """Plan, write and store the status. With ``writes``, the controller dies after so many writes to members."""
        app = make.application(self.document, generation=self.generation)
        made = self._planned(app)
        if made.persist_first:
            if writes is None:
                self._store(made)
            return made
        steps = [step for steps in made.members.values() for step in steps]
        for step in steps[:writes]:
            member = self.members[step.cluster.removeprefix("default/")]
            before = self.ready
            if isinstance(step, Delete):
                member.asked, member.ready = None, 0
            else:
                member.asked = step.body["spec"]["replicas"] if isinstance(step, Apply) else _replicas(step)
                member.ready = min(member.ready, member.asked)
            if self.ready < before:
                self.lowest = min(self.lowest, self.ready - self.floor)
        if writes is None:
            made = self._planned(app)
            if not made.persist_first:
                self._store(made)
        return made

    def start_pods(self, most: int | None = None) -> None:
        """Let pods become ready, at most so many in each member."""
        for member in self.members.values():
            if not member.broken and member.asked is not None:
                member.ready = min(member.asked, member.ready + (member.asked if most is None else most))

    def go_on(self, seconds: int = 0, *, passes: int = 40, step: int = 5) -> None:
        """Let time pass until so many seconds have passed and nothing changes any more."""
        end, quiet = self.seconds + seconds, 0
        for _ in range(passes + seconds // step):
            before = (self.status, [replace(member) for member in self.members.values()])
            self.one_pass()
            self.start_pods()
            self.seconds += step
            same = before == (self.status, list(self.members.values()))
            quiet = quiet + 1 if same else 0
            if quiet >= 3 and self.seconds >= end:
                return
        raise AssertionError("it does not come to rest")

    # --- What there is ---

    @property
    def generation(self) -> int:
        return int(self.document["metadata"].setdefault("generation", 1))

    def edit(self, **spec: Any) -> None:
        """Change the spec."""
        self.document["spec"] |= spec
        self.document["metadata"]["generation"] = self.generation + 1

    @property
    def ready(self) -> int:
        """Ready pods that somebody can see."""
        return sum(member.ready for member in self.members.values() if member.reach is Reach.READY)

    @property
    def floor(self) -> int:
        total = self.document["spec"]["replicas"]
        budget = self.document["spec"]["topology"].get("maxUnavailable", "25%")
        return floor(total, rounded_down(budget, total))

    def asked(self) -> list[int | None]:
        return [member.asked for member in self.members.values()]

    def entry(self, name: str) -> StoredSubset:
        return self.status.subset(name)

    def condition(self, type_: str) -> tuple[str, str] | None:
        found = self.status.condition(type_)
        return (found.status, found.reason) if found else None

    def message(self, type_: str) -> str:
        found = self.status.condition(type_)
        return found.message if found else ""

    def _planned(self, app: Any) -> Plan:
        return plan(make.subject(app, status=self.status), self._observed(app))

    def _store(self, made: Plan) -> None:
        assert made.status is not None
        self.events += [f"{event.reason}: {event.message}" for event in made.events]
        self.moved.update(made.moved)
        self.status = read_status(to_document(self.status) | to_document(made.status))

    def _observed(self, app: Any) -> Observed:
        views = {name: self._view(app, name) for name in self.members}
        lost = tuple(sorted(facts.offline_since for facts in self.facts.values() if facts.offline_since))
        observed = make.observed(
            views,
            members=(),
            revisions=tuple(make.record(known, number) for number, known in enumerate(self._known(app), 1)),
            templates={self.first.revision_name: self.first.revision_data} if self.first else {},
            clusters={f"default/{name}": facts for name, facts in self.facts.items()},
            fleet=FleetFacts(len(self.members), lost),
        )
        return replace(observed, now=self.now)

    def _known(self, app: Any) -> list[Any]:
        """The applications whose templates the host keeps."""
        return [app] if self.first is None or self.first.hash == app.hash else [self.first, app]

    def _view(self, app: Any, name: str) -> MemberView:
        member = self.members[name]
        if name not in app.subsets:
            app = self.first
        if member.asked is None:
            return make.view(name, reach=member.reach)
        revision = app.revision_of(name)
        if app.workload_kind.per_revision:
            workload = make.deployment(app, name, revision, replicas=member.asked, available=member.ready)
        else:
            workload = make.stateful_set(app, name, replicas=member.asked, ready=member.ready)
        revisions = [revision] * member.asked
        ready, unready = make.pods(app, name, revisions), make.pods(app, name, revisions, ready=False)
        return make.view(name, workload, pods=ready[: member.ready] + unready[member.ready :], reach=member.reach)


def _replicas(step: object) -> int:
    assert isinstance(step, Scale)
    return step.replicas


def fleet(
    subsets: dict[str, Any],
    replicas: int,
    *,
    kind: str = "statefulSetTemplate",
    adaptive: bool = True,
    failover: dict[str, str] | None = None,
    **topology: Any,
) -> Fleet:
    """An application that is settled."""
    document = make.manifest(kind=kind, replicas=replicas, shares=subsets)
    document["spec"]["topology"] |= topology
    if adaptive:
        document["spec"]["topology"].setdefault("scheduleStrategy", {"type": "Adaptive"})
    if failover:
        document["spec"]["failover"] = failover
    made = Fleet(document, {name: Member() for name in subsets}, first=make.application(document))
    made.go_on()
    made.events.clear()
    return made
