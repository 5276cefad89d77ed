"""One HTTP/1.1 connection, byte by byte: order, pipelining, errors, output."""

import asyncio
import re
from random import Random
from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, TOKEN
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.serving.connection import Connection, Connections


class Wire(asyncio.Transport):
    """A transport that records what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = self.aborted = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes) -> None:  # type: ignore[override]  # bytes are all that is written here
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.closed = self.closed

    def resume_reading(self) -> None:
        self.closed = self.closed


def connect() -> tuple[Cluster, Connection, Wire]:
    clock = LoopClock(asyncio.get_running_loop())
    cluster = Cluster(
        "c",
        clock=clock,
        random=Random(1),
        nodes=0,
        controllers=False,
        tokens={TOKEN: Identity("admin", ("system:masters",))},
    )
    connection, wire = Connection(Connections(cluster)), Wire()
    connection.connection_made(wire)
    return cluster, connection, wire


def request(path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def statuses(wire: Wire) -> list[int]:
    return [int(result) for result in re.findall(rb"HTTP/1\.1 (\d+)", wire.written)]


async def test_a_request_in_pieces_is_answered_when_it_is_complete() -> None:
    _, connection, wire = connect()
    whole = request("/version")
    for i in range(len(whole) - 1):
        connection.data_received(whole[i : i + 1])
    assert wire.written == b""
    connection.data_received(whole[-1:])
    assert statuses(wire) == [200]
    assert not wire.closed


async def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    _, connection, wire = connect()
    connection.data_received(request("/version") + request("/nonsense") + request("/healthz"))
    assert statuses(wire) == [200, 404, 200]


async def test_requests_after_a_watch_wait_for_its_end() -> None:
    cluster, connection, wire = connect()
    connection.data_received(request(f"{CONFIGMAPS}?watch=true") + request("/nonsense"))
    await asyncio.sleep(0.01)
    assert statuses(wire) == [200]
    cluster.stop()
    await asyncio.sleep(0.01)
    assert statuses(wire) == [200, 404]
    assert b"transfer-encoding: chunked" in wire.written
    assert b"\r\n0\r\n\r\nHTTP/1.1 404" in wire.written


async def test_a_client_that_goes_away_ends_its_watch() -> None:
    cluster, connection, _ = connect()
    connection.data_received(request(f"{CONFIGMAPS}?watch=true"))
    await asyncio.sleep(0.01)
    assert len(cluster.core.watches) == 1
    connection.connection_lost(None)
    await asyncio.sleep(0.01)
    assert not cluster.core.watches


async def test_the_last_request_of_a_connection_closes_it() -> None:
    _, connection, wire = connect()
    connection.data_received(request("/version", "Connection: close"))
    assert b"connection: close\r\n" in wire.written
    assert wire.closed


async def test_bytes_that_are_not_http_are_refused() -> None:
    _, connection, wire = connect()
    connection.data_received(b"\x16\x03\x01 hello\r\n\r\n")
    assert statuses(wire) == [400]
    assert wire.closed


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    _, connection, wire = connect()
    connection.data_received(request(CONFIGMAPS, "Expect: 100-continue", "Content-Length: 2", method="POST"))
    assert statuses(wire) == [100]
    connection.data_received(b"{}")
    assert statuses(wire) == [100, 422]


async def test_a_chunked_body_is_put_together() -> None:
    _, connection, wire = connect()
    connection.data_received(request(CONFIGMAPS, "Transfer-Encoding: chunked", method="POST"))
    connection.data_received(b'c\r\n{"metadata":\r\nd\r\n{"name": "a"}\r\n1\r\n}\r\n0\r\n\r\n')
    assert statuses(wire) == [201]


async def test_an_answer_to_head_has_no_body() -> None:
    _, connection, wire = connect()
    connection.data_received(request("/version", method="HEAD"))
    assert wire.written.endswith(b"\r\n\r\n")


async def test_a_cut_off_cluster_takes_no_connection() -> None:
    cluster, _, _ = connect()
    cluster.faults.set(cut_off=True)
    wire = Wire()
    Connection(Connections(cluster)).connection_made(wire)
    assert wire.aborted


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/configmaps?labelSelector=a%3Db%2Cc", "/version?x=%20y"])
async def test_targets_are_decoded(path: str) -> None:
    _, connection, wire = connect()
    connection.data_received(request(path))
    assert statuses(wire) == [200]
