"""What is said of a server that cannot be identified."""

import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, status_answer
from uniteddeployment.fleet.identity import MissingRightError, RefusedError, UnidentifiedError, cluster_uid
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import KubeError, ServerError
from uniteddeployment.kube.transport import Answer


async def uid(answer: Answer) -> str:
    return await cluster_uid(Client(FakeTransport(lambda _: answer), "m"), timeout=5)


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (status_answer(401, "Unauthorized"), RefusedError, "it refuses our credentials (401 Unauthorized)"),
        (
            status_answer(403, "Forbidden"),
            MissingRightError,
            (
                "the credentials may not get the namespace kube-system, whose uid identifies the cluster: grant the "
                "verb get on it, as config/member does"
            ),
        ),
        (
            status_answer(404, "NotFound"),
            UnidentifiedError,
            "it has no namespace kube-system, whose uid identifies the cluster",
        ),
        (
            json_answer({"metadata": {}}),
            UnidentifiedError,
            "its namespace kube-system has no uid, which identifies the cluster",
        ),
    ],
)
async def test_why_a_cluster_cannot_be_identified_is_said(answer: Answer, error: type[KubeError], text: str) -> None:
    """I14"""
    with pytest.raises(KubeError) as raised:
        await uid(answer)
    assert type(raised.value) is error
    assert str(raised.value) == text


async def test_a_cluster_is_identified_by_the_uid_of_its_namespace_up_to_a_length() -> None:
    assert await uid(json_answer({"metadata": {"uid": "u"}})) == "u"
    assert len(await uid(json_answer({"metadata": {"uid": "u" * 1000}}))) == 128
    with pytest.raises(UnidentifiedError, match=r"^it does not answer like a Kubernetes API server: "):
        await uid(json_answer([]))
    with pytest.raises(ServerError):
        await uid(status_answer(500, "InternalError"))
