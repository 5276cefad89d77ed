"""Members that cannot be reached in the middle of a rollout: the others finish, and they follow when they are back."""

import copy
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.applications import DEPLOYMENT, application
from tests.support.forwarder import Forwarder
from tests.support.site import Site, credentials

OTHERS = ("member-1", "member-2")


@pytest.fixture
def wire(site: Site) -> Iterator[Forwarder]:
    """The controller reaches member-3 through this, and only through this."""
    site.fleet.needs_pods()
    site.fleet.needs_processes()  # others' certificates are not good for the address of the wire
    config = copy.deepcopy(site.fleet.members["member-3"].config)
    there = urlsplit(config["clusters"][0]["cluster"]["server"])
    with Forwarder(str(there.hostname), there.port or 443) as forwarder:
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{forwarder.port}"
        site.apply(credentials("member-3", config))
        yield forwarder


def test_a_member_that_is_cut_off_delays_no_other_and_follows_when_it_is_back(site: Site, wire: Forwarder) -> None:
    """What it last said is shown with its age, and nothing of it is taken for done (I7, I8, I10)."""
    with site.controller("--no-leader-elect"):
        site.apply(application(DEPLOYMENT))
        site.wait_settled()
        wire.shut()
        site.apply(application(DEPLOYMENT, image="app:2", member_1=2, member_2=1, member_3=1))
        half = {"member-1": {"app:1": 2, "app:2": 2}, "member-2": {"app:1": 1, "app:2": 1}}
        site.until(lambda: {member: site.images(member) for member in OTHERS} == half, "the others' halves")
        assert site.images("member-3") == {"app:1": 2}
        site.wait_phase("Offline", "udc", "member-3")
        site.wait("ud", "web", "Ready", "Unknown")
        status = site.get("ud", "web")["status"]
        entry = next(one for one in status["subsetStatuses"] if one["name"] == "member-3")
        assert entry["lastObservedTime"]
        assert entry["readyReplicas"] == 2
        assert entry["updatedReplicas"] == 0
        assert status["readyReplicas"] >= 6

        wire.open()
        site.wait_phase("Running", "udc", "member-3")
        site.wait_settled()
        assert site.images("member-3") == {"app:1": 1, "app:2": 1}
