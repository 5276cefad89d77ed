"""Single requests to members on behalf of a namespace: to which cluster, as whom, and why not."""

from typing import Any

import pytest

from tests.support.narrowing import now
from tests.unit.kube.fakes import FakeTransport, json_answer, status_answer
from uniteddeployment.fleet.access import MemberAccess
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import Answer
from uniteddeployment.kube.web import RequestFailed

KEY, UID = "fleet/m", "member-uid"
CLUSTER = "/apis/uniteddeployment.io/v1alpha1/namespaces/fleet/clusters/m"
ALL: dict[str, Any] = {"allowedNamespaces": {"from": "All"}}
SELECTED: dict[str, Any] = {"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "x"}}}}


class Stage:
    """A host with one Cluster, and the member that answers at its address."""

    def __init__(self, *, status: dict[str, Any] | None = None, answers: str = UID, **spec: Any) -> None:
        self.documents: dict[str, Answer] = {
            CLUSTER: json_answer(
                {
                    "metadata": {"name": "m", "namespace": "fleet"},
                    "spec": {"server": "https://m:6443", "credentials": {"secretRef": {"name": "s"}}, **spec},
                    "status": {"phase": "Running", "clusterUID": UID} if status is None else status,
                }
            ),
            "/api/v1/namespaces/fleet/secrets/s": json_answer({"metadata": {"name": "s"}, "data": {"token": "dA=="}}),
            "/api/v1/namespaces/shop": json_answer({"metadata": {"labels": {"team": "x"}}}),
        }
        self.member = FakeTransport(lambda _: json_answer({"metadata": {"name": "n", "uid": answers}}))
        self.host = FakeTransport(self._answer)
        self.made: list[Connection] = []

    def _answer(self, request: Request) -> Answer:
        return self.documents.get(request.path, status_answer(404, "NotFound"))

    def _connect(self, connection: Connection) -> Client:
        self.made.append(connection)
        return Client(self.member, connection.name)

    async def write(self, namespace: str = "shop") -> Request:
        """Create a pod in the member; return the request."""
        access = MemberAccess(Client(self.host, "host"), self._connect)
        async with access.client(KEY, namespace) as client:
            assert not now(self.member.closed)
            await client.create(PODS, {}, dict, namespace=namespace)
        assert self.member.closed
        return self.member.requests[-1]

    async def refusal(self, namespace: str = "shop") -> str:
        with pytest.raises(RequestFailed) as raised:
            await self.write(namespace)
        assert not any(request.method == "POST" for request in self.member.requests)
        assert self.member.closed or not self.made
        return str(raised.value)


async def test_an_allowed_namespace_reaches_the_cluster_that_the_cluster_object_is_used_for() -> None:
    stage = Stage(**ALL)
    request = await stage.write()
    assert "impersonate-user" not in {name.lower() for name in request.headers}
    ((made),) = stage.made
    assert (made.server, made.name) == ("https://m:6443", KEY)


async def test_writes_are_made_as_the_service_account_of_the_namespace() -> None:
    """I15"""
    request = await Stage(**ALL, impersonate={"serviceAccount": "deployer"}).write()
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers["impersonate-user"] == "system:serviceaccount:shop:deployer"


async def test_a_namespace_is_selected_by_its_labels_on_the_host() -> None:
    """I15"""
    assert (await Stage(**SELECTED).write()).method == "POST"
    stage = Stage(**SELECTED)
    stage.documents["/api/v1/namespaces/shop"] = json_answer({"metadata": {"labels": {"team": "y"}}})
    assert (await stage.refusal()).startswith("Cluster fleet/m: ")
    stage.documents["/api/v1/namespaces/shop"] = status_answer(403, "Forbidden")
    assert (await stage.refusal()).startswith("Cluster fleet/m: ")


async def test_another_namespace_gets_nothing_by_default() -> None:
    stage = Stage()
    assert (await stage.refusal()).startswith("Cluster fleet/m: ")
    assert (await stage.write("fleet")).method == "POST"


@pytest.mark.parametrize(
    "given",
    [
        {"suspended": True},
        {"status": {"phase": "Offline", "clusterUID": UID}},
        {"status": {"phase": "Running"}},
        {"status": {}},
    ],
)
async def test_a_cluster_that_is_not_running_is_not_asked(given: dict[str, Any]) -> None:
    stage = Stage(**{**ALL, **given})
    assert await stage.refusal() == "Cluster fleet/m is not Running"
    assert not stage.made


async def test_another_cluster_at_the_address_gets_no_request() -> None:
    """I14"""
    assert await Stage(answers="another", **ALL).refusal() == (
        "another cluster answers at the address of Cluster fleet/m"
    )


async def test_what_is_missing_is_named() -> None:
    stage = Stage(**ALL)
    stage.documents["/api/v1/namespaces/fleet/secrets/s"] = status_answer(404, "NotFound")
    assert await stage.refusal() == "Secret fleet/s does not exist"
    stage.documents[CLUSTER] = status_answer(403, "Forbidden")
    assert await stage.refusal() == "Cluster fleet/m cannot be read: Forbidden"
    del stage.documents[CLUSTER]
    assert await stage.refusal() == "there is no Cluster fleet/m"
