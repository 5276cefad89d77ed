"""One bad object on the host stops nothing but itself, and says what is wrong with it (I10, I11, I16)."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import cluster_images
from tests.support.inprocess import InProcessTransport
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.world import UDS, World
from uniteddeployment.controller import planner as planner_module
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import TokenProvider
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import Observed
from uniteddeployment.planning.plan import Plan, plan
from uniteddeployment_api import names

CLUSTERS = f"{names.API_PATH}/namespaces/default/clusters"
SECRETS = "/api/v1/namespaces/default/secrets"


def cluster(
    world: World, name: str, *, server: str | None = None, data: dict[str, bytes] | None = None, **spec: Any
) -> None:
    """A Cluster object with a Secret of its own."""
    if data is not None:
        secret = {"metadata": {"name": name}, "data": {k: base64.b64encode(v).decode() for k, v in data.items()}}
        world.request(world.host, "POST", SECRETS, secret)
    body = {
        "apiVersion": names.API_VERSION,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"credentials": {"secretRef": {"name": name}}, **({"server": server} if server else {}), **spec},
    }
    world.request(world.host, "POST", CLUSTERS, body)


def ready_condition(world: World, name: str) -> dict[str, Any]:
    found = present(world.host.access.get("clusters.uniteddeployment.io", "default", name))
    return next(iter((found.get("status") or {}).get("conditions", ())), {})


TOKEN = {"token": b"x"}
BAD_CLUSTERS: dict[str, tuple[dict[str, Any], str]] = {
    "port": ({"server": "https://h:99999", "data": TOKEN}, "must be a URL"),
    "bracket": ({"server": "https://[", "data": TOKEN}, "must be a URL"),
    "host": ({"server": f"https://{'a' * 300}", "data": TOKEN}, "longer than a DNS name"),
    "unknown": ({"server": "https://nowhere.test", "data": TOKEN}, "internal error: KeyError"),
    "brackets": ({"data": {"kubeconfig": b"[[["}}, "is not YAML"),
    "deep": ({"data": {"kubeconfig": b"[" * 5000}}, "nested deeper"),
    "date": ({"data": {"kubeconfig": b"current-context: 2024-13-45"}}, "has no context"),
    "aliases": ({"data": {"kubeconfig": b"a: &a [x]\nb: [*a, *a]"}}, "an anchor or an alias"),
    "number": (
        {
            "data": {
                "kubeconfig": json.dumps(
                    {
                        "current-context": "x",
                        "contexts": [{"name": "x", "context": {"cluster": "x"}}],
                        "clusters": [{"name": "x", "cluster": {"server": "https://h", "tls-server-name": 5}}],
                    }
                ).encode()
            }
        },
        "'tls-server-name' of the kubeconfig must be a string",
    ),
    "token": ({"server": "https://h", "data": {"token": b"two\nlines"}}, "a space or a line break"),
    "bytes": ({"server": "https://h", "data": {"token": b"\xff\xfe"}}, "other than printable ASCII"),
    "none": ({"server": "https://h"}, "does not exist"),
}


async def test_clusters_and_secrets_that_cannot_be_used_say_why_and_stop_nobody(world: World) -> None:
    """I10, I12: each ended the controller for all. They are tried again, and one that is corrected is taken up."""
    for name, (options, _) in BAD_CLUSTERS.items():
        cluster(world, name, **options)
    world.apply(manifest())
    await world.until(world.settled, 60, what="the application")
    await world.until(lambda: all(world.phase(name) == "Pending" for name in BAD_CLUSTERS), 60, what="their phases")
    for name, (_, complaint) in BAD_CLUSTERS.items():
        assert complaint in ready_condition(world, name)["message"], name
    await asyncio.sleep(300)
    world.apply(manifest(image="app:2"))
    await world.until(world.settled, what="the new image")
    token = {"stringData": {"token": "x"}, "data": None}
    world.request(world.host, "PATCH", f"{SECRETS}/port", token, content_type="application/merge-patch+json")
    right = {"spec": {"server": "https://member-1.test:6443"}}
    world.request(world.host, "PATCH", f"{CLUSTERS}/port", right, content_type="application/merge-patch+json")
    await world.until(lambda: "refuses our credentials" in ready_condition(world, "port")["message"], what="an answer")


class Injecting(InProcessTransport):
    """Slips objects into what the host says that its schema would not let in."""

    objects: tuple[bytes, ...] = ()

    async def _guarded(self, chunks: Any) -> AsyncIterator[bytes]:
        async for chunk in super()._guarded(chunks):
            if b'"kind":"UnitedDeployment"' in chunk and b'"type":"ADDED"' in chunk:
                for injected in self.objects:
                    yield b'{"type":"ADDED","object":%s}\n' % injected
            yield chunk


DEEP = b'{"a":' * 3000 + b"1" + b"}" * 3000


@pytest.mark.parametrize(
    "poison",
    [
        b"[]",
        b'{"metadata":5}',
        b'{"metadata":{"name":"x","namespace":"default","uid":"u"},"spec":[1]}',
        b'{"metadata":{"name":"x","namespace":"default","uid":"u"},"spec":{},"status":5}',
        b'{"metadata":{"name":"x","namespace":"default","generation":-1}}',
        b'{"metadata":{"name":"x","namespace":"default","uid":"u"},"spec":' + DEEP + b"}",
        DEEP,
        b'{"metadata":{"name":"\xff"}}',
        b"9" * 400,
    ],
    ids=range(9),
)
@pytest.mark.fleet(controller=False)
async def test_an_object_of_our_kind_that_cannot_be_read_hides_no_other_one(world: World, poison: bytes) -> None:

    def client(cluster: Cluster, token: TokenProvider | str = cluster_images.TOKEN) -> Client:
        made = type("Made", (Injecting,), {"objects": (poison,)}) if cluster is world.host else InProcessTransport
        transport = made(cluster, token, cluster.name)
        world.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    world.client = client  # type: ignore[method-assign]  # only in this test
    world.start_controller()
    await asyncio.sleep(5)
    world.apply(manifest())
    await world.until(world.settled, 60, what="the application")
    world.apply(manifest(image="app:2"))
    await world.until(world.settled, 120, what="the new image")


async def test_a_spec_that_is_nested_too_deep_is_told_and_corrected_and_others_go_on(world: World) -> None:
    """An API server takes ten thousand levels (I11)."""
    document = manifest()
    document["spec"]["template"]["statefulSetTemplate"]["spec"]["x"] = nested(65)
    world.apply(document)
    other = manifest()
    other["metadata"]["name"] = "other"
    world.apply(other)
    await world.until(lambda: world.settled("other"), 60, what="the other application")
    await world.until(lambda: world.condition("Stalled") == "True", 60, what="the condition")
    message = next(one["message"] for one in world.status()["conditions"] if one["type"] == "Stalled")
    assert "spec.template.statefulSetTemplate.spec: must not be nested" in message
    world.apply(manifest())
    await world.until(world.settled, 60, what="the corrected one")


def nested(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


async def test_an_application_that_makes_the_planner_fail_says_so_and_the_others_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"web"}

    def fails(subject: Subject, observed: Observed) -> Plan:
        if subject.name in broken:
            raise ZeroDivisionError("what it was about")
        return plan(subject, observed)

    monkeypatch.setattr(planner_module, "plan", fails)
    world.apply(manifest())
    other = manifest()
    other["metadata"]["name"] = "other"
    world.apply(other)
    await world.until(lambda: world.settled("other"), 60, what="the other application")
    await world.until(lambda: world.condition("Stalled") == "True", 60, what="the condition")
    messages = [one["message"] for one in world.status()["conditions"]]
    assert any("internal error: ZeroDivisionError" in one for one in messages)
    assert "what it was about" not in str(world.ud())
    version = present(world.host.access.get(UDS, "default", "web"))["metadata"]["resourceVersion"]
    await asyncio.sleep(600)
    assert present(world.host.access.get(UDS, "default", "web"))["metadata"]["resourceVersion"] == version
    broken.clear()
    await world.until(world.settled, 120, what="the application")


async def test_two_kilobytes_of_overrides_that_stand_for_gigabytes_are_refused(world: World) -> None:
    """24 copies of a list to its own end."""
    document = manifest()
    first = {"op": "add", "path": "/metadata/annotations/x", "value": {"l": ["x" * 100]}}
    again = {"op": "copy", "from": "/metadata/annotations/x/l", "path": "/metadata/annotations/x/l/-"}
    document["spec"]["topology"]["subsets"][0]["overrides"] = [first, *[again] * 24]
    world.apply(document)
    other = manifest()
    other["metadata"]["name"] = "other"
    world.apply(other)
    await world.until(lambda: world.settled("other"), 60, what="the other application")
    await world.until(lambda: world.condition("Stalled") == "True", 60, what="the condition")
    message = next(one["message"] for one in world.status()["conditions"] if one["type"] == "Stalled")
    assert "spec.topology.subsets[0].overrides[12].from" in message
    assert "copy more than 256 KiB in total" in message
    world.apply(manifest())
    await world.until(world.settled, 60, what="the corrected one")
