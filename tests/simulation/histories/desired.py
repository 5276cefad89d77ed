"""The application as the user wants it now, and how edits change it."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulation.histories.story import (
    AddSubset,
    Change,
    Image,
    MoveSubset,
    NoPartition,
    Partition,
    Paused,
    RemoveSubset,
    RenameSubset,
    Share,
    Total,
)
from tests.support.planning import manifest

MOST_SUBSETS = 4
ORDINAL_KINDS = ("statefulSetTemplate", "advancedStatefulSetTemplate")
LAST_IMAGE = "app:9"
"""The version that every story ends with."""


@dataclass
class Subset:
    """One subset as the user wrote it."""

    name: str
    member: int
    share: int | str | None = None


@dataclass
class Desired:
    """The application as the user wrote it last."""

    kind: str
    ordered: bool = False
    history: int = 10
    image: str = "app:1"
    total: int = 5
    paused: bool = False
    partition: int | str = 0
    partitions: dict[str, int | str] = field(default_factory=dict)
    subsets: list[Subset] = field(default_factory=lambda: [Subset("a", 0, 3), Subset("b", 1)])
    names_used: int = 2
    adaptive: bool = False
    disjoint: bool = False
    cpu: str = ""
    """The request of each pod."""

    def spread(self, members: int) -> None:
        """Give it a subset in each member."""
        self.subsets = [Subset(chr(ord("a") + member), member) for member in range(members)]
        self.names_used = members

    def document(self) -> dict[str, Any]:
        """The manifest."""
        made = manifest(kind=self.kind, image=self.image, replicas=self.total, shares={}, paused=self.paused)
        shares = [subset.share for subset in self.subsets]
        if None not in shares:
            shares[-1] = None  # one subset has to take the rest
        if self.adaptive:
            shares = [None] * len(shares)
            made["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
            made["spec"]["failover"] = {"gracePeriod": "30s", "statefulSets": "Allowed"}
        partitions = {
            subset.name: self.partitions[subset.name] for subset in self.subsets if subset.name in self.partitions
        }
        made["spec"]["revisionHistoryLimit"] = self.history
        ordinals = self.kind in ORDINAL_KINDS
        if self.disjoint and ordinals:
            made["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": 20}
        if self.cpu:
            containers = made["spec"]["template"][self.kind]["spec"]["template"]["spec"]["containers"]
            containers[0]["resources"] = {"requests": {"cpu": self.cpu}}
        made["spec"]["topology"]["subsets"] = [
            {"name": subset.name, "targetCluster": {"name": f"member-{subset.member + 1}"}}
            | ({"weight": 1} if self.adaptive else {} if share is None else {"replicas": share})
            for subset, share in zip(self.subsets, shares, strict=True)
        ]
        made["spec"]["updateStrategy"] = {"manualUpdate": {"partition": self.partition, "partitions": partitions}}
        if ordinals:
            policy = "OrderedReady" if self.ordered else "Parallel"
            made["spec"]["template"][self.kind]["spec"]["podManagementPolicy"] = policy
        return made

    def change(self, change: Change) -> None:
        """Apply one change of an edit."""
        match change:
            case Image(name):
                self.image = name
            case Total(replicas):
                self.total = replicas
            case Paused(on):
                self.paused = on
            case NoPartition():
                self.partition, self.partitions = 0, {}
            case Partition(None, value):
                self.partition = value
            case Partition(subset, value) if subset is not None:
                self.partitions[self._chosen(subset).name] = value
            case Share(subset, value):
                self._chosen(subset).share = value
            case AddSubset(member) if len(self.subsets) < MOST_SUBSETS:
                self.subsets.insert(0, Subset(self._new_name(), member))
            case RemoveSubset(subset) if len(self.subsets) > 1:
                self.subsets.remove(self._chosen(subset))
            case MoveSubset(subset, member):
                self._chosen(subset).member = member
            case RenameSubset(subset):
                self._rename(self._chosen(subset))
            case _:
                pass  # there are as many subsets, or as few, as there may be

    def finish(self) -> None:
        """The last edit of every story: a version that works, everywhere."""
        self.change(Image(LAST_IMAGE))
        self.change(NoPartition())
        self.change(Paused(on=False))
        self.total = max(self.total, 2)
        for subset in self.subsets:
            if isinstance(subset.share, int):
                subset.share = None  # fixed shares may not fit the total any more

    def _rename(self, subset: Subset) -> None:
        before, subset.name = subset.name, self._new_name()
        if before in self.partitions:
            self.partitions[subset.name] = self.partitions.pop(before)

    def _chosen(self, index: int) -> Subset:
        return self.subsets[index % len(self.subsets)]

    def _new_name(self) -> str:
        self.names_used += 1
        return chr(ord("a") + self.names_used - 1) if self.names_used <= 26 else f"s{self.names_used}"
