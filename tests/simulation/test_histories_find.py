"""Random histories find what they are for: with one of these defects in the product, a seed of the suite fails."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.simulation.histories.faults import fault_story
from tests.simulation.histories.generator import story
from tests.simulation.histories.player import play
from tests.simulation.test_histories import FAULT_SEEDS, SEEDS
from uniteddeployment.fleet import member
from uniteddeployment.kube.workqueue import WorkQueue
from uniteddeployment.planning import plan, revisions, status
from uniteddeployment.planning.changes import retire
from uniteddeployment.planning.kinds import places
from uniteddeployment.planning.kinds.base import SubsetContext
from uniteddeployment.planning.observed import MemberView, Reach
from uniteddeployment.planning.replicas import divide, limits
from uniteddeployment.planning.replicas.brake import RELEASED
from uniteddeployment.planning.replicas.divide import Division
from uniteddeployment.planning.status import READY


@dataclass(frozen=True)
class Defect:
    """``put(original)`` takes the place of an attribute; the story of ``seed`` then breaks ``rule``."""

    owner: Any
    attribute: str
    put: Callable[[Any], Any]
    seed: int
    rule: str
    faults: bool = False
    """Whether it is the seed of a story about faults of members."""


def _one_pod_too_many(held_back: Any) -> Any:
    return lambda partition, replicas: max(0, held_back(partition, replicas) - 1)


def _partition_as_written(_: Any) -> Any:
    """The controller of a StatefulSet that grows in mid-update then creates pods of the new revision."""
    return lambda partition, updated: partition  # noqa: ARG005  # as it is called


def _anything_may_go(spare: Any) -> Any:
    return lambda *args: spare(*args) + 100


def _all_but_the_newest(_: Any) -> Any:
    return lambda kept, **_: tuple(kept[:-1])


def _always_ready(summarize: Any) -> Any:
    def ready(*args: Any, **options: Any) -> Any:
        conditions = summarize(*args, **options)
        return tuple(
            type(one)(one.type, "True", one.reason, one.message) if one.type == READY else one for one in conditions
        )

    return ready


def _replicas_change_places(original: Any) -> Any:
    """The subsets of an application with an odd total get their replicas in the reverse order."""

    def divided(*args: Any) -> Division:
        division: Division = original(*args)
        if sum(division.replicas.values()) % 2:
            backwards = reversed(list(division.replicas.values()))
            object.__setattr__(division, "replicas", dict(zip(division.replicas, backwards, strict=True)))
        return division

    return divided


def _no_key_twice(add: Any) -> Any:
    """What changes while its key is being worked on is not worked on again."""

    def dropping(self: WorkQueue[Any], key: Any, priority: int = 0) -> None:
        if key not in self.processing():
            add(self, key, priority)

    return dropping


def _always_drifted(_: Any) -> Any:
    return lambda self, workload: True  # noqa: ARG005  # as it is called


def _no_pod_has_to_stay(_: Any) -> Any:
    return lambda total, unavailable: 0  # noqa: ARG005  # as it is called


def _lost_pods_are_ready(serving: Any) -> Any:
    """Pods of members that cannot be seen count as they were seen last."""

    def counted(app: Any, view: MemberView | None, *args: Any) -> Any:
        return serving(app, None if view is None else replace(view, reach=Reach.READY), *args)

    return counted


def _no_brake(_: Any) -> Any:
    return lambda *_: RELEASED


def _any_cluster_will_do(identify: Any) -> Any:
    """Whatever answers at the address of a member is that member."""

    async def accepted(client: Any, _uid: str, answered: Any) -> None:
        await identify(client, "", answered)

    return accepted


def _no_ranges(_: Any) -> Any:
    return lambda *_: {}


DEFECTS = {
    "one pod more than the partition allows is updated": Defect(divide, "held_back", _one_pod_too_many, 0, "I6"),
    "the partition is written as requested while a subset grows": Defect(
        places, "partition_holding", _partition_as_written, 12, "I6"
    ),
    "what is replaced is deleted before its replacement is ready": Defect(retire, "_spare", _anything_may_go, 5, "I7"),
    "templates that are in use are deleted": Defect(revisions, "to_trim", _all_but_the_newest, 0, "I9"),
    "Ready is always True": Defect(status, "summarize", _always_ready, 5, "I8"),
    "a change of the total moves pods": Defect(plan, "divide", _replicas_change_places, 1, "I7"),
    "an edit during a pass is dropped": Defect(WorkQueue, "add", _no_key_twice, 23, "I9"),
    "every pass writes every workload": Defect(SubsetContext, "drifted", _always_drifted, 0, "I8"),
    "a failover ignores the budget": Defect(divide, "floor", _no_pod_has_to_stay, 148, "I7", faults=True),
    "pods of a lost member count as ready": Defect(divide, "serving", _lost_pods_are_ready, 148, "I7", faults=True),
    "nothing brakes when most of the fleet is lost": Defect(limits, "brake", _no_brake, 146, "brake", faults=True),
    "another cluster at the address of a member is written to": Defect(
        member, "identify", _any_cluster_will_do, 144, "I14", faults=True
    ),
    "subsets have the same ordinals": Defect(plan, "ranges", _no_ranges, 135, "ordinals", faults=True),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_a_seed_of_the_suite_finds_a_defect(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories that find nothing prove something only if they would find this."""
    monkeypatch.setattr(defect.owner, defect.attribute, defect.put(getattr(defect.owner, defect.attribute)))
    told, seeds = (fault_story, FAULT_SEEDS) if defect.faults else (story, SEEDS)
    assert defect.seed in seeds
    breach = play(told(defect.seed))
    if breach is None or breach.rule != defect.rule:
        others = {seed: str(found) for seed in seeds if (found := play(told(seed)))}
        pytest.fail(f"seed {defect.seed} finds {breach}; other seeds of the suite find {others}", pytrace=False)
