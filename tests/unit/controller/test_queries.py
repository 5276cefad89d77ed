"""Queries of rollouts that are tried when the rollout is written."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.unit.rollout.gates.kit import PROMETHEUS
from tests.unit.rollout.gates.servers import serving
from uniteddeployment.controller.queries import query_errors
from uniteddeployment_api import names


def rollout(*steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spec = {"targetRef": {"name": "web"}, "steps": [{"replicas": 1, "gates": gates} for gates in steps]}
    return {"apiVersion": names.API_VERSION, "kind": "UnitedRollout", "metadata": {"name": "web"}, "spec": spec}


def gate(name: str, address: str, query: str, **args: str) -> dict[str, Any]:
    given = [{"name": key, "value": value} for key, value in args.items()]
    return {"name": name, "args": given, "prometheus": {**PROMETHEUS, "address": address, "query": query}}


async def test_a_query_of_any_step_of_a_rollout_that_does_not_parse_is_an_error_with_its_path() -> None:
    """It is tried with the values of its arguments. Queries that were there before are not tried again."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(str((await request.post())["query"]))
        if "bad" not in asked[-1]:
            return web.json_response({"status": "success"})
        return web.json_response(
            {"status": "error", "errorType": "bad_data", "error": f"no\nway{'!' * 999}"}, status=400
        )

    async with serving(answer) as url:
        first = [gate("one", url, "up"), gate("two", url, "up{job='{{args.job}}'}", job="bad")]
        wanted = rollout(first, [gate("three", url, "bad{")])
        errors = await query_errors(wanted)
        assert {error.path for error in errors} == {
            "spec.steps[0].gates[1].prometheus.query",
            "spec.steps[1].gates[0].prometheus.query",
        }
        assert {error.rule for error in errors} == {"gate-query"}
        assert all(error.message.startswith("Prometheus cannot parse the query: no way!!!") for error in errors)
        assert all(len(error.message) < 300 for error in errors)
        assert sorted(asked) == ["bad{", "up", "up{job='bad'}"]
        asked.clear()
        (error,) = await query_errors(wanted, rollout(first))
        assert error.path == "spec.steps[1].gates[0].prometheus.query"
        assert asked == ["bad{"]
