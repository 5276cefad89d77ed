"""The list of the controller's rights: no rule is missing and none is unused.

In every simulation the controller has the rights of its shipped roles, and a request that they do not allow fails the
test (see ``tests/support/world.py``). The story here does everything that the controller can do, on the host and in a
member, so each rule has to be used by it. Who adds a rule adds to the story what needs it.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import rights
from tests.support.inprocess import InProcessTransport
from tests.support.kruise import ALL_KINDS, PATHS, RESOURCES, install, kruise_world
from tests.support.planning import manifest
from tests.support.world import World, simulate
from uniteddeployment.cli import rbac
from uniteddeployment.controller import run
from uniteddeployment.controller.rights import IN_MEMBER, ON_HOST
from uniteddeployment.controller.settings import LEASE
from uniteddeployment.controller.webhook_certificate import CONFIGURATIONS, WebhookCertificate
from uniteddeployment.embedded import http
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.election import Elector
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

CONFIG = Path(__file__).parents[2] / "config"
APPLICATIONS = {f"web-{number}": kind for number, kind in enumerate(ALL_KINDS)}
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


def page(w: World) -> None:
    """Let the controller find no streaming lists anywhere."""

    def client(cluster: Any, token: str = rights.TOKEN) -> Client:
        assert w.life is not None
        transport = Paging(w.life.connected(cluster), token, cluster.name)
        w.transports[cluster.name] = transport
        return Client(transport, cluster.name, field_manager=names.FIELD_MANAGER)

    w.client = client  # type: ignore[method-assign]


def document(name: str, kind: str, namespace: str = "default", **options: Any) -> dict[str, Any]:
    """An application on the host itself and in a member."""
    made = manifest(kind=kind, shares={"here": "50%", "member-1": None}, **options)
    made["metadata"] |= {"name": name, "namespace": namespace}
    del made["spec"]["topology"]["subsets"][0]["targetCluster"]
    made["spec"]["revisionHistoryLimit"] = 1
    return made


async def applied(w: World, **options: Any) -> None:
    """The same change to all applications."""
    for name, kind in APPLICATIONS.items():
        w.apply(document(name, kind, **options))
    await w.until(lambda: all(map(w.settled, APPLICATIONS)), what=f"{options}")


async def drifts(w: World) -> None:
    """Somebody changes a field of every workload, and it is put back."""
    change = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "drift:1"}]}}}}

    def images() -> set[str]:
        found = [(one, kind) for place in PLACES for kind in ALL_KINDS for one in _workloads(w, place, kind)]
        return {one["spec"]["template"]["spec"]["containers"][0]["image"] for one, _ in found}

    before = images()
    for place in PLACES:
        for kind in ALL_KINDS:
            for one in _workloads(w, place, kind):
                w.request(w.clusters[place], "PATCH", f"{PATHS[kind]}/{one['metadata']['name']}", change, **MERGE)
    await w.until(lambda: images() == before, what="repair")
    await w.until(lambda: all(map(w.settled, APPLICATIONS)), what="the state before")


def _workloads(w: World, place: str, kind: str) -> list[Any]:
    return list(w.clusters[place].access.list(RESOURCES[kind], "default"))


async def is_stuck_and_freed(w: World) -> None:
    """A StatefulSet waits for a broken pod that the controller has to delete."""
    good, bad = (document("stuck", "statefulSetTemplate", image=image) for image in ("app:1", "fail:2"))
    w.apply(good)
    await w.until(lambda: w.settled("stuck"), what="creation")
    w.apply(bad)
    await w.until(lambda: all("fail:2" in w.images(place) for place in PLACES), what="the bad version")
    w.apply(good)
    await w.until(lambda: w.settled("stuck"), what="the way back")


async def goes_on_after_a_restart(w: World) -> None:
    """In mid-canary a workload is lost: the template of the stable revision has to be read again to restore it."""
    held = {"partitions": {"here": 1, "member-1": 1}}
    await applied(w, replicas=4, image="app:4", **held)
    await w.stop_controller()
    (lost, *_) = _workloads(w, "member-1", "statefulSetTemplate")
    w.clusters["member-1"].access.delete(RESOURCES["statefulSetTemplate"], "default", lost["metadata"]["name"])
    w.start_controller()
    await w.until(lambda: bool(_workloads(w, "member-1", "statefulSetTemplate")), what="the lost workload")
    await applied(w, replicas=6, image="app:4", **held)
    await applied(w, replicas=6, image="app:4")


async def has_its_revisions_changed(w: World) -> None:
    """A change cause that comes later, and a revision that has lost its owner."""
    (name, *_) = APPLICATIONS
    path = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/{name}"
    note = {"metadata": {"annotations": {names.ANNOTATION_CHANGE_CAUSE: "why not"}}}
    w.request(w.host, "PATCH", path, note, **MERGE)

    def revisions() -> list[Any]:
        found = w.host.access.list("controllerrevisions.apps", "default")
        return [one for one in found if one["metadata"]["labels"].get(names.LABEL_NAME) == name and _ours(one)]

    def noted() -> bool:
        return any(names.ANNOTATION_CHANGE_CAUSE in one["metadata"]["annotations"] for one in revisions())

    await w.until(noted, what="the cause")
    for one in revisions():
        path = f"/apis/apps/v1/namespaces/default/controllerrevisions/{one['metadata']['name']}"
        w.request(w.host, "PATCH", path, {"metadata": {"ownerReferences": None}}, **MERGE)
    await w.until(lambda: all("ownerReferences" in one["metadata"] for one in revisions()), what="the owner")


def _ours(revision: Any) -> bool:
    return names.ANNOTATION_TEMPLATE_REVISION in revision["metadata"].get("annotations", {})


async def comes_to_a_new_namespace(w: World) -> None:
    """A member does not have it yet."""
    w.request(w.host, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    made = document("web", "deploymentTemplate", "shop")
    made["spec"]["topology"]["subsets"][1]["targetCluster"] = {"namespace": "default", "name": "member-1"}
    w.apply(made)
    await w.until(lambda: bool(w.pods("member-1", "shop")), what="pods in the new namespace")


async def leads_and_serves_webhooks(w: World) -> None:
    """What a process does beside the work of the controller."""
    w.request(w.host, "POST", "/api/v1/namespaces", {"metadata": {"name": rights.NAMESPACE}})
    for path, role in rights.of_namespace():
        w.request(w.host, "POST", path, role)
    kinds = {one.kind: one for one in CONFIGURATIONS}
    for one in yaml.safe_load_all((CONFIG / "manager" / "webhooks.yaml").read_text()):
        if one["kind"] in kinds:
            w.request(w.host, "POST", kinds[one["kind"]].path(), one)
        elif one["kind"] == "Secret":
            w.request(w.host, "POST", f"/api/v1/namespaces/{rights.NAMESPACE}/secrets", one)
    client = Client(InProcessTransport(w.host, rights.TOKEN, "host"), "host")
    await run.check(client)
    await WebhookCertificate(client, rights.NAMESPACE).refresh()
    await Elector(client, rights.NAMESPACE, LEASE, "one").run(lambda: asyncio.sleep(5))


def test_each_right_is_used_and_no_other() -> None:
    async def story() -> None:
        async with kruise_world(members=1, controller=False) as w:
            install(w, w.host)
            page(w)
            w.start_controller()
            await applied(w, replicas=2)
            await applied(w, replicas=4)
            await applied(w, replicas=4, image="app:2")
            await applied(w, replicas=4, image="app:3")
            for _ in range(2):  # the same Event again is written into the first one
                await drifts(w)
            await goes_on_after_a_restart(w)
            await has_its_revisions_changed(w)
            await is_stuck_and_freed(w)
            await comes_to_a_new_namespace(w)
            for name in APPLICATIONS:
                w.delete(name)
            await w.until(lambda: not any(map(w.ud, APPLICATIONS)), what="deletion")
            await leads_and_serves_webhooks(w)
            host, member = w.asked["host"].rights, w.asked["member-1"].rights
            assert not sorted(ON_HOST - host), "rules for the host that nothing needs"
            assert not sorted(IN_MEMBER - member), "rules for members that nothing needs"
            assert host <= ON_HOST
            assert member <= IN_MEMBER

    simulate(story)


@pytest.mark.parametrize(("where", "file"), [("host", "rbac/roles.yaml"), ("member", "member/role.yaml")])
def test_the_shipped_roles_are_written_from_the_list(where: str, file: str) -> None:
    """``make generate`` writes them."""
    assert (CONFIG / file).read_text() == rbac.main(where)
