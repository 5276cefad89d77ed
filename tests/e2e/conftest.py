"""Whole programs over real HTTP, with real kubectl, on the clusters that the environment asks for."""

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fleet_fixture, processes
from tests.support.fleet_fixture import EnvironmentUnusableError, Fleet
from tests.support.preloaded import Preloaded, preloaded
from tests.support.site import Site
from tests.support.site import site as make_site

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    try:
        fleet_fixture.check(os.environ)
    except EnvironmentUnusableError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that share clusters in one process, and those that bring their own in one other.

    Both wait most of the time, so there are no more than two such processes, which take about as long as each other.
    """
    here, faults = f"{HERE}{os.sep}", f"{HERE / 'faults'}{os.sep}"
    for item in items:
        path = str(item.path)
        if path.startswith(here):
            shares = "fleet" in getattr(item, "fixturenames", ()) or path.startswith(faults)
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.xdist_group("fleet" if shares else "programs"))


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[Preloaded]:
    """The process that processes of ``ud`` are forked from; few tests start a real program."""
    with preloaded() as found, processes.forked_from(found):
        yield found


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A host with the CRDs, and three members."""
    with fleet_fixture.fleet(tmp_path_factory.mktemp("fleet")) as found:
        yield found


@pytest.fixture(scope="module")
def shared_site(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A namespace for tests that leave nothing behind."""
    with make_site(fleet, f"shared-{secrets.token_hex(3)}", tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.fixture
def bare_site(fleet: Fleet, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A namespace of the test's own in every cluster; no member is registered."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-").removeprefix("test-")
    with make_site(fleet, f"{words[:30].strip('-')}-{secrets.token_hex(3)}", tmp_path) as found:
        yield found


@pytest.fixture
def site(bare_site: Site) -> Site:
    """The same with the three members registered."""
    bare_site.register_members()
    return bare_site
