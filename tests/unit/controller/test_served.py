"""What a start says if the host lacks the CRDs."""

import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, status_answer
from uniteddeployment.controller.errors import StartError
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer

PAGES = {"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "x"}}]}


@pytest.mark.parametrize("namespace", [None, "shop"])
async def test_one_object_of_each_kind_is_asked_for(namespace: str | None) -> None:
    transport = FakeTransport(lambda _: json_answer(PAGES))
    await check_served(Client(transport, "host"), namespace)
    scope = f"namespaces/{namespace}/" if namespace else ""
    assert [(request.path, dict(request.query).get("limit")) for request in transport.requests] == [
        (f"/apis/uniteddeployment.io/v1alpha1/{scope}uniteddeployments", "1"),
        ("/apis/uniteddeployment.io/v1alpha1/clusters", "1"),
    ]


@pytest.mark.parametrize("plural", ["uniteddeployments", "clusters"])
async def test_a_kind_that_is_not_served_is_named_with_the_command_that_helps(plural: str) -> None:
    def answer(request: Request) -> Answer:
        return status_answer(404, "NotFound") if request.path.endswith(plural) else json_answer({"items": []})

    with pytest.raises(StartError) as raised:
        await check_served(Client(FakeTransport(answer), "the host"))
    assert str(raised.value) == (
        f"the host does not know {plural}.uniteddeployment.io; install the CRDs first: ud crds | kubectl apply -f -"
    )


async def test_a_missing_right_is_reported_as_such() -> None:
    with pytest.raises(Forbidden):
        await check_served(Client(FakeTransport(lambda _: status_answer(403, "Forbidden")), "host"))
