"""The parts of a controller process: its candidate for the Lease, its name, and the check of the host."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from uniteddeployment.controller.served import check_served
from uniteddeployment.controller.settings import LEASE
from uniteddeployment.kube import errors, process
from uniteddeployment.kube.clock import since_boot
from uniteddeployment.kube.process import StartError
from uniteddeployment.kube.resource import Resource


@pytest.mark.parametrize("seconds", [15.0, 30.0])
def test_a_leader_renews_often_enough_to_notice_in_time_that_it_cannot(seconds: float) -> None:
    """Of 15 seconds, it tries every 2 seconds, and gives up after 10 (I1)."""
    elector = process.elector(None, "there", LEASE, "me", seconds)  # type: ignore[arg-type]  # no request is sent
    assert (elector._duration, elector._deadline, elector._period) == (seconds, seconds * 2 / 3, seconds * 2 / 15)
    assert (elector._identity, elector._clock) == ("me", since_boot), "time goes on while the machine sleeps"
    assert f"there/{LEASE}" in elector.problem


def test_no_two_processes_have_the_same_identity() -> None:
    """Two containers can have the same host name (I1)."""
    assert len({process.identity() for _ in range(20)}) == 20


class Host:
    """A host that serves some kinds, and notes what it is asked."""

    name = "host"

    def __init__(self, *served: str) -> None:
        self._served = served
        self.asked: list[tuple[str, str | None, int]] = []

    async def list_pages(
        self, resource: Resource, _type: Any, *, namespace: str | None, limit: int
    ) -> AsyncIterator[None]:
        self.asked.append((resource.plural, namespace, limit))
        if resource.plural not in self._served:
            raise errors.NotFound(404)
        yield


async def test_a_host_that_serves_our_kinds_is_asked_for_one_object_of_each() -> None:
    host = Host("uniteddeployments", "clusters")
    await check_served(host, "mine")  # type: ignore[arg-type]  # stands for a client
    assert host.asked == [("uniteddeployments", "mine", 1), ("clusters", None, 1)]


@pytest.mark.parametrize("served", ["clusters", "uniteddeployments"])
async def test_a_kind_that_the_host_does_not_serve_is_named_with_the_command_that_helps(served: str) -> None:
    missing = {"clusters": "uniteddeployments", "uniteddeployments": "clusters"}[served]
    with pytest.raises(StartError, match=rf"host does not know {missing}\.uniteddeployment\.io; .*ud crds \| kubectl"):
        await check_served(Host(served))  # type: ignore[arg-type]  # stands for a client
