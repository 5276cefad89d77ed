"""How a cluster stands, from its first answer on; in virtual time."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from tests.support.narrowing import now
from tests.unit.kube.fakes import running
from uniteddeployment.fleet.member import UNDECIDED_SECONDS, Member
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer, Stream
from uniteddeployment.planning.observed import Reach

pytestmark = pytest.mark.looptime


class Slow:
    """An API server that answers probes at once and never shows what it has; ``refuses`` lists of pods, or is gone."""

    def __init__(self, *, refuses: bool = False, gone: bool = False) -> None:
        self.refuses = refuses
        self.gone = gone

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # part of the protocol
        if self.gone:
            raise Unreachable("member-1", "connection refused")
        if request.verb == "probe":
            return Answer(
                200, {}, json.dumps({"metadata": {"uid": "u"}, "gitVersion": "v1.36.0", "items": []}).encode()
            )
        return await self._never(request)

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout: float) -> AsyncIterator[Stream]:  # noqa: ASYNC109  # part of the protocol
        await self._never(request)
        yield Stream(200, {}, _nothing())

    async def close(self) -> None:
        """Nothing is open."""

    async def _never(self, request: Request) -> Answer:
        if self.gone:
            raise Unreachable("member-1", "connection refused")
        if self.refuses and request.path.endswith("pods"):
            raise Unreachable("member-1", "connection reset")
        await asyncio.sleep(10_000)
        raise AssertionError("unreachable")


async def _nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for chunk in nothing:
        yield chunk


@pytest.mark.parametrize(
    ("server", "after"),
    [(Slow(), UNDECIDED_SECONDS), (Slow(refuses=True), 1.0), (Slow(gone=True), 1.0)],
    ids=["slow", "refuses", "gone"],
)
async def test_a_cluster_is_undecided_until_something_fails_or_it_takes_too_long(server: Slow, after: float) -> None:
    """I3, I8: not known yet is not trouble, and trouble does not hide behind it forever."""
    states: list[tuple[Reach, bool]] = []
    member = Member(
        "member-1",
        Client(server, "member-1"),
        on_change=lambda _: None,
        on_reach_changed=lambda one: states.append((one.reach, one.undecided)),
    )
    assert now(member.undecided)
    async with running(member.run()):
        await asyncio.sleep(after * 0.9 if after > 1 else 0.0)
        assert now(member.undecided)
        await asyncio.sleep(after * 0.2 + 16.0)
        assert not member.undecided
        assert member.reach is Reach.PENDING
        assert (Reach.PENDING, False) in states, "those that wait are notified"
