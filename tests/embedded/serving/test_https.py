"""HTTPS: certificates, streams, broken connections, closing."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
import pytest
import yaml

from tests.embedded.cluster_kit import CONFIGMAPS, TOKEN, configmap
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.serving import server
from uniteddeployment.embedded.serving.tls import client_context

HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Cluster, server.RunningServer]]:
    clock = LoopClock(asyncio.get_running_loop())
    cluster = Cluster(
        "s",
        clock=clock,
        random=Random(1),
        nodes=0,
        controllers=False,
        tokens={TOKEN: Identity("admin", ("system:masters",))},
    )
    running = await server.start(cluster)
    try:
        yield cluster, running
    finally:
        await running.close()
        cluster.stop()


@asynccontextmanager
async def client(
    running: server.RunningServer, context: ssl.SSLContext | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=context or client_context(running.ca))
    async with aiohttp.ClientSession(base_url=running.url, connector=connector, headers=HEADERS) as session:
        yield session


async def test_a_client_that_trusts_the_authority_writes_and_reads() -> None:
    async with serving() as (_, running), client(running) as session:
        async with session.post(CONFIGMAPS, json=configmap("a", data={"k": "v"})) as created:
            assert created.status == 201
        async with session.get(f"{CONFIGMAPS}/a") as result:
            assert (await result.json())["data"] == {"k": "v"}


async def test_a_client_that_does_not_trust_the_authority_hangs_up() -> None:
    async with serving() as (_, running), client(running, ssl.create_default_context()) as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get("/version")


async def test_a_client_certificate_is_enough() -> None:
    async with serving() as (_, running):
        context = client_context(running.ca, running.authority.client("jane", ("team",)))
        connector = aiohttp.TCPConnector(ssl=context)
        async with (
            aiohttp.ClientSession(base_url=running.url, connector=connector) as session,
            session.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json={}) as answer,
        ):
            user = (await answer.json())["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("jane", ["team", "system:authenticated"])


async def test_a_watch_streams_and_lets_go_when_its_client_leaves() -> None:
    async with serving() as (cluster, running), client(running) as session:
        async with session.get(f"{CONFIGMAPS}?watch=true") as watch:
            async with session.post(CONFIGMAPS, json=configmap("a")):
                pass
            event = json.loads(await watch.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
            assert len(cluster.core.watches) == 1
            watch.close()
        async with asyncio.timeout(5):
            while cluster.core.watches:  # noqa: ASYNC110  # there is no event for a client that has gone
                await asyncio.sleep(0.01)


async def test_warnings_are_headers_of_their_own() -> None:
    async with serving() as (_, running), client(running) as session:
        body = {**configmap("a"), "one": 1, "two": 2}
        async with session.post(CONFIGMAPS, json=body) as answer:
            assert answer.headers.getall("Warning") == [
                f'299 - "unknown field \\"{name}\\""' for name in ("one", "two")
            ]


async def test_a_body_without_end_is_refused() -> None:
    async with (
        serving() as (_, running),
        client(running) as session,
        session.post(
            CONFIGMAPS, data=io.BytesIO(b"x" * (4 << 20)), headers={"Content-Type": "application/json"}
        ) as answer,
    ):
        assert answer.status == 413


async def test_being_cut_off_breaks_watches_and_refuses_connections_until_it_is_over() -> None:
    """Requests to a cut-off cluster fail at once (I10)."""
    async with serving() as (cluster, running), client(running) as session:
        async with session.get(f"{CONFIGMAPS}?watch=true") as watch:
            cluster.faults.set(cut_off=True)
            with pytest.raises(aiohttp.ClientError):
                await watch.content.readline()
        with pytest.raises(aiohttp.ClientError):
            await session.get("/version")
        cluster.faults.clear()
        async with session.get("/version") as answer:
            assert answer.status == 200


async def test_a_black_hole_takes_connections_and_says_nothing() -> None:
    async with serving() as (cluster, running), client(running) as session:
        cluster.faults.set(black_hole=True)
        with pytest.raises(TimeoutError):
            await session.get("/version", timeout=aiohttp.ClientTimeout(total=0.2))


async def test_closing_ends_watches_and_frees_the_port() -> None:
    async with serving() as (cluster, running), client(running) as session:
        async with session.get(f"{CONFIGMAPS}?watch=true") as watch:
            await running.close()
            with pytest.raises(aiohttp.ClientError):
                await watch.content.readline()
        again = await server.start(cluster, port=running.port)
        await again.close()


async def test_a_port_that_is_taken_is_an_error_of_the_system() -> None:
    async with serving() as (cluster, running):
        with pytest.raises(OSError, match="address already in use"):
            await server.start(cluster, port=running.port)


def test_a_kubeconfig_is_for_its_owner_only(tmp_path: Path) -> None:
    """Only the owner can read the credentials (I12)."""
    file = tmp_path / "sub" / "config"
    contexts = [
        kubeconfig.Context(name, f"https://127.0.0.1:{port}", b"ca", TOKEN) for name, port in (("a", 1), ("b", 2))
    ]
    kubeconfig.write(file, contexts, current="b")
    written = yaml.safe_load(file.read_text())
    assert written["current-context"] == "b"
    assert [context["name"] for context in written["contexts"]] == ["a", "b"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config"]
