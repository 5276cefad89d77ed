"""The request of the user at each generation, read from the object alone: the measure of what the controller does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.planning import application, observed, subject
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.replicas.divide import divide
from uniteddeployment_api.int_or_percent import held_back


@dataclass(frozen=True)
class SubsetRequest:
    """One subset. Where shares tie, what ran before decides, so its replicas may be from ``low`` to ``high``."""

    member: str
    low: int
    high: int
    least: int
    """The fewest replicas that it may have while the state of clusters moves replicas."""
    most: int
    partition: int | str

    @property
    def updated(self) -> int:
        """How many of its pods may be at the new version, at most."""
        return self.updated_of(self.most)

    def updated_of(self, replicas: int) -> int:
        """The same for a number of pods."""
        return replicas - held_back(self.partition, replicas)


@dataclass(frozen=True)
class Generation:
    """The spec of one generation."""

    number: int
    revision: str
    image: str
    total: int
    unavailable: int
    """How many of all pods may be missing while subsets are taken away."""
    paused: bool
    adaptive: bool
    shares: Mapping[str, int | str | None]
    """Subset -> its replicas as the user wrote them."""
    fresh: Mapping[str, int]
    """Subset -> its replicas if the application was new."""
    subsets: Mapping[str, SubsetRequest]

    def subset(self, place: tuple[str, str]) -> SubsetRequest | None:
        """The subset of a place (member, subset), if it is to be in that member."""
        member, name = place
        request = self.subsets.get(name)
        return request if request is not None and request.member == member else None


def read_generation(document: Mapping[str, Any], before: Iterable[Mapping[str, int]], *, moves: bool) -> Generation:
    """Read an object. ``before`` are numbers of replicas that its subsets may have had.

    With ``moves``, the state of clusters may move replicas.
    """
    app = application(document, generation=document["metadata"]["generation"])
    spec = app.model.spec
    divisions = [_divided(app, given) for given in ({}, *before)]
    manual = spec.update_strategy.manual_update
    subsets = {}
    for name, subset in app.subsets.items():
        replicas = [division[name] for division in divisions]
        member = subset.target_cluster.name if subset.target_cluster else "host"
        partition = manual.partitions.get(name, manual.partition)
        low, high = min(replicas), max(replicas)
        least, most = (0, spec.replicas or 0) if moves else (low, high)
        subsets[name] = SubsetRequest(member, low, high, least, most, partition)
    total = spec.replicas or 0
    return Generation(
        number=app.generation,
        revision=app.revision_name,
        image=app.pod_template["spec"]["containers"][0]["image"],
        total=total,
        unavailable=total // 4,
        paused=spec.paused,
        adaptive=spec.topology.schedule_strategy.type == "Adaptive",
        shares={name: subset.replicas for name, subset in app.subsets.items()},
        fresh=divisions[0],
        subsets=subsets,
    )


def _divided(app: Application, given: Mapping[str, int]) -> Mapping[str, int]:
    entries = [{"name": name, "replicas": replicas} for name, replicas in given.items()]
    return divide(subject(app, status={"subsetStatuses": entries}), app, observed()).desired


def assigned(status: Mapping[str, Any]) -> dict[str, int]:
    """Subset -> the replicas that status assigns to it now. More than it will have while some move away."""
    return {entry["name"]: entry["replicas"] for entry in status.get("subsetStatuses") or ()}
