"""The list of the controller's rights: no rule is missing and none is unused.

In every simulation the controller has the rights of its shipped roles, and a request that they do not allow fails the
test (see ``tests/support/world.py``). The story here does everything that the controller can do, on the host and in a
member, so each rule has to be used by it. Who adds a rule adds to the story what needs it.
"""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import profiles, rights
from tests.support.inprocess import InProcessTransport
from tests.support.kruise import ALL_KINDS, PATHS, RESOURCES, install
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.registering import register, token
from tests.support.world import World
from uniteddeployment.cli.clusters import registration
from uniteddeployment.cli.clusters.leaving import leave
from uniteddeployment.cli.install import rbac
from uniteddeployment.controller.rights import IN_MEMBER, ON_HOST
from uniteddeployment.controller.served import check_served
from uniteddeployment.controller.settings import LEASE
from uniteddeployment.controller.webhook_certificate import CONFIGURATIONS, WebhookCertificate
from uniteddeployment.embedded import http
from uniteddeployment.fleet import account
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import TokenProvider
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import CLUSTERROLES
from uniteddeployment_api import names

CONFIG = Path(__file__).parents[2] / "config"
APPLICATIONS = {f"web-{number}": kind for number, kind in enumerate(ALL_KINDS)}
LIFE = 600.0
"""Seconds that tokens of members live here."""
PLACES = ("host", "member-1")
MERGE = {"content_type": "application/merge-patch+json"}


class Paging(InProcessTransport):
    """An API server without streaming lists, so that lists are read before watches begin."""

    async def _ask(self, request: Request, seconds: float) -> http.Response:
        if ("sendInitialEvents", "true") in request.query:
            status = {
                "kind": "Status",
                "status": "Failure",
                "code": 422,
                "reason": "Invalid",
                "message": "no such option",
            }
            return http.Response(422, {"content-type": "application/json"}, json.dumps(status).encode())
        return await super()._ask(request, seconds)


def page(world: World) -> None:
    """Let the controller find no streaming lists anywhere."""

    def client(cluster: Any, token: str | TokenProvider = rights.TOKEN) -> Client:
        assert world.life is not None
        transport = Paging(world.life.connected(cluster), token, cluster.name)
        world.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    world.client = client  # type: ignore[method-assign]


def document(name: str, kind: str, namespace: str = "default", **options: Any) -> dict[str, Any]:
    """An application on the host itself and in a member."""
    made = manifest(kind=kind, shares={"here": "50%", "member-1": None}, **options)
    made["metadata"] |= {"name": name, "namespace": namespace}
    del made["spec"]["topology"]["subsets"][0]["targetCluster"]
    made["spec"]["revisionHistoryLimit"] = 1
    return made


async def applied(world: World, **options: Any) -> None:
    """The same change to all applications."""
    for name, kind in APPLICATIONS.items():
        world.apply(document(name, kind, **options))
    await world.until(lambda: all(map(world.settled, APPLICATIONS)), what=f"{options}")


async def drifts(world: World) -> None:
    """Somebody changes a field of every workload, and it is put back."""
    change = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "drift:1"}]}}}}

    def images() -> set[str]:
        found = [(one, kind) for place in PLACES for kind in ALL_KINDS for one in _workloads(world, place, kind)]
        return {one["spec"]["template"]["spec"]["containers"][0]["image"] for one, _ in found}

    before = images()
    for place in PLACES:
        for kind in ALL_KINDS:
            for one in _workloads(world, place, kind):
                world.request(
                    world.clusters[place], "PATCH", f"{PATHS[kind]}/{one['metadata']['name']}", change, **MERGE
                )
    await world.until(lambda: images() == before, what="repair")
    await world.until(lambda: all(map(world.settled, APPLICATIONS)), what="the state before")


def _workloads(world: World, place: str, kind: str) -> list[Any]:
    return list(world.clusters[place].access.list(RESOURCES[kind], "default"))


async def is_stuck_and_freed(world: World) -> None:
    """A StatefulSet waits for a broken pod that the controller has to delete."""
    good, bad = (document("stuck", "statefulSetTemplate", image=image) for image in ("app:1", "fail:2"))
    world.apply(good)
    await world.until(lambda: world.settled("stuck"), what="creation")
    world.apply(bad)
    await world.until(lambda: all("fail:2" in world.images(place) for place in PLACES), what="the bad version")
    world.apply(good)
    await world.until(lambda: world.settled("stuck"), what="the way back")


async def goes_on_after_a_restart(world: World) -> None:
    """In mid-canary a workload is lost: the template of the stable revision has to be read again to restore it."""
    held = {"partitions": {"here": 1, "member-1": 1}}
    await applied(world, replicas=4, image="app:4", **held)
    await world.stop_controller()
    (lost, *_) = _workloads(world, "member-1", "statefulSetTemplate")
    world.clusters["member-1"].access.delete(RESOURCES["statefulSetTemplate"], "default", lost["metadata"]["name"])
    world.start_controller()
    await world.until(lambda: bool(_workloads(world, "member-1", "statefulSetTemplate")), what="the lost workload")
    await applied(world, replicas=6, image="app:4", **held)
    await applied(world, replicas=6, image="app:4")


async def has_its_revisions_changed(world: World) -> None:
    """A change cause that comes later, and a revision that has lost its owner."""
    (name, *_) = APPLICATIONS
    path = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/{name}"
    note = {"metadata": {"annotations": {names.ANNOTATION_CHANGE_CAUSE: "why not"}}}
    world.request(world.host, "PATCH", path, note, **MERGE)

    def revisions() -> list[Any]:
        found = world.host.access.list("controllerrevisions.apps", "default")
        return [one for one in found if one["metadata"]["labels"].get(names.LABEL_NAME) == name and _ours(one)]

    def noted() -> bool:
        return any(names.ANNOTATION_CHANGE_CAUSE in one["metadata"]["annotations"] for one in revisions())

    await world.until(noted, what="the cause")
    for one in revisions():
        path = f"/apis/apps/v1/namespaces/default/controllerrevisions/{one['metadata']['name']}"
        world.request(world.host, "PATCH", path, {"metadata": {"ownerReferences": None}}, **MERGE)
    await world.until(lambda: all("ownerReferences" in one["metadata"] for one in revisions()), what="the owner")


def _ours(revision: Any) -> bool:
    return names.ANNOTATION_TEMPLATE_REVISION in revision["metadata"].get("annotations", {})


async def comes_to_a_new_namespace(world: World) -> None:
    """A member does not have it yet."""
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    path = f"{names.API_PATH}/namespaces/default/{names.CLUSTER_PLURAL}/member-1"
    world.request(world.host, "PATCH", path, {"spec": {"allowedNamespaces": {"from": "All"}}}, **MERGE)
    made = document("web", "deploymentTemplate", "shop")
    made["spec"]["topology"]["subsets"][1]["targetCluster"] = {"namespace": "default", "name": "member-1"}
    world.apply(made)
    await world.until(lambda: bool(world.pods("member-1", "shop")), what="pods in the new namespace")
    label = {"pod-security.kubernetes.io/warn": "restricted"}
    world.request(world.host, "PATCH", "/api/v1/namespaces/shop", {"metadata": {"labels": label}}, **MERGE)

    def labels() -> dict[str, str]:
        return dict(present(world.clusters["member-1"].access.get("namespaces", "", "shop"))["metadata"]["labels"])

    await world.until(lambda: label.items() <= labels().items(), what="the label")


async def asks_for_a_cluster_profile(world: World) -> None:
    """The Cluster of a ClusterProfile is created, and corrected when that changes."""
    await profiles.install(world)
    profiles.create(world, "spoke")
    profiles.provide(world, "spoke", "member-1")
    made = document("profiled", "deploymentTemplate")
    made["spec"]["topology"]["clusterRegistry"] = {"clusterType": profiles.CLUSTER_TYPE}
    made["spec"]["topology"]["subsets"][1]["targetCluster"] = {"name": "spoke"}
    world.apply(made)
    clusters = f"{names.CLUSTER_PLURAL}.{names.GROUP}"
    await world.until(lambda: bool(world.host.access.get(clusters, "default", "spoke")), 600, what="the Cluster")
    world.delete("profiled")
    await world.until(lambda: world.ud("profiled") is None, what="deletion")


async def leads_and_serves_webhooks(world: World) -> None:
    """What a process does beside the work of the controller."""
    world.request(world.host, "POST", "/api/v1/namespaces", {"metadata": {"name": rights.NAMESPACE}})
    for path, role in rights.of_namespace():
        world.request(world.host, "POST", path, role)
    kinds = {one.kind: one for one in CONFIGURATIONS}
    for one in yaml.safe_load_all((CONFIG / "manager" / "webhooks.yaml").read_text()):
        if one["kind"] in kinds:
            world.request(world.host, "POST", kinds[one["kind"]].path(), one)
        elif one["kind"] == "Secret":
            world.request(world.host, "POST", f"/api/v1/namespaces/{rights.NAMESPACE}/secrets", one)
    client = Client(InProcessTransport(world.host, rights.TOKEN, "host"), "host")
    await check_served(client)
    await WebhookCertificate(client, rights.NAMESPACE).refresh()
    await Elector(client, rights.NAMESPACE, LEASE, "one").run(lambda: asyncio.sleep(5))


async def has_its_token_replaced_and_leaves(world: World) -> None:
    """A registered member: the controller replaces its token, and its account can remove itself in the end."""
    await register(world, "member-1")
    first = token(world, "member-1")
    await world.until(lambda: token(world, "member-1") != first, LIFE, "a new token", every=1.0)
    await world.stop_controller()
    uid = present(world.host.access.get("namespaces", "", "kube-system"))["metadata"]["uid"]
    member = world.clusters["member-1"]
    account_ = Client(InProcessTransport(member, token(world, "member-1"), "member-1"), "member-1")
    (note,) = await leave(account_, "default/member-1", uid, administrator=False)
    assert "stays in the member" in note
    bindings = f"clusterrolebindings.{CLUSTERROLES.group}"
    await world.until(
        lambda: member.access.get(bindings, "", names.MEMBER_ACCOUNT) is None, what="the garbage collector"
    )


@pytest.mark.fleet(openkruise=True, members=1, controller=False, capacity=True)
async def test_each_right_is_used_and_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    install(world, world.host)
    page(world)
    world.start_controller()
    await applied(world, replicas=2)
    await applied(world, replicas=4)
    await applied(world, replicas=4, image="app:2")
    await applied(world, replicas=4, image="app:3")
    for _ in range(2):  # the same Event again is written into the first one
        await drifts(world)
    await goes_on_after_a_restart(world)
    await has_its_revisions_changed(world)
    await is_stuck_and_freed(world)
    await comes_to_a_new_namespace(world)
    await asks_for_a_cluster_profile(world)
    for name in APPLICATIONS:
        world.delete(name)
    await world.until(lambda: not any(map(world.ud, APPLICATIONS)), what="deletion")
    await leads_and_serves_webhooks(world)
    monkeypatch.setattr(account, "TOKEN_SECONDS", int(LIFE))
    monkeypatch.setattr(registration, "SHORTEST_TOKEN", timedelta(seconds=LIFE))
    await has_its_token_replaced_and_leaves(world)
    host, member = world.asked["host"].rights, world.asked["member-1"].rights
    assert not sorted(ON_HOST - host), "rules for the host that nothing needs"
    assert not sorted(IN_MEMBER - member), "rules for members that nothing needs"
    assert host <= ON_HOST
    assert member <= IN_MEMBER


@pytest.mark.parametrize(("where", "file"), [("host", "rbac/roles.yaml"), ("member", "member/role.yaml")])
def test_the_shipped_roles_are_written_from_the_list(where: str, file: str) -> None:
    """``make generate`` writes them."""
    assert (CONFIG / file).read_text() == rbac.roles(where)
