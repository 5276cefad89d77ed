"""The stories of faults take place at the same time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import at_once, fleet_fixture
from tests.support.at_once import Told

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("faults")
    chosen = [item.name for item in request.session.items if item.path.is_relative_to(HERE)]
    with fleet_fixture.members(folder) as members, at_once.told(chosen, members, folder) as found:
        yield found
