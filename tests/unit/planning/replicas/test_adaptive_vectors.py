"""OpenKruise's adaptive and reserving divisions as facts, from pods and status to replicas.

``tests/vectors`` says where the vectors come from.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.planning.replicas.adaptive_state import Seen, adaptive, snapshot
from uniteddeployment.planning.replicas.divide import divide as divide_replicas

VECTORS = Path(__file__).parents[3] / "vectors"


def vectors(allocator: str) -> list[dict[str, Any]]:
    return [
        one
        for one in json.loads((VECTORS / "kruise_allocation.json").read_text())["vectors"]
        if one["allocator"] == allocator
    ]


def seen(vector: dict[str, Any], name: str) -> Seen:
    """The state of a subset as its pods and its status would show it."""
    state = vector["state"].get(name)
    if state is None:
        return Seen(new=True)
    size, ready = state["specReplicas"], state["readyReplicas"]
    waiting = state["reservedPods"] if vector["allocator"] == "reserved" else (size - ready) * state["unschedulable"]
    waiting = min(waiting, size - ready)
    return Seen(
        given=size,
        ready=[1000] * ready,
        waiting=[100] * waiting,
        starting=size - ready - waiting,
        marked=100 if state["unschedulable"] or state["markedUnschedulable"] else None,
        reserved=min(state["reservedPods"], size),
    )


def divided(vector: dict[str, Any], kind: str) -> dict[str, int]:
    bounds = {
        one["name"]: {key: one[key] for key in ("minReplicas", "maxReplicas") if one[key] is not None}
        for one in vector["subsets"]
    }
    app = adaptive(vector["replicas"], bounds, kind=kind, reserve=vector["allocator"] == "reserved")
    subject, observed = snapshot(app, {name: seen(vector, name) for name in bounds})
    return dict(divide_replicas(subject, app, observed).desired)


@pytest.mark.parametrize(
    ("allocator", "kind"),
    [
        ("adaptive", "deploymentTemplate"),
        ("adaptive", "statefulSetTemplate"),
        ("reserved", "deploymentTemplate"),
    ],
)
def test_every_division_of_openkruise_is_ours_from_what_is_seen(allocator: str, kind: str) -> None:
    """Scenario 21, and not one differs: where it counts pods that are ready, ours counts those that have a node."""
    found = vectors(allocator)
    assert {one["name"]: divided(one, kind) for one in found} == {one["name"]: one["expected"] for one in found}
