"""Writes reach only the server that was identified: another one may answer at its address from now on (I14)."""

import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer
from uniteddeployment.kube import requests
from uniteddeployment.kube.errors import KubeError, NotIdentified, Unreachable
from uniteddeployment.kube.identified import IdentifiedTransport
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import Answer

GET = requests.get(PODS, "a", "ns")
DELETE = requests.delete(PODS, "a", "ns")


class Server:
    """A server with a connection that breaks, and a question who it is."""

    def __init__(self, *, breaks: int = 0, foreign: bool = False) -> None:
        self.breaks = breaks
        self.foreign = foreign
        self.asked = 0
        self.inner = FakeTransport(self._answer)
        self.transport = IdentifiedTransport(self.inner, "east", self._identify)

    def _answer(self, request: Request) -> Answer:
        if request.identified and self.breaks:
            self.breaks -= 1
            raise NotIdentified("new")
        return json_answer({})

    async def _identify(self) -> None:
        self.asked += 1
        if self.foreign:
            raise KubeError("another cluster")


async def test_nothing_is_asked_as_long_as_connections_last() -> None:
    server = Server()
    for request in (GET, DELETE):
        await server.transport.send(request, timeout=1)
    assert server.asked == 0
    assert [request.identified for request in server.inner.requests] == [False, True]


async def test_a_write_on_a_new_connection_waits_until_its_server_is_identified() -> None:
    server = Server(breaks=2)
    assert (await server.transport.send(DELETE, timeout=1)).status == 200
    assert server.asked == 2


async def test_a_write_is_not_sent_to_another_server() -> None:
    server = Server(breaks=1, foreign=True)
    with pytest.raises(KubeError, match="another cluster"):
        await server.transport.send(DELETE, timeout=1)
    assert len(server.inner.requests) == 1


async def test_a_write_whose_connections_do_not_last_is_given_up() -> None:
    server = Server(breaks=1000)
    with pytest.raises(Unreachable, match="do not last"):
        await server.transport.send(DELETE, timeout=1)
    assert server.asked < 20


async def test_everything_else_is_as_before() -> None:
    server = Server(breaks=1, foreign=True)
    async with server.transport.stream(GET, timeout=1) as stream:
        assert stream.status == 200
    await server.transport.close()
    assert server.inner.closed
