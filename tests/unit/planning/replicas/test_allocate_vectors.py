"""Divisions of other controllers as facts: OpenKruise's are ours too, KubeAdmiral's and KubeFed's are never better.

``tests/vectors`` says where the vectors come from.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from uniteddeployment.planning.replicas import FREE, NEVER, Allocation, AllocationRequest, Mode, SubsetRequest, allocate

Vector = Mapping[str, Any]
VECTORS = Path(__file__).parents[3] / "vectors"
UNBOUNDED = 10**9


def vectors(name: str) -> list[Vector]:
    found: list[Vector] = json.loads((VECTORS / f"{name}.json").read_text())["vectors"]
    return found


# --- OpenKruise -------------------------------------------------------------------------------------------------------


def kruise_request(vector: Vector) -> AllocationRequest:
    """OpenKruise's four algorithms as inputs to one."""
    algorithm = vector["allocator"]
    fixed = algorithm == "specified"
    return AllocationRequest(
        total=vector["replicas"] if fixed else vector["replicas"] or 0,
        subsets=tuple(kruise_demand(vector, subset) for subset in vector["subsets"]),
        mode=Mode.SPREAD if fixed else Mode.FILL,
        # Adaptive scheduling keeps what is ready where it is.
        disruption=NEVER if algorithm == "adaptive" else FREE,
        reserve=algorithm == "reserved",
    )


def kruise_demand(vector: Vector, subset: Vector) -> SubsetRequest:
    name = subset["name"]
    state = vector["state"].get(name)
    current, capacity, may_grow = vector["current"].get(name, 0), None, True
    if state and vector["allocator"] == "adaptive":
        current = state["readyReplicas"]
        capacity = current if state["unschedulable"] else None
    if state and vector["allocator"] == "reserved" and (state["unschedulable"] or state["markedUnschedulable"]):
        capacity = max(0, state["specReplicas"] - state["reservedPods"])
        may_grow = not state["unschedulable"]
    return SubsetRequest(
        name=name,
        share=readable(subset["replicas"]),
        minimum=subset["minReplicas"],
        maximum=subset["maxReplicas"],
        current=current,
        capacity=capacity,
        may_grow=may_grow,
    )


def readable(share: int | str | None) -> int | str | None:
    """OpenKruise's controller takes a share that it cannot read for none; ours never sees one."""
    if isinstance(share, str) and not (share.endswith("%") and share.removesuffix("%").isdecimal()):
        return None
    return share


def test_every_feasible_division_of_openkruise_is_ours() -> None:
    """Except where only the tie is broken otherwise: ours goes to what runs more, then to list order."""
    ties = []
    for vector in vectors("kruise_allocation"):
        if vector["error"]:
            continue
        ours = dict(allocate(kruise_request(vector)).replicas)
        if ours != vector["expected"]:
            assert sorted(ours.values()) == sorted(vector["expected"].values()), vector["name"]
            assert not any(vector["current"].values()), vector["name"]
            ties.append(vector["name"])
    assert len(ties) <= 3


def test_a_layout_of_openkruise_stays_as_it_is() -> None:
    """I3: taking over an application moves nothing."""
    for vector in vectors("kruise_allocation"):
        if vector["error"] or vector["allocator"] == "reserved":
            continue
        everything_runs = {
            name: {"readyReplicas": number, "unschedulable": False} for name, number in vector["expected"].items()
        }
        layout = {**vector, "current": vector["expected"], "state": everything_runs}
        assert dict(allocate(kruise_request(layout)).replicas) == vector["expected"], vector["name"]


def test_where_openkruise_stops_ours_goes_on() -> None:
    """I4: what cannot be satisfied is placed as closely as it can be, and the rest is unplaced with a reason."""
    for vector in vectors("kruise_allocation"):
        if not vector["error"] or vector["replicas"] is None:
            continue
        allocation = allocate(kruise_request(vector))
        assert sum(allocation.replicas.values()) + allocation.unplaced == vector["replicas"]
        assert bool(allocation.unplaced) <= bool(allocation.problem)


# --- KubeAdmiral and KubeFed ------------------------------------------------------------------------------------------


class Case:
    """One vector, as a request to ours and as numbers to compare."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.fill = vector["algorithm"] == "kubeadmiral-binpack"
        self.total: int = vector["totalReplicas"]
        known = [name for name in vector["availableClusters"] if self.fill or name in vector["clusters"]]
        preferences = {name: vector["clusters"].get(name, {"weight": 1, "min": 0, "max": None}) for name in known}
        self.weights = {name: entry["weight"] for name, entry in preferences.items()}
        # Their spread goes by weight and then by a hash; the order of our list is the caller's.
        self.names = known if self.fill else sorted(known, key=lambda name: (-self.weights[name], self.hashed(name)))
        self.low = {name: entry["min"] for name, entry in preferences.items()}
        limits = vector["limitedCapacity"]
        self.high = {
            name: min(UNBOUNDED if entry["max"] is None else entry["max"], limits.get(name, UNBOUNDED))
            for name, entry in preferences.items()
        }
        self.capacity = {name: vector["estimatedCapacity"].get(name, UNBOUNDED) for name in known}
        kubefed = vector["algorithm"] == "kubefed"
        self.calm: bool = not vector["rebalance"] if kubefed else vector["avoidDisruption"]
        self.reserve = vector["keepUnschedulableReplicas"] or (not kubefed and not self.calm)

    def hashed(self, name: str) -> int:
        value = 2166136261
        for byte in (name + self.vector["key"]).encode():
            value = (value * 16777619 & 0xFFFFFFFF) ^ byte
        return value

    def ours(self) -> Allocation:
        return allocate(
            AllocationRequest(
                total=self.total,
                subsets=tuple(
                    SubsetRequest(
                        name=name,
                        weight=None if self.fill else self.weights[name],
                        minimum=min(self.low[name], self.high[name]),
                        limit=self.high[name],
                        capacity=self.vector["estimatedCapacity"].get(name),
                        current=self.vector["current"].get(name, 0),
                    )
                    for name in self.names
                ),
                mode=Mode.FILL if self.fill else Mode.SPREAD,
                disruption=NEVER if self.calm else FREE,
                reserve=self.reserve,
            )
        )

    def theirs(self) -> dict[str, int]:
        """What they write into the clusters; pods kept waiting on top of the total are not compared."""
        extra = {} if self.reserve else self.vector["overflow"]
        return {name: self.vector["expected"].get(name, 0) + extra.get(name, 0) for name in self.names}

    def worth(self, numbers: Mapping[str, int]) -> tuple[object, ...]:
        """What is worse is larger: broken bounds, pods too few or too many, then distance and moves by policy."""
        broken = sum(max(0, numbers[name] - self.high[name]) for name in self.names)
        off = self.total - sum(numbers.values())
        misplaced = max(0, off) if self.reserve else abs(off)
        exact = self.exact()
        distance = Fraction(0) if self.fill else sum(abs(numbers[name] - exact[name]) for name in self.names)
        running = {
            name: min(self.vector["current"].get(name, 0), self.high[name], self.capacity[name]) for name in self.names
        }
        moved = sum(max(0, running[name] - numbers[name]) for name in self.names)
        return (broken, misplaced, moved, distance) if self.calm else (broken, misplaced, distance, moved)

    def exact(self) -> dict[str, Fraction]:
        """The shares if pods could be cut: minimums in order, the rest by weight between floors and ceilings."""
        left, share = self.total, {}
        for name in self.names:
            share[name] = Fraction(min(self.low[name], self.high[name], left))
            left -= int(share[name])
        top = {name: max(share[name], min(self.high[name], self.capacity[name])) for name in self.names}
        return level(self.names, self.weights, share, top, self.total)


def level(
    names: Sequence[str],
    weights: Mapping[str, int],
    floor: Mapping[str, Fraction],
    top: Mapping[str, Fraction],
    total: int,
) -> dict[str, Fraction]:
    """Water filling: the level at which the shares add up to the total, found from bound to bound."""
    sharing = [name for name in names if weights[name] > 0]
    steps = sorted({bound[name] / weights[name] for name in sharing for bound in (floor, top)})

    def at(height: Fraction) -> dict[str, Fraction]:
        return {
            name: max(floor[name], min(top[name], height * weights[name])) if name in sharing else floor[name]
            for name in names
        }

    height = Fraction(0)
    for step in steps:
        if sum(at(step).values()) > total:
            open_ = [name for name in sharing if floor[name] <= height * weights[name] < top[name]]
            missing = total - sum(at(height).values(), Fraction(0))
            width = sum((weights[name] for name in open_), Fraction(0))
            return at(height + missing / width) if width else at(height)
        height = step
    return at(height)


@pytest.mark.parametrize("name", ["kubeadmiral_spread", "kubeadmiral_binpack"])
def test_no_division_of_theirs_is_better_and_some_of_ours_are(name: str, record_property: Any) -> None:
    """I4, I5: as close to the exact shares, no more moves, no more unplaced; the counts are in the report."""
    verdicts: Counter[str] = Counter()
    for vector in vectors(name):
        case = Case(vector)
        allocation = case.ours()
        ours = {subset.name: subset.replicas - subset.reserved for subset in allocation.subsets}
        mine, other = case.worth(ours), case.worth(case.theirs())
        assert mine <= other, (vector["name"], ours, case.theirs(), mine, other)
        verdicts["equal" if ours == case.theirs() else "as good" if mine == other else "better"] += 1
    for verdict, count in verdicts.items():
        record_property(verdict, count)
    assert verdicts["better"] > 0
