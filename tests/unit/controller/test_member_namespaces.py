"""The namespaces that are created in members, and their Pod Security labels."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.unit.controller.retries import pauses
from tests.unit.kube.fakes import FakeTransport, Feed, json_answer, running, status_answer, until
from uniteddeployment.controller.member_namespaces import (
    LabelsUnknown,
    NamespaceCreator,
    NamespaceLabeller,
    NamespaceRequired,
    check_creation,
)
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.fleet.member_namespaces import Fields, MemberNamespace, MemberNamespaceMetadata, MemberNamespaces
from uniteddeployment.fleet.namespaces import Namespace, NamespaceMetadata, Namespaces
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden
from uniteddeployment.kube.watch import ADDED, DELETED, MODIFIED, Change
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
ENFORCE = "pod-security.kubernetes.io/enforce"
NEW = {"resourceVersion"}


def cluster(namespaces: str = "Create") -> ClusterObject:
    return ClusterObject(ClusterMetadata("m", "ns"), ClusterSpec(namespaces=namespaces))


def seen(owned: tuple[str, ...] = (), uid: str = "uid-n", **labels: str) -> MemberNamespace:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{key}": {} for key in owned}}}
    managed = (Fields(names.FIELD_MANAGER, "Apply", fields), Fields("other", "Apply", {"f:metadata": 3}))
    meta = MemberNamespaceMetadata("shop", uid=uid, labels=dict(labels), managed_fields=managed)
    return MemberNamespace(meta)


class Stage:
    """A member with a namespace, and the labels of that namespace on the host."""

    def __init__(
        self,
        present: MemberNamespace | None = None,
        *,
        host: Mapping[str, str] | None = None,
        object_: ClusterObject | None = None,
    ) -> None:
        self.host: Mapping[str, str] | None = host
        self.refusals: list[Any] = []
        self.transport = FakeTransport(
            lambda _: self.refusals.pop(0) if self.refusals else json_answer({"metadata": {"name": "shop"}})
        )
        namespaces = SimpleNamespace(get={"shop": present}.get)
        self.member: Any = SimpleNamespace(name="ns/m", client=Client(self.transport, "m"), namespaces=namespaces)
        fleet: Any = SimpleNamespace(
            member={"ns/m": self.member}.get,
            members=lambda: (self.member, SimpleNamespace(name="ns/other", namespaces=None)),
            cluster={"ns/m": object_ or cluster()}.get,
        )
        self.creator = NamespaceCreator(fleet, self._labels)
        self.labeller = NamespaceLabeller(fleet, self._labels)

    def _labels(self, namespace: str) -> Mapping[str, str] | None:
        assert namespace == "shop"
        return self.host

    def sent(self) -> tuple[str, str, dict[str, str], Any]:
        (request,) = self.transport.requests
        return request.method, request.path, dict(request.query), msgspec.json.decode(request.body)


async def test_a_new_namespace_has_our_label_and_the_pod_security_of_the_host() -> None:
    """I15"""
    stage = Stage(host={ENFORCE: "baseline", "team": "x"})
    await stage.creator.create(stage.member, "shop")
    method, path, query, body = stage.sent()
    assert (method, path) == ("PATCH", "/api/v1/namespaces/shop")
    assert query == {"fieldManager": "uniteddeployment", "force": "false"}
    assert body["metadata"].pop("resourceVersion"), "an existing namespace is not changed"
    assert body == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "shop",
            "labels": {"app.kubernetes.io/managed-by": "uniteddeployment", ENFORCE: "baseline"},
        },
    }


async def test_a_namespace_that_exists_by_now_is_as_good() -> None:
    stage = Stage(host={})
    stage.refusals = [status_answer(409, "Conflict"), status_answer(403, "Forbidden")]
    await stage.creator.create(stage.member, "shop")
    with pytest.raises(Forbidden):
        await stage.creator.create(stage.member, "shop")


async def test_a_namespace_is_created_only_when_its_labels_are_known() -> None:
    stage = Stage(host=None)
    with pytest.raises(LabelsUnknown) as raised:
        await stage.creator.create(stage.member, "shop")
    assert str(raised.value) == "the labels of the namespace shop on the host are not known yet"
    assert not stage.transport.requests


async def test_a_cluster_whose_namespaces_are_required_gets_none() -> None:
    stage = Stage(host={}, object_=cluster("Require"))
    with pytest.raises(NamespaceRequired) as raised:
        await stage.creator.create(stage.member, "shop")
    assert str(raised.value) == (
        "the namespace shop does not exist there, and spec.namespaces of the Cluster ns/m is Require: create the "
        "namespace in the member"
    )
    assert not stage.transport.requests
    check_creation(None, "shop")
    check_creation(cluster(), "shop")


async def test_changed_labels_are_applied_to_that_very_namespace() -> None:
    stage = Stage(seen((ENFORCE,), **{ENFORCE: "baseline"}), host={ENFORCE: "restricted"})
    async with running(stage.labeller.run()):
        stage.labeller.host_changed("shop")
        await until(lambda: stage.transport.requests)
    method, path, query, body = stage.sent()
    assert (method, path) == ("PATCH", "/api/v1/namespaces/shop")
    assert query == {"fieldManager": "uniteddeployment", "force": "false"}, "the labels of others stay"
    assert body == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "shop",
            "labels": {"app.kubernetes.io/managed-by": "uniteddeployment", ENFORCE: "restricted"},
            "uid": "uid-n",
        },
    }


@pytest.mark.parametrize(
    "stage",
    [
        lambda: Stage(seen((ENFORCE,), **{ENFORCE: "baseline"}), host={ENFORCE: "baseline"}),
        lambda: Stage(seen(), host={ENFORCE: "baseline"}, object_=cluster("Require")),
        lambda: Stage(seen(), host=None),
        lambda: Stage(None, host={ENFORCE: "baseline"}),
        lambda: Stage(
            MemberNamespace(MemberNamespaceMetadata("shop", deletion_timestamp="2026-01-01T00:00:00Z")),
            host={ENFORCE: "baseline"},
        ),
    ],
    ids=["up to date", "left to its administrators", "host not known", "not ours", "being deleted"],
)
async def test_other_namespaces_are_left_alone(stage: Any) -> None:
    made = stage()
    for name in ("ns/m", "ns/gone"):
        await made.labeller._apply(name, "shop")
    made.member.namespaces = None
    await made.labeller._apply("ns/m", "shop")
    assert not made.transport.requests


async def test_labels_that_could_not_be_applied_are_tried_again() -> None:
    stage = Stage(seen(), host={ENFORCE: "baseline"})
    stage.refusals = [status_answer(500, "InternalError"), json_answer([])]
    async with running(stage.labeller.run()):
        stage.labeller.member_changed("ns/m", "shop")
        await until(lambda: len(stage.transport.requests) == 3)
        await until(lambda: not stage.labeller._queue.num_requeues(("ns/m", "shop")))


async def test_labels_are_tried_again_with_growing_pauses_of_at_most_a_minute() -> None:
    stage = Stage(seen(), host={ENFORCE: "baseline"})
    stage.refusals = [status_answer(500, "InternalError")] * 9
    async with running(stage.labeller.run()):
        stage.labeller.member_changed("ns/m", "shop")
        assert await pauses(lambda: len(stage.transport.requests), 9) == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_an_unexpected_error_about_one_namespace_does_not_end_the_work_on_others() -> None:
    """I10"""
    stage = Stage(seen(), host={ENFORCE: "baseline"})
    fails = iter([True, False])
    apply = stage.member.client.apply

    async def flaky(*args: Any, **options: Any) -> Any:
        if next(fails, False):
            raise ZeroDivisionError
        return await apply(*args, **options)

    stage.member.client.apply = flaky
    async with running(stage.labeller.run()):
        stage.labeller.member_changed("ns/m", "shop")
        await until(lambda: stage.transport.requests)


async def test_a_change_on_the_host_concerns_only_members_that_have_the_namespace() -> None:
    stage = Stage(None, host={})
    stage.labeller.host_changed("shop")
    assert len(stage.labeller._queue) == 0


def test_the_owned_labels_are_those_that_the_controller_applied() -> None:
    assert seen(("a", "f:b")).owned_labels == {"a", "f:b"}
    unreadable: tuple[dict[str, Any], ...] = ({}, {"f:metadata": 1}, {"f:metadata": {"f:labels": []}})
    for fields in unreadable:
        meta = MemberNamespaceMetadata("n", managed_fields=(Fields(names.FIELD_MANAGER, "Apply", fields),))
        assert MemberNamespace(meta).owned_labels == frozenset()
    update = Fields(names.FIELD_MANAGER, "Update", {"f:metadata": {"f:labels": {"f:a": {}}}})
    assert MemberNamespace(MemberNamespaceMetadata("n", managed_fields=(update,))).owned_labels == frozenset()


async def test_the_namespaces_of_a_member_are_watched_by_our_label() -> None:
    changed: list[str] = []
    meta = {"name": "shop", "uid": "u1", "resourceVersion": "1", "labels": {"team": "x"}}
    transport = FakeTransport()
    transport.feeds.append(Feed().event("ADDED", {"metadata": meta}).bookmark(1, initial_end=True))
    found = MemberNamespaces(Client(transport, "m"), changed.append)
    async with running(found.reflector.run()):
        await until(lambda: found.get("shop"))
    assert found.get("shop") == MemberNamespace(
        MemberNamespaceMetadata("shop", uid="u1", resource_version="1", labels={"team": "x"})
    )
    found.cache.take([Change(DELETED, seen())])
    changed.clear()
    found.cache.take([Change(ADDED, seen())])
    found.cache.take([Change(DELETED, seen())])
    assert changed == ["shop"]
    assert found.get("shop") is None
    found.cache.take([Change(ADDED, seen(uid="u2"))])
    assert found.get("shop") == seen(uid="u2")
    async with running(found.reflector.run()):
        await until(lambda: transport.requests)
    request = transport.requests[0]
    assert request.path == "/api/v1/namespaces"
    assert dict(request.query)["labelSelector"] == "app.kubernetes.io/managed-by=uniteddeployment"


@pytest.mark.parametrize(("only", "selector"), [(None, None), ("shop", "metadata.name=shop")])
async def test_the_namespaces_of_the_host_are_watched_and_only_changed_labels_are_told(
    only: str | None, selector: str | None
) -> None:
    changed: list[str] = []
    transport = FakeTransport()
    found = Namespaces(Client(transport, "host"), changed.append, only)

    def namespace(version: str, **labels: str) -> Namespace:
        return Namespace(NamespaceMetadata("shop", uid="u", resource_version=version, labels=labels))

    found._cache.take([Change(ADDED, namespace("1"))])
    found._cache.take([Change(MODIFIED, namespace("2"))])
    assert changed == ["shop"]
    found._cache.take([Change(MODIFIED, namespace("3", a="b"))])
    assert changed == ["shop", "shop"]
    assert found.labels("shop") == {"a": "b"}
    found._cache.take([Change(DELETED, namespace("3", a="b"))])
    assert changed == ["shop", "shop"]
    assert found.labels("shop") is None
    async with running(found.reflector.run()):
        await until(lambda: transport.requests)
    request = transport.requests[0]
    assert request.path == "/api/v1/namespaces"
    assert dict(request.query).get("fieldSelector") == selector
