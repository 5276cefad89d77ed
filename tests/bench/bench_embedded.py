"""The embedded cluster: requests a second in process and over HTTPS, watchers, start, memory."""

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import aiohttp

from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.serving import server
from uniteddeployment.embedded.serving.tls import client_context

TOKEN = "bench"
OBJECTS = 5_000
WATCHERS = 200
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"

_EMPTY = """
import asyncio, time
began = time.perf_counter()
from random import Random
from uniteddeployment.embedded.serving import server
from uniteddeployment.embedded.clock import LoopClock
from uniteddeployment.embedded.cluster import Cluster
WINDOW = 0.1  # seconds in which CPU is measured
LITTLE = 0.005  # seconds of CPU in it, for what never ends
async def main():
    cluster = Cluster("b", clock=LoopClock(asyncio.get_running_loop()), random=Random(1))
    cluster.start()
    running = await server.start(cluster)
    took = time.perf_counter() - began
    spent = -1.0
    while time.process_time() - spent > LITTLE:  # the controllers have begun, and have nothing more to do
        spent = time.process_time()
        await asyncio.sleep(WINDOW)
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(took, status["VmRSS"].split()[0])
    await running.close()
    cluster.stop()
asyncio.run(main())
"""


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


class _Bench:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rows: list[tuple[str, str]] = []

    def ask(self, method: str, path: str, body: object = None, content: str = "application/json") -> Response:
        raw = b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        pairs = tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": content, "user-agent": "bench/1"}
        response = self.cluster.handle(Request(method, path, pairs, headers, raw))
        assert response.status < 300, response.body
        return response

    def rate(self, what: str, act: Callable[[int], object], count: int = OBJECTS, target: str = "") -> None:
        began = time.perf_counter()
        for i in range(count):
            act(i)
        figure = f"{count / (time.perf_counter() - began):,.0f}/s"
        self.rows.append((what, f"{figure}{f' (at least {target})' if target else ''}"))

    def in_process(self) -> None:
        gc.collect()
        before = _resident()
        data = {"k": "v" * 500}
        self.rate(
            "creates in process",
            lambda i: self.ask("POST", CONFIGMAPS, {"metadata": {"name": f"c{i}", "labels": {"a": "b"}}, "data": data}),
            target="1,500",
        )
        gc.collect()
        stored = sum(len(entry.raw) for table in self.cluster.core.store.tables() for entry in table.entries.values())
        over = (_resident() - before - stored) / OBJECTS
        self.rows.append(("memory of an object on top of its JSON", f"{over:,.0f} bytes (under 6,000)"))
        self.rate("merge patches", lambda i: self.ask("PATCH", f"{CONFIGMAPS}/c{i}", {"data": {"n": str(i)}}, MERGE))
        self.rate("gets", lambda i: self.ask("GET", f"{CONFIGMAPS}/c{i}"), target="4,000")
        self.rate(f"lists of {OBJECTS:,}", lambda _: self.ask("GET", CONFIGMAPS), 20)
        streams = [self.ask("GET", f"{CONFIGMAPS}?watch=true").stream for _ in range(WATCHERS)]
        self.rate(
            f"merge patches seen by {WATCHERS} watchers",
            lambda i: self.ask("PATCH", f"{CONFIGMAPS}/c{i}", {"data": {"n": f"w{i}"}}, MERGE),
        )
        assert all(stream is not None for stream in streams)

    async def over_https(self) -> None:
        running = await server.start(self.cluster)
        connector = aiohttp.TCPConnector(ssl=client_context(running.ca), limit=20)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(running.url, connector=connector, headers=headers) as session:

            async def create(i: int) -> None:
                async with session.post(CONFIGMAPS, json={"metadata": {"name": f"h{i}"}}) as answer:
                    assert answer.status == 201
                    await answer.read()

            began = time.perf_counter()
            for first in range(0, 1_000, 20):
                await asyncio.gather(*(create(i) for i in range(first, first + 20)))
            rate = 1_000 / (time.perf_counter() - began)
        await running.close()
        self.rows.append(("creates over HTTPS, client in the same process", f"{rate:,.0f}/s (at least 500)"))


async def _measure() -> list[tuple[str, str]]:
    clock = LoopClock(asyncio.get_running_loop())
    tokens = {TOKEN: Identity("bench", ("system:masters",))}
    cluster = Cluster("bench", clock=clock, random=Random(1), nodes=0, controllers=False, tokens=tokens)
    bench = _Bench(cluster)
    bench.in_process()
    await bench.over_https()
    cluster.stop()
    return bench.rows


def run() -> list[tuple[str, str]]:
    told = subprocess.run([sys.executable, "-c", _EMPTY], capture_output=True, text=True, check=True).stdout.split()
    empty = [
        ("start with controllers and HTTPS, imports included", f"{float(told[0]):.2f} s (under 0.5)"),
        ("resident memory of an empty cluster", f"{int(told[1]) / 1000:.1f} MB (under 60)"),
    ]
    return [*empty, *asyncio.run(_measure())]
