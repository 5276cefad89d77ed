"""Gates that send a request to a server, which decides."""

from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.unit.rollout.gates.servers import SUBJECT, Secrets, probe, serving
from uniteddeployment.kube.web import Web
from uniteddeployment_rollout.gates.measuring import CannotMeasure
from uniteddeployment_rollout.gates.probe import Measured
from uniteddeployment_rollout.gates.webhook import Webhook


async def asked(response: web.Response, path: str = "") -> tuple[Measured, list[tuple[str, dict[Any, Any]]]]:
    """Measure once; return the result and the requests."""
    requests = []

    async def handler(request: web.Request) -> web.Response:
        requests.append((request.path_qs, msgspec.json.decode(await request.read())))
        return response

    session = Web()
    async with serving(handler) as url:
        gate = {"webhook": {"url": url + path}, "args": [{"name": "x", "value": "1"}]}
        try:
            return await Webhook(Secrets(), session).measure(SUBJECT, probe(**gate)), requests  # type: ignore[arg-type]  # it needs no more of a client
        finally:
            await session.close()


@pytest.mark.parametrize(
    ("status", "text", "outcome", "message"),
    [
        (200, "", "Success", ""),
        (204, "", "Success", ""),
        (200, "ok", "Success", ""),
        (200, "{}", "Success", ""),
        (200, '{"result": "pass", "other": 1}', "Success", ""),
        (200, '{"result": "fail", "message": "too slow\\u0000"}', "Failure", "too slow "),
        (200, '{"result": "inconclusive"}', "Inconclusive", ""),
        (202, '{"result": "wait", "message": "still running"}', "Wait", "still running"),
    ],
)
async def test_the_answer_decides(status: int, text: str, outcome: str, message: str) -> None:
    found, _ = await asked(web.Response(status=status, text=text or None))
    assert (found.outcome, found.message) == (outcome, message)


@pytest.mark.parametrize(
    ("status", "text", "message"),
    [
        (500, '{"result": "pass"}', "HTTP status 500"),
        (404, "", "HTTP status 404"),
        (301, "", "HTTP status 301"),
        (200, '{"result": "maybe"}', "no valid result"),
        (200, '{"result": "pa', "no valid result"),
    ],
)
async def test_an_answer_without_a_decision_is_an_error_and_not_a_failure(status: int, text: str, message: str) -> None:
    headers = {"Location": "/else"} if status == 301 else {}
    with pytest.raises(CannotMeasure, match=message):
        await asked(web.Response(status=status, text=text or None, headers=headers))


async def test_the_request_says_what_is_measured_and_has_an_id_that_is_the_same_if_it_is_repeated() -> None:
    _, ((path, body),) = await asked(web.Response(), "/{{subset}}?x={{args.x}}")
    assert path == "/a?x=1"
    assert body == {
        "id": "uid-1/new.1/1/0/errors/a/0",
        "rollout": "web",
        "runID": "new.1",
        "step": 1,
        "gate": "errors",
        "namespace": "default",
        "name": "web",
        "subset": "a",
        "cluster": "member-1",
        "revision": "new",
        "stableRevision": "old",
        "args": {"x": "1"},
    }
