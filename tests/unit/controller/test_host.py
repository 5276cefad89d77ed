"""The host's cache: what is noted of states that are gone before anybody plans for them."""

import pytest

from tests.unit.kube.fakes import FakeTransport
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import Stored
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.watch import MODIFIED, Change
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime


def state(version: int, *finalizers: str, deleting: bool = True, uid: str = "u") -> Stored:
    return Stored(
        Metadata(
            name="web",
            namespace="default",
            uid=uid,
            resource_version=str(version),
            deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
            finalizers=(names.FINALIZER, *finalizers),
        )
    )


@pytest.fixture
def host() -> Host:
    return Host(Client(FakeTransport(), "host"), lambda _key, _by_user: None)


async def test_an_event_that_is_older_than_the_cache_is_still_noted(host: Host) -> None:
    """I9: the answer to a write of ours came before the event, and shows the object without the finalizer."""
    host.keep(state(12))
    assert not host.orphaning("u")
    host.deployments._see([Change(MODIFIED, state(11, "orphan"))])  # as its watch does
    assert host.orphaning("u")
    kept = host.get(("default", "web"))
    assert kept is not None
    assert kept.metadata.resource_version == "12"


async def test_an_answer_to_a_write_is_noted_as_well(host: Host) -> None:
    """I9: the event that follows may come in a list that shows the last state only."""
    host.keep(state(11, "orphan"))
    host.keep(state(12))
    assert host.orphaning("u")


async def test_only_a_deletion_with_the_finalizer_is_orphaning(host: Host) -> None:
    """A finalizer on a living object, or a deletion without it, says nothing."""
    host.keep(state(11, "orphan", deleting=False))
    host.keep(state(12))
    assert not host.orphaning("u")
    host.keep(state(13, "orphan", uid="other"))
    assert not host.orphaning("u")
