"""Members that are lost as processes: their replicas run elsewhere, and return when the members do."""

import copy
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.applications import DEPLOYMENT, application
from tests.support.forwarder import Forwarder
from tests.support.site import Site, credentials

LOST = "member-3"

Switch = Callable[[], None]


def adaptive() -> dict[str, Any]:
    """Two pods in each member. Any member can run the pods of the others, and one pod at a time may be missing."""
    document = application(DEPLOYMENT, replicas=6)
    topology = document["spec"]["topology"]
    for subset in topology["subsets"]:
        subset.pop("replicas", None)
        subset["weight"] = 1
    topology |= {"scheduleStrategy": {"type": "Adaptive"}, "maxUnavailable": 1}
    document["spec"]["failover"] = {"gracePeriod": "1s"}
    return document


def numbers(site: Site, field: str) -> dict[str, int]:
    status = site.get("ud", "web").get("status") or {}
    return {entry["name"]: entry.get(field, 0) for entry in status.get("subsetStatuses") or ()}


@pytest.fixture(params=["frozen", "cut off"])
def outage(request: pytest.FixtureRequest, site: Site) -> Iterator[tuple[Switch, Switch]]:
    """The switches that begin and end the outage of a member.

    A frozen process keeps its connections open. A member that is cut off goes on running its pods unseen.
    """
    site.fleet.needs_pods()
    site.fleet.needs_processes()
    member = site.fleet.members[LOST]
    if request.param == "frozen":
        yield member.stop_answering, member.answer_again
        return
    config = copy.deepcopy(member.config)
    there = urlsplit(config["clusters"][0]["cluster"]["server"])
    with Forwarder(str(there.hostname), there.port or 443) as wire:
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{wire.port}"
        site.apply(credentials(LOST, config))
        yield wire.shut, wire.open


def test_replicas_of_a_lost_member_run_elsewhere_and_return_with_it(site: Site, outage: tuple[Switch, Switch]) -> None:
    """Pods that nobody sees are neither counted as ready nor forgotten (I7, I8)."""
    begin, end = outage
    with site.controller("--no-leader-elect"):
        site.apply(adaptive())
        site.wait_settled()
        assert numbers(site, "replicas") == {"member-1": 2, "member-2": 2, LOST: 2}
        begin()
        try:
            site.wait_phase("Offline", "udc", LOST)
            site.until(
                lambda: {**numbers(site, "readyReplicas"), LOST: 0} == {"member-1": 3, "member-2": 3, LOST: 0},
                "the replacements are ready",
            )
            assert numbers(site, "possiblyRunning")[LOST] == 2
        finally:
            end()
        site.wait_phase("Running", "udc", LOST)
        site.until(lambda: set(numbers(site, "readyReplicas").values()) == {2}, "the replicas are back")
        site.wait_settled()
        assert set(numbers(site, "replicas").values()) == {2}
        assert set(numbers(site, "possiblyRunning").values()) == {0}
