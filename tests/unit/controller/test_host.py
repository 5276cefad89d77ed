"""The host's cache: states that mean something although a later one replaces them at once."""

import pytest

from tests.unit.kube.fakes import FakeTransport
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import Stored
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.snapshot import Snapshot
from uniteddeployment.kube.watch import ADDED, DELETED, MODIFIED, Change, Changes
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
    made = Host(Client(FakeTransport(), "host"), lambda _key, _by_user: None)
    made.deployments.cache.take([Change(ADDED, state(10, deleting=False))])
    return made


def sees(host: Host, *states: Stored) -> None:
    """Events of the watch, as the reflector passes them on."""
    host.deployments._apply([Changes([Change(MODIFIED, one) for one in states])])


async def test_an_event_that_is_older_than_the_cache_is_still_noted(host: Host) -> None:
    """I9: the answer to a write of ours came before the event, and shows the object without the finalizer."""
    host.merge_answer(state(12), "finalizers")
    assert not host.orphaning("u")
    sees(host, state(11, "orphan"))
    assert host.orphaning("u")
    kept = host.get(("default", "web"))
    assert kept is not None
    assert kept.metadata.resource_version == "12"


async def test_an_answer_to_a_write_is_noted_as_well(host: Host) -> None:
    """I9: the event that follows may come in a list that shows the last state only."""
    host.merge_answer(state(11, "orphan"), "status")
    sees(host, state(12))
    assert host.orphaning("u")


async def test_only_a_deletion_with_the_finalizer_is_orphaning(host: Host) -> None:
    """A finalizer on a living object, or a deletion without it, says nothing."""
    sees(host, state(11, "orphan", deleting=False), state(12))
    assert not host.orphaning("u")
    sees(host, state(13, "orphan", uid="other"))
    assert not host.orphaning("u")


async def test_what_was_noted_of_an_object_goes_with_it(host: Host) -> None:
    """I16: otherwise the notes of all objects that were ever deleted would add up."""
    sees(host, state(11, "orphan"))
    host.orphaning_was_checked("u")
    host.deployments.cache.take([Change(DELETED, state(12))])
    assert not host.orphaning("u")
    assert not host.orphaning_checked("u")


async def test_what_was_noted_of_an_object_goes_with_it_if_only_a_list_shows_that(host: Host) -> None:
    sees(host, state(11, "orphan"))
    listed: Snapshot[Stored] = Snapshot(version="20")
    listed.put(state(15, uid="other", deleting=False))
    host.deployments.cache.replace(listed)
    assert not host.orphaning("u")
