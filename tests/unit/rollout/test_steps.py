"""What steps ask for: shares of all pods, waves, and that nothing ever falls."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment_api.v1alpha1.rollout import UnitedRolloutSpec
from uniteddeployment_rollout.partitions import FIRST_CANARY_EVERYWHERE, LARGEST_FIRST, NEAREST, partitions, shares
from uniteddeployment_rollout.steps import goal, steps_of

SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=1)
OFFSETS = st.sampled_from([NEAREST, FIRST_CANARY_EVERYWHERE, LARGEST_FIRST])
AMOUNTS = st.one_of(st.integers(1, 30), st.integers(1, 100).map("{}%".format))
STEPS = st.lists(
    st.fixed_dictionaries(
        {"replicas": AMOUNTS},
        optional={"wave": st.fixed_dictionaries({"subsets": st.lists(st.sampled_from("abcdef"), max_size=3)})},
    ),
    min_size=1,
    max_size=5,
)


def spec(steps: list[dict[str, Any]], **more: Any) -> UnitedRolloutSpec:
    return UnitedRolloutSpec.model_validate({"targetRef": {"name": "web"}, "steps": steps, **more})


def test_a_share_is_rounded_up_once_and_not_in_every_subset() -> None:
    assert goal(spec([{"replicas": "25%"}]), 1, {"a": 4, "b": 2, "c": 2}).updated == {"a": 1, "b": 1, "c": 0}


def test_what_a_wave_has_updated_counts_towards_the_next_share() -> None:
    steps: list[dict[str, Any]] = [
        {"wave": {"subsets": ["a"]}, "replicas": "100%"},
        {"replicas": "50%"},
        {"replicas": "75%"},
    ]
    sizes = {"a": 4, "b": 2, "c": 2}
    assert goal(spec(steps), 2, sizes).updated == {"a": 4, "b": 0, "c": 0}
    assert goal(spec(steps), 3, sizes).updated == {"a": 4, "b": 1, "c": 1}


def test_every_number_has_its_reason() -> None:
    steps: list[dict[str, Any]] = [{"wave": {"subsets": ["a"]}, "replicas": 1}, {"replicas": "50%"}]
    assert goal(spec(steps), 2, {"a": 2, "b": 2, "c": 0}).reasons == {
        "a": "step 1 updates 1 of this subset",
        "b": "step 2 updates 2 of 4 pods",
        "c": "no step has reached it",
    }


def test_distribution_decides_where_the_first_canaries_are() -> None:
    sizes = {"a": 8, "b": 1, "c": 1}
    assert goal(spec([{"replicas": 3}]), 1, sizes).updated == {"a": 3, "b": 0, "c": 0}
    everywhere = spec([{"replicas": 3}], distribution="FirstCanaryEverywhere")
    assert goal(everywhere, 1, sizes).updated == {"a": 1, "b": 1, "c": 1}


def test_after_the_last_step_comes_the_rest() -> None:
    assert [step.replicas for step in steps_of(spec([{"replicas": 1}]))] == [1, "100%"]
    assert [step.replicas for step in steps_of(spec([{"replicas": 1}, {"replicas": "100%"}]))] == [1, "100%"]


@given(STEPS, SIZES)
def test_no_subset_ever_falls_from_step_to_step_and_the_last_step_is_everything(
    steps: list[dict[str, Any]], sizes: dict[str, int]
) -> None:
    plan = spec(steps)
    before: Mapping[str, int] = dict.fromkeys(sizes, 0)
    for number in range(1, len(steps_of(plan)) + 1):
        updated = goal(plan, number, sizes).updated
        assert all(before[name] <= updated[name] <= sizes[name] for name in sizes)
        before = updated
    assert before == sizes


@given(SIZES, OFFSETS, st.data())
def test_shares_keep_what_is_at_least_due_and_reach_the_number(
    sizes: dict[str, int], offset: Fraction, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, sum(sizes.values())))
    least = {name: data.draw(st.integers(0, size)) for name, size in sizes.items()}
    found = shares(sizes, number, offset, least)
    assert all(least[name] <= found[name] <= sizes[name] for name in sizes)
    assert sum(found.values()) == max(number, sum(least.values()))


@given(SIZES, OFFSETS, st.data())
def test_shares_without_a_minimum_are_what_partitions_leave(
    sizes: dict[str, int], offset: Fraction, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, sum(sizes.values())))
    held = partitions(sizes, number, offset)
    assert shares(sizes, number, offset) == {name: size - held[name] for name, size in sizes.items()}
