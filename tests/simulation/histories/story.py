"""The vocabulary of histories: plain data whose repr is the Python that creates it again.

Every step means something in every state: subsets, members and workloads are chosen by index, modulo their number. So a
story stays a story when steps are taken out of it.
"""

from dataclasses import dataclass

SETTLED = None
"""Wait until everything is as requested, or for a minute and a half."""


@dataclass(frozen=True)
class Image:
    """Another version; pods of ``fail:N`` never become ready."""

    name: str


@dataclass(frozen=True)
class Total:
    """Another number of replicas."""

    replicas: int


@dataclass(frozen=True)
class Share:
    """The replicas of one subset: a number, a percentage, or the rest (None)."""

    subset: int
    value: int | str | None


@dataclass(frozen=True)
class Partition:
    """The partition of one subset, or the default one (None)."""

    subset: int | None
    value: int | str


@dataclass(frozen=True)
class NoPartition:
    """All partitions are removed."""


@dataclass(frozen=True)
class AddSubset:
    """Another subset, before the others."""

    member: int


@dataclass(frozen=True)
class RemoveSubset:
    """One subset less; the last one stays."""

    subset: int


@dataclass(frozen=True)
class MoveSubset:
    """A subset in another cluster."""

    subset: int
    member: int


@dataclass(frozen=True)
class RenameSubset:
    """A subset with another name."""

    subset: int


@dataclass(frozen=True)
class Paused:
    """``spec.paused``."""

    on: bool


Change = Image | Total | Share | Partition | NoPartition | AddSubset | RemoveSubset | MoveSubset | RenameSubset | Paused


@dataclass(frozen=True, init=False)
class Edit:
    """One write of a user with all its changes. Creates the application if there is none."""

    changes: tuple[Change, ...]

    def __init__(self, *changes: Change) -> None:
        object.__setattr__(self, "changes", changes)

    def __repr__(self) -> str:
        return f"Edit({', '.join(map(repr, self.changes))})"


@dataclass(frozen=True)
class Scale:
    """An autoscaler writes the number of replicas; admission does not compare it with the shares."""

    replicas: int


@dataclass(frozen=True)
class Delete:
    """A user deletes the application."""


@dataclass(frozen=True)
class Kill:
    """SIGKILL at the ``write``-th write from now (0: at once), before or after the server has it.

    Another controller starts ``down`` seconds later.
    """

    write: int
    reached: bool
    down: float


@dataclass(frozen=True)
class Restart:
    """SIGTERM, and another controller starts."""


@dataclass(frozen=True)
class Fault:
    """A member has one of the faults of ``troubles.py`` until it recovers."""

    member: int
    what: str


@dataclass(frozen=True)
class LoseOthers:
    """All members but one have a fault at once."""

    kept: int
    what: str


@dataclass(frozen=True)
class Flap:
    """A member is cut off and comes back every 20 seconds, for some minutes."""

    member: int
    minutes: int


@dataclass(frozen=True)
class Replace:
    """Another, empty cluster answers at the address of a member.

    When the member recovers, the former cluster is back with its pods. If it is replaced ``for_good``, the former one
    is gone, and the Cluster object is deleted and created again for the new one.
    """

    member: int
    for_good: bool


@dataclass(frozen=True)
class SetClock:
    """The clock of a member is ahead by some hours."""

    member: int
    hours: int


@dataclass(frozen=True)
class Recover:
    """A member, or each one (None), has no faults any more."""

    member: int | None


@dataclass(frozen=True)
class Tamper:
    """Somebody edits or deletes a workload in a member."""

    member: int
    workload: int
    what: str


@dataclass(frozen=True)
class LosePod:
    """A pod in a member is deleted."""

    member: int
    pod: int


@dataclass(frozen=True)
class LoseRevisions:
    """Somebody deletes the ControllerRevisions of a member, or of the host (None)."""

    member: int | None


@dataclass(frozen=True)
class Quota:
    """A namespace of a member takes at most so many pods, or any number (None)."""

    member: int
    pods: int | None


@dataclass(frozen=True)
class Taint:
    """An administrator gives a member a taint with this effect, or removes it (None)."""

    member: int
    effect: str | None


@dataclass(frozen=True)
class Cordon:
    """An administrator cordons a member, or uncordons it."""

    member: int
    on: bool


@dataclass(frozen=True)
class Drain:
    """An administrator drains a member as ``ud clusters drain`` does, or uncordons it."""

    member: int
    on: bool


Incident = Fault | LoseOthers | Flap | Replace | SetClock
"""What happens to members."""
Action = (
    Edit
    | Scale
    | Delete
    | Kill
    | Restart
    | Incident
    | Recover
    | Tamper
    | LosePod
    | LoseRevisions
    | Quota
    | Taint
    | Cordon
    | Drain
)


@dataclass(frozen=True)
class Step:
    """Something happens, and then some seconds pass."""

    action: Action
    wait: float | None = SETTLED

    def __repr__(self) -> str:
        return f"Step({self.action})" if self.wait is SETTLED else f"Step({self.action}, {self.wait})"


@dataclass(frozen=True)
class Story:
    """An application of a kind is created, and then this happens to it."""

    kind: str
    steps: tuple[Step, ...]
    ordered: bool = False
    """Whether its pods are created one by one."""
    slow_pods: bool = False
    """Whether they take two seconds to become ready."""
    history: int = 10
    """``spec.revisionHistoryLimit``."""
    begun: float | None = SETTLED
    """How long to wait after the creation."""
    orphan: bool = False
    """Whether the workloads are left when it is deleted in the end."""
    adaptive: bool = False
    """Whether replicas of a lost member run elsewhere after half a minute."""
    members: int = 0
    """In how many members it has a subset each; 0: two subsets in three members, whose phases change at once."""
    capacity: bool = False
    """Whether the room in members is counted, and is scarce."""
    disjoint: bool = False
    """Whether no two subsets have pods of the same ordinal."""

    def __repr__(self) -> str:
        steps = "".join(f"\n        {step}," for step in self.steps)
        options = "".join(
            f"\n    {name}={value!r},"
            for name, value, default in (
                ("ordered", self.ordered, False),
                ("slow_pods", self.slow_pods, False),
                ("history", self.history, 10),
                ("begun", self.begun, SETTLED),
                ("orphan", self.orphan, False),
                ("adaptive", self.adaptive, False),
                ("members", self.members, 0),
                ("capacity", self.capacity, False),
                ("disjoint", self.disjoint, False),
            )
            if value != default
        )
        return f"Story(\n    {self.kind!r},\n    ({steps}\n    ),{options}\n)"
