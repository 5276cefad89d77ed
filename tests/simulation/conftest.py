"""Every test of this folder runs under virtual time, and has a fleet of its own if it asks for one.

``world`` is a host and three members with their controller. ``@pytest.mark.fleet(members=1, controller=False, ...)``
changes that; it takes the options of ``running_world`` and ``kruise_world``. Members have OpenKruise when the test's
parameter ``kind`` needs it, or with ``openkruise=True``.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support import freezing, virtual_time
from tests.support.kruise import KRUISE_KINDS, kruise_world
from tests.support.world import World, running_world


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Virtual time for all; with ``@pytest.mark.freezable`` also processes that can be frozen."""
    kind = freezing.FreezableLoop if item.get_closest_marker("freezable") else virtual_time.BoundedLoop
    return {"virtual time": virtual_time.loop_factory(kind)}


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A fleet for one test."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("fleet"))):
        options |= marker.kwargs
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    openkruise = options.pop("openkruise", parameters.get("kind") in KRUISE_KINDS) or "without" in options
    async with (kruise_world if openkruise else running_world)(**options) as made:
        yield made
