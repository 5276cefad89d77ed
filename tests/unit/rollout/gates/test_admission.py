"""Queries that are tried at admission: nothing but a clear answer of Prometheus refuses an object."""

import asyncio
from typing import Any

import kopf
import pytest
from aiohttp import web

from tests.unit.rollout.gates.kit import PROMETHEUS
from tests.unit.rollout.gates.servers import serving
from uniteddeployment.controller import queries
from uniteddeployment.controller.shell import registry
from uniteddeployment.kube.credentials import from_values

BAD = '{"status": "error", "errorType": "bad_data", "error": "parse error: unexpected end"}'


def template(url: str, query: str = "up") -> dict[str, Any]:
    spec = {"prometheus": {**PROMETHEUS, "address": url, "query": query}}
    return {"kind": "GateTemplate", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("status", "text"),
    [(200, '{"status": "success"}'), (404, "not found"), (401, BAD), (400, "[" * 9999), (500, BAD), (0, "")],
)
async def test_an_answer_that_does_not_say_that_the_query_is_wrong_refuses_nothing(
    status: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SECONDS", 0.2)

    async def answer(_: web.Request) -> web.Response:
        if not status:
            await asyncio.sleep(60)
        return web.Response(status=status, text=text)

    async with serving(answer) as url:
        assert await queries.query_errors(template(url)) == ()


async def test_a_server_that_is_down_and_an_object_that_is_not_valid_refuse_nothing_here() -> None:
    assert await queries.query_errors(template("http://127.0.0.1:1")) == ()
    assert await queries.query_errors({"kind": "UnitedRollout", "spec": {"steps": 7}}) == ()


async def test_the_webhook_refuses_a_template_whose_query_does_not_parse() -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, (await request.post())["query"]))
        return web.Response(status=400, text=BAD)

    handlers = registry(from_values("https://127.0.0.1:1", token="x"))
    validate: Any
    (validate,) = {handler.fn for handler in handlers._webhooks.get_all_handlers() if handler.id == "validate"}
    async with serving(answer) as url:
        with pytest.raises(
            kopf.AdmissionError, match=r"spec\.prometheus\.query: Prometheus cannot parse the query: parse"
        ):
            await validate(body=template(f"{url}/base", "up{"), old=None)
        await validate(body={**template(url), "metadata": {"name": "x", "deletionTimestamp": "now"}}, old=None)
    assert asked == [("/base/api/v1/format_query", "up{")]
