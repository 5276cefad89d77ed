"""Writes that a member refuses: where they are reported, how, and when."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.planning import manifest
from tests.support.watchdog import workloads
from tests.support.world import World

KIND = "statefulSetTemplate"


def container(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]["template"][KIND]["spec"]["template"]["spec"]["containers"][0]
    return found


def mistyped(document: dict[str, Any]) -> None:
    container(document)["comand"] = ["run"]


def number_for_string(document: dict[str, Any]) -> None:
    container(document)["env"] = [{"name": "SIZE", "value": 5}]


def invalid(document: dict[str, Any]) -> None:
    container(document)["imagePullPolicy"] = "Sometimes"


MISTAKES: dict[Callable[[dict[str, Any]], None], str] = {
    mistyped: "comand: field not declared in schema",
    number_for_string: "value: expected string",
    invalid: "imagePullPolicy: Unsupported value",
}


def quota(world: World, member: str, count: int) -> None:
    body = {"metadata": {"name": "few"}, "spec": {"hard": {"count/statefulsets.apps": str(count)}}}
    world.request(world.members[member], "POST", "/api/v1/namespaces/default/resourcequotas", body)


def events(world: World, type_: str) -> list[str]:
    """The messages of the Events on applications."""
    return [
        event["message"]
        for event in world.host.access.list("events")
        if event["type"] == type_ and event["involvedObject"]["kind"] == "UnitedDeployment"
    ]


def condition(world: World, type_: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in world.status()["conditions"] if one["type"] == type_)
    return found


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_template_that_no_member_takes_is_stalled_with_their_words_and_no_event_says_that_it_was_created(
    world: World, mistake: Callable[[dict[str, Any]], None]
) -> None:
    """A warning for each subset; nothing is called done before it is (I11)."""
    bad = manifest()
    mistake(bad)
    world.apply(bad)
    await world.until(lambda: world.condition("Stalled") == "True", seconds=15, what="the condition")
    assert MISTAKES[mistake] in condition(world, "Stalled")["message"]
    assert all(MISTAKES[mistake] in one["reason"] for one in world.status()["subsetStatuses"])
    await asyncio.sleep(60)
    warnings = events(world, "Warning")
    assert len(warnings) == 3
    assert {text.partition(":")[0] for text in warnings} == set(world.members)
    assert all(MISTAKES[mistake] in text for text in warnings)
    assert events(world, "Normal") == []
    world.apply(manifest())
    await world.until(world.settled, seconds=90, what="the corrected template")
    assert world.condition("Stalled") == "False"
    assert any("create" in text for text in events(world, "Normal"))


async def test_a_quota_stalls_the_subset_that_it_concerns_and_no_other_one(world: World) -> None:
    """And it goes on by itself when there is room (I10)."""
    quota(world, "member-2", 0)
    await asyncio.sleep(5)
    world.apply(manifest())
    await world.until(lambda: world.condition("Stalled") == "True", seconds=15, what="the condition")
    states = [one["state"] for one in world.status()["subsetStatuses"]]
    assert states[1] == "Stalled"
    assert "Stalled" not in (states[0], states[2])
    await world.until(lambda: len(world.pods("member-1")) == 4 and len(world.pods("member-3")) == 2, what="the others")
    (warning,) = events(world, "Warning")
    assert warning.startswith("member-2: ")
    assert "exceeded quota" in warning
    created = " ".join(events(world, "Normal"))
    assert "web-member-1" in created
    assert "web-member-2" not in created
    world.request(world.members["member-2"], "DELETE", "/api/v1/namespaces/default/resourcequotas/few")
    await world.until(world.settled, seconds=90, what="the subset")
    assert "web-member-2" in " ".join(events(world, "Normal"))


@pytest.mark.fleet(members=1)
async def test_a_long_refusal_is_cut(world: World) -> None:
    """What a member says ends up in status and Events, whatever its length (I16)."""
    document = manifest(shares={"member-1": None})
    container(document)["imagePullPolicy"] = "x" * 3000
    world.apply(document)
    await world.until(lambda: world.condition("Stalled") == "True", seconds=15, what="the condition")
    (entry,) = world.status()["subsetStatuses"]
    assert 300 < len(entry["reason"]) < 700


async def test_a_look_that_finds_nothing_changed_is_no_event(world: World) -> None:
    """The status of the last write was lost, so its workload is looked at once more (I3)."""
    world.apply(manifest())
    await world.until(world.settled, what="creation")
    await asyncio.sleep(5)
    told = events(world, "Normal")
    await world.stop_controller()
    stored = world.ud()
    entries = [{**one, "observedGeneration": 0} for one in stored["status"]["subsetStatuses"]]
    path = "/apis/uniteddeployment.io/v1alpha1/namespaces/default/uniteddeployments/web/status"
    world.request(world.host, "PUT", path, {**stored, "status": {**stored["status"], "subsetStatuses": entries}})
    world.start_controller()
    await asyncio.sleep(30)
    assert [one["observedGeneration"] for one in world.status()["subsetStatuses"]] == [1, 1, 1]
    assert events(world, "Normal") == told
    assert events(world, "Warning") == []
    assert len(workloads(world, "member-1")) == 1
